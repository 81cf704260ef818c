// The one thread pool. Built-in kernels, custom operations and streams share it.
#pragma once

#include <cstdint>
#include <memory>

namespace graft {

class ThreadPool {
 public:
  // `threads` includes the caller of parallel_for; 0: one per core.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;

  int threads() const;
  // Of the calling thread: workers count from 1, all other threads have 0. Within one parallel_for all differ.
  static int thread_number();
  // Calls body(arg, begin, end) over 0..count in pieces of at least `grain`, on at most `limit` threads (0: all). The
  // caller takes part, pieces are distributed dynamically, and concurrent and nested calls are allowed. `body` must not
  // throw.
  void parallel_for(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t), void* arg, int limit = 0);

  // The process-wide pool, created on first use.
  static ThreadPool& shared();

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace graft
