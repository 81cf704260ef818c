// The one thread pool. Built-in kernels, custom operations and streams share it.
//
// A thread that runs loops leads a team: workers that it keeps between loops. Teams have nothing in common while they
// work, so streams do not wait for each other. A loop is published by one store; each member has a share of the work
// that it is certain to get if it comes in time, takes pieces from its front, and takes from the ends of others' shares
// when its own is done. Nobody waits for a member that has not begun: its share is taken, too. A member that has had
// nothing to do for a while leaves the team and sleeps, and any leader may wake it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace graft {

class ThreadPool {
 public:
  // `threads` includes the caller of parallel_for; 0: default_threads() of base/machine.hpp. They are started when they
  // are needed.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;

  int threads() const;
  // That a loop with this limit may use.
  int threads(int limit) const;
  // From now on there are at least that many.
  void reserve(int threads);
  // Of the calling thread: the caller of the outermost parallel_for has 0. Within one parallel_for all differ, and are
  // less than its limit; so do those of parallel_for in its bodies.
  static int thread_number();
  // Calls body(arg, begin, end) over 0..count in pieces of at least `grain`, on at most `limit` threads (0: all). The
  // caller takes part, pieces are distributed dynamically, and concurrent and nested calls are allowed. `body` must not
  // throw.
  void parallel_for(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t), void* arg, int limit = 0);

  // Loops that this thread runs from now on use these processors alone; empty: any.
  void pin_this_thread(std::vector<int> processors);

  // While it exists, the calling thread is outside of the loop that it is working at: loops are not nested in that one,
  // and count their threads from 0. For something in a body that numbers its threads by itself, such as a call of
  // another kernel.
  class Apart {
   public:
    Apart();
    ~Apart();
    Apart(const Apart&) = delete;

   private:
    struct Team* team_;
    int number_;
  };

  // The process-wide pool, created on first use.
  static ThreadPool& shared();

  struct State;

 private:
  std::shared_ptr<State> s_;
};

}  // namespace graft
