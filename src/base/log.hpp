// Log lines of the library and of extensions. They go to one sink, which the program sets; without one, nowhere.
//
//   log_info("read '", path, "' in ", time);      // the text is only built if the level is logged
//   if (is_logged(LogLevel::debug)) for (...) log_debug(...);
#pragma once

#include <chrono>
#include <graft/types.hpp>
#include <string_view>

namespace graft {

// As extensions number them.
enum class LogLevel { error, warning, info, debug };

using LogSink = void (*)(LogLevel level, std::string_view message);
void set_log_sink(LogSink sink);
// The last level that is logged; `warning` at first.
void set_log_level(LogLevel level);
bool is_logged(LogLevel level);
void log(LogLevel level, std::string_view message);

template <class... Parts>
void log_warning(const Parts&... parts) {
  if (is_logged(LogLevel::warning)) log(LogLevel::warning, text(parts...));
}
template <class... Parts>
void log_info(const Parts&... parts) {
  if (is_logged(LogLevel::info)) log(LogLevel::info, text(parts...));
}
template <class... Parts>
void log_debug(const Parts&... parts) {
  if (is_logged(LogLevel::debug)) log(LogLevel::debug, text(parts...));
}

// Measures a step for its log line: " in 0.012 s".
class StepTime {
 public:
  std::string text() const;

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace graft
