#include "base/streams.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "base/threads.hpp"

namespace graft {

// Shared with the threads: a task may release the last handle of the model, and with it the Streams that run it.
struct Streams::State {
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> tasks;
  bool stop = false;

  void loop() {
    std::unique_lock lock(mutex);
    for (;;) {
      wake.wait(lock, [&] { return stop || !tasks.empty(); });
      if (tasks.empty()) return;
      std::function<void()> task = std::move(tasks.front());
      tasks.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    }
  }
};

Streams::Streams(int count, std::vector<std::vector<int>> processors)
    : s_(std::make_shared<State>()),
      count_(static_cast<size_t>(std::max(count, 1))),
      processors_(std::move(processors)) {}

Streams::~Streams() {
  {
    std::lock_guard lock(s_->mutex);
    s_->stop = true;
  }
  s_->wake.notify_all();
  for (std::thread& t : threads_) t.get_id() == std::this_thread::get_id() ? t.detach() : t.join();
}

void Streams::post(std::function<void()> task) {
  {
    std::lock_guard lock(s_->mutex);
    s_->tasks.push_back(std::move(task));
    if (threads_.size() < count_) {
      std::vector<int> own = threads_.size() < processors_.size() ? processors_[threads_.size()] : std::vector<int>();
      threads_.emplace_back([s = s_, own = std::move(own)] {
        if (!own.empty()) ThreadPool::shared().pin_this_thread(own);
        s->loop();
      });
    }
  }
  s_->wake.notify_one();
}

}  // namespace graft
