// Throwing errors, and adding context to them as they propagate.
#pragma once

#include <graft/error.hpp>
#include <graft/types.hpp>

namespace graft {

template <class... Parts>
[[noreturn]] void throw_user(const Parts&... parts) {
  throw Error(ErrorKind::user, text(parts...));
}
template <class... Parts>
[[noreturn]] void throw_unsupported(const Parts&... parts) {
  throw Error(ErrorKind::unsupported, text(parts...));
}
template <class... Parts>
[[noreturn]] void throw_io(const Parts&... parts) {
  throw Error(ErrorKind::io, text(parts...));
}
// For conditions that no input can cause: a bug in Graft.
template <class... Parts>
[[noreturn]] void throw_internal(const Parts&... parts) {
  throw Error(ErrorKind::internal, text(parts...));
}

// An error that extensions report: the C border has no code, so it follows from what the hint says can be set.
Error coded_error(ErrorKind kind, std::string message, std::string hint);

// Runs `body` and adds `context()` to any error it throws ("reading 'a.onnx'").
template <class Body, class Context>
decltype(auto) with_context(Body&& body, Context&& context) {
  try {
    return body();
  } catch (Error& e) {
    e.while_(context());
    throw;  // keeps the derived type of the Error
  } catch (...) {
    Error e = current_error();
    e.while_(context());
    throw e;
  }
}

}  // namespace graft
