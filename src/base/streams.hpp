// Threads that run asynchronous requests, one request per stream at a time.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace graft {

class Streams {
 public:
  // `processors`: those that each stream and its helpers run on; empty: any.
  explicit Streams(int count, std::vector<std::vector<int>> processors = {});
  ~Streams();  // finishes queued tasks
  Streams(const Streams&) = delete;
  void post(std::function<void()> task);

 private:
  struct State;
  std::shared_ptr<State> s_;
  size_t count_;
  std::vector<std::vector<int>> processors_;
  std::vector<std::thread> threads_;  // started on demand
};

}  // namespace graft
