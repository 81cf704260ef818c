#include "base/log.hpp"

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>

namespace graft {
namespace {

// Never destroyed: a stream may log while the process exits.
struct Listening {
  std::mutex mutex;
  std::shared_ptr<const LogListener> listener;
  std::atomic<bool> any{false};
  std::atomic<LogLevel> last{LogLevel::warning};
};
Listening& listening() {
  static auto* all = new Listening;
  return *all;
}

}  // namespace

void set_log_listener(LogListener listener) {
  Listening& l = listening();
  std::shared_ptr<const LogListener> fresh;
  if (listener) fresh = std::make_shared<const LogListener>(std::move(listener));
  std::lock_guard lock(l.mutex);
  l.any = fresh != nullptr;
  l.listener.swap(fresh);
}
void set_log_listener(LogListener listener, LogLevel last) {
  set_log_level(last);
  set_log_listener(std::move(listener));
}
void set_log_level(LogLevel last) { listening().last = last; }
bool is_logged(LogLevel level) { return listening().any && level <= listening().last; }

void log(LogLevel level, std::string_view message) {
  if (!is_logged(level)) return;
  std::shared_ptr<const LogListener> listener;
  {
    std::lock_guard lock(listening().mutex);
    listener = listening().listener;
  }
  if (!listener) return;
  try {
    (*listener)(level, message);
  } catch (...) {
    // A listener must not throw: messages also come from places that cannot fail.
  }
}

std::string StepTime::text() const {
  char out[32];
  std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
  std::snprintf(out, sizeof out, " in %.3f s", passed.count());
  return out;
}

}  // namespace graft
