#include "base/threads.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/running.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace graft {
namespace {

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

// Work of one parallel_for. Lives on the caller's stack; `visitors` counts threads that may still look at it.
struct Job {
  void (*body)(void*, int64_t, int64_t);
  void* arg;
  int64_t count, least;  // elements; the fewest in a piece but the last
  int threads;
  int helpers_wanted;
  const RunningKernel* kernel;  // on whose behalf
  std::atomic<int64_t> next{0};
  std::atomic<int> visitors{0};  // changed under the pool's mutex

  void work() {
    NowRunning now(kernel);
    int64_t begin = next.load(std::memory_order_relaxed);
    while (begin < count) {
      // Large pieces first, which cost little; small ones at the end, so that all threads end together.
      int64_t end = begin + std::min(count - begin, std::max(least, (count - begin) / (3 * threads)));
      if (!next.compare_exchange_weak(begin, end, std::memory_order_relaxed)) continue;
      body(arg, begin, end);
      begin = next.load(std::memory_order_relaxed);
    }
  }
};

// Waking a sleeping thread costs tens of microseconds; spinning for a while is cheaper when the event comes soon.
// Returns whether it came.
bool spin_until(auto happened) {
  constexpr auto patience = std::chrono::microseconds(200);
  auto until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    for (int i = 0; i < 32; ++i) {
      if (happened()) return true;
      relax();
    }
    if (std::chrono::steady_clock::now() > until) return happened();
  }
}

int default_threads() {
  if (const char* env = std::getenv("GRAFT_NUM_THREADS"))
    if (int n = std::atoi(env); n > 0) return std::min(n, 1024);
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

thread_local int number = 0;

}  // namespace

struct ThreadPool::State {
  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable wake, left;
  std::vector<Job*> jobs;           // open to more workers
  std::atomic<uint32_t> posted{0};  // changes with every new job; spinning workers watch it
  bool stop = false;

  void loop(int index) {
    number = index;
    uint32_t seen = 0;
    std::unique_lock lock(mutex);
    for (;;) {
      while (!jobs.empty()) {
        Job* job = jobs.back();
        if (--job->helpers_wanted <= 0) jobs.pop_back();
        job->visitors.fetch_add(1, std::memory_order_relaxed);
        lock.unlock();
        job->work();
        lock.lock();
        // The caller, which owns the job, may return from here on.
        if (job->visitors.fetch_sub(1, std::memory_order_release) == 1) left.notify_all();
      }
      if (stop) return;
      seen = posted.load(std::memory_order_relaxed);
      lock.unlock();
      bool news = spin_until([&] { return posted.load(std::memory_order_relaxed) != seen; });
      lock.lock();
      if (!news) wake.wait(lock, [&] { return stop || !jobs.empty(); });
    }
  }
};

ThreadPool::ThreadPool(int threads) : s_(std::make_unique<State>()) {
  if (threads <= 0) threads = default_threads();
  for (int i = 1; i < threads; ++i) s_->workers.emplace_back([s = s_.get(), i] { s->loop(i); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(s_->mutex);
    s_->stop = true;
    s_->posted.fetch_add(1, std::memory_order_relaxed);
  }
  s_->wake.notify_all();
  for (std::thread& t : s_->workers) t.join();
}

int ThreadPool::thread_number() { return number; }

int ThreadPool::threads() const { return static_cast<int>(s_->workers.size()) + 1; }

void ThreadPool::parallel_for(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t), void* arg,
                              int limit) {
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  int64_t pieces = (count + grain - 1) / grain;
  int helpers = threads() - 1;
  if (limit > 0) helpers = std::min(helpers, limit - 1);
  helpers = static_cast<int>(std::min<int64_t>(helpers, pieces - 1));
  if (helpers <= 0) return body(arg, 0, count);

  Job job{body, arg, count, std::max(grain, count / (32 * (helpers + 1))), helpers + 1, helpers, running_kernel};
  {
    std::lock_guard lock(s_->mutex);
    s_->jobs.push_back(&job);
    s_->posted.fetch_add(1, std::memory_order_relaxed);
  }
  helpers > 1 ? s_->wake.notify_all() : s_->wake.notify_one();
  job.work();
  {
    std::lock_guard lock(s_->mutex);
    std::erase(s_->jobs, &job);
  }
  auto done = [&] { return job.visitors.load(std::memory_order_acquire) == 0; };
  if (spin_until(done)) return;
  std::unique_lock lock(s_->mutex);
  s_->left.wait(lock, done);
}

ThreadPool& ThreadPool::shared() {
  static ThreadPool* pool = new ThreadPool;  // never destroyed: a request may run while the process ends
  return *pool;
}

}  // namespace graft
