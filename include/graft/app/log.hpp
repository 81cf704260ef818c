// Log messages of the library and of extensions.
//
//   graft::set_log_listener([](graft::LogLevel level, std::string_view message) { ... }, graft::LogLevel::info);
//
// The library neither prints nor stores messages: without a listener they are dropped. There is one listener per
// process, as there is one thread pool. It is called on whatever thread the message comes from, possibly on several at
// once, and must not throw. All functions here may be called from any thread.
#pragma once

#include <functional>
#include <string_view>

#include "../error.hpp"

namespace graft {

// The numbers are those that extensions pass to the host.
enum class LogLevel {
  error,
  warning,  // something is probably not as intended: an unused attribute, a clipped value
  info,     // steps and times, layers imported by extensions
  debug,    // every file, layer and pass
};

using LogListener = std::function<void(LogLevel level, std::string_view message)>;

// Replaces the listener; an empty one drops all messages. A call of the previous listener may still be in progress on
// another thread when this returns.
GRAFT_API void set_log_listener(LogListener listener);
GRAFT_API void set_log_listener(LogListener listener, LogLevel last);
// The last level that is passed on; `warning` at first.
GRAFT_API void set_log_level(LogLevel last);
// Whether a message of this level would reach a listener: test it before building an expensive message.
GRAFT_API bool is_logged(LogLevel level);
// Passes on a message of the application, such as one of its own extensions.
GRAFT_API void log(LogLevel level, std::string_view message);

// Installs signal handlers for the whole process, as the program `graft` does; the library never does so by itself.
// When a kernel crashes, the node, its type, the kernel and its library are written to the standard error before the
// process dies of the signal. Signals that have a handler already keep it.
GRAFT_API void report_crashes();

}  // namespace graft
