// Which kernel a thread is in, for the report of a crash.
#pragma once

#include <atomic>
#include <string_view>

namespace graft {

// Refers to strings that outlive the call.
struct RunningKernel {
  std::string_view node, type, kernel, library;
};

inline thread_local constinit const RunningKernel* running_kernel = nullptr;

// Whether the program has asked for reports of crashes; then threads that run kernels are listed.
inline constinit std::atomic<bool> crashes_reported{false};
// Lists this thread with the kernel it is in, and gives it a stack for signal handlers, so that the report of a crash
// can be printed when its own stack has overflowed.
void list_running(const RunningKernel* kernel);

class NowRunning {
 public:
  explicit NowRunning(const RunningKernel* k) : before_(running_kernel) { set(k); }
  ~NowRunning() { set(before_); }
  NowRunning(const NowRunning&) = delete;

 private:
  static void set(const RunningKernel* k) {
    running_kernel = k;
    if (crashes_reported.load(std::memory_order_relaxed)) list_running(k);
  }
  const RunningKernel* before_;
};

// Prints which kernel crashed. On a thread that runs none, which a kernel may have started: those that other threads
// run. Only functions that are safe in a signal handler. False: no kernel is running.
bool print_crash(std::string_view reason);

}  // namespace graft
