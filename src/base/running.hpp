// Which kernel a thread is in, for the report of a crash.
#pragma once

#include <string_view>

namespace graft {

// Refers to strings that outlive the call.
struct RunningKernel {
  std::string_view node, type, kernel, library;
};

inline thread_local constinit const RunningKernel* running_kernel = nullptr;

class NowRunning {
 public:
  explicit NowRunning(const RunningKernel* k) : before_(running_kernel) { running_kernel = k; }
  ~NowRunning() { running_kernel = before_; }
  NowRunning(const NowRunning&) = delete;

 private:
  const RunningKernel* before_;
};

}  // namespace graft
