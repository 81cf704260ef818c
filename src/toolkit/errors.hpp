// What leaves the library is an Error, whatever was thrown inside.
#pragma once

#include <utility>

#include "base/error.hpp"
#include "base/request.hpp"

namespace graft {

template <class Body>
decltype(auto) as_errors(Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const Error&) {
    throw;
  } catch (...) {
    throw current_error();
  }
}

// Looks up what the application names: if that fails, the request is wrong, not the model.
template <class Body>
decltype(auto) as_request(Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const Error& e) {
    throw RequestError(e.message(), e.hint());
  }
}

}  // namespace graft
