// Log messages of the library: formatting and times, over graft/app/log.hpp.
//
//   log_info("read '", path, "' in ", time);      // the text is only built if the level is logged
//   if (is_logged(LogLevel::debug)) for (...) log_debug(...);
#pragma once

#include <chrono>
#include <graft/app/log.hpp>
#include <graft/types.hpp>

namespace graft {

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
