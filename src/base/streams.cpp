#include "base/streams.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>

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

Streams::Streams(int count) : s_(std::make_shared<State>()), count_(static_cast<size_t>(std::max(count, 1))) {}

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
    if (threads_.size() < count_) threads_.emplace_back([s = s_] { s->loop(); });
  }
  s_->wake.notify_one();
}

}  // namespace graft
