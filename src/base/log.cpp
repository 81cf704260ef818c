#include "base/log.hpp"

#include <atomic>
#include <cstdio>

namespace graft {
namespace {

std::atomic<LogSink> sink{nullptr};
std::atomic<LogLevel> last{LogLevel::warning};

}  // namespace

void set_log_sink(LogSink s) { sink = s; }
void set_log_level(LogLevel level) { last = level; }
bool is_logged(LogLevel level) { return level <= last && sink.load(); }
void log(LogLevel level, std::string_view message) {
  LogSink s = sink;
  if (s && level <= last) s(level, message);
}

std::string StepTime::text() const {
  char out[32];
  std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
  std::snprintf(out, sizeof out, " in %.3f s", passed.count());
  return out;
}

}  // namespace graft
