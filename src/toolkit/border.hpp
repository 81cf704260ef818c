// What leaves the library is an Error, whatever was thrown inside.
#pragma once

#include <utility>

#include "base/error.hpp"

namespace graft {

template <class Body>
decltype(auto) at_border(Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const Error&) {
    throw;
  } catch (...) {
    throw current_error();
  }
}

}  // namespace graft
