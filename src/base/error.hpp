// Throwing errors, and adding what one knows on their way up.
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
// For what no input can cause.
template <class... Parts>
[[noreturn]] void throw_internal(const Parts&... parts) {
  throw Error(ErrorKind::internal, text(parts...));
}

// The error that is being handled, as an Error. For catch (...) blocks.
Error current_error();

// Runs `body`; an error on its way out gets `context()` added ("reading 'a.onnx'").
template <class Body, class Context>
decltype(auto) with_context(Body&& body, Context&& context) {
  try {
    return body();
  } catch (Error& e) {
    e.while_(context());
    throw;  // whatever kind of Error it is
  } catch (...) {
    Error e = current_error();
    e.while_(context());
    throw e;
  }
}

}  // namespace graft
