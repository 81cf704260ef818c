// One loop at a time on a few threads, without locks: see threads.hpp.
//
// What is published of a loop is one number: which loop it is, how many threads share it, into how many units it is
// divided. A slot holds what is left of a member's share. One that is marked with an earlier loop stands for a share
// that is untouched, so a new loop changes nothing but the published number. Units are claimed by a compare and
// exchange of the slot. Whoever has claimed some keeps the leader from returning until they are done, and may read the
// description of the loop, no other thread does. A thread that has slept since an earlier loop finds all slots of that
// loop marked with it or a later one, and claims nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/running.hpp"

namespace graft {

struct Worker;

// A parallel loop.
struct LoopWork {
  void (*body)(void*, int64_t, int64_t) = nullptr;
  void* arg = nullptr;
  int64_t count = 0, unit = 1;            // elements; in a unit
  const RunningKernel* kernel = nullptr;  // on whose behalf
};

// A loop in a body of a loop. Members that have nothing else to do help. Lives on the stack of the thread that runs it.
struct NestedLoop {
  LoopWork work;
  int limit;                     // of the numbers of threads
  std::atomic<int64_t> next{0};  // element
  std::atomic<int> visitors{0};  // that may still look at it; incremented under Team::nested_mutex
  NestedLoop* below = nullptr;
  void run();
};

class Published {
 public:
  static constexpr int number_bits = 13;  // the other 38 are enough for a million loops a second in three days
  static constexpr uint64_t most_units = 4096;
  Published() = default;
  explicit Published(uint64_t raw) : raw_(raw) {}
  Published(uint64_t tag, uint64_t threads, uint64_t units)
      : raw_(tag << (2 * number_bits) | threads << number_bits | units) {}
  uint64_t raw() const { return raw_; }
  uint64_t tag() const { return raw_ >> (2 * number_bits); }
  uint64_t threads() const { return raw_ >> number_bits & mask; }
  uint64_t units() const { return raw_ & mask; }
  // The share of a thread before anything is claimed.
  uint64_t share_begin(uint64_t thread) const { return units() * thread / threads(); }

 private:
  static constexpr uint64_t mask = (uint64_t{1} << number_bits) - 1;
  uint64_t raw_ = 0;
};

struct Team {
  static constexpr size_t line = 64;
  struct alignas(line) Slot {
    // A Published whose numbers are the begin and the end of what is left.
    alignas(line) std::atomic<uint64_t> left{0};
    alignas(line) std::atomic<uint64_t> done{0};  // of the member: its tag and units, below number_bits
    Worker* worker = nullptr;                     // guarded by the pool's mutex
  };
  // Units begin..end of a loop.
  struct Claim {
    uint64_t begin = 0, end = 0;
    explicit operator bool() const { return begin < end; }
  };

  // Runs a loop with the threads 0..threads-1, of which the caller is 0. `lacking` is called when the loop is published
  // and a member has left meanwhile.
  template <class Lacking>
  void lead(const LoopWork& work, uint64_t threads, uint64_t units, Lacking&& lacking);
  // A member's part in a loop.
  void take_part(Published loop, uint64_t self);

  void run_nested(NestedLoop& loop);
  bool help_nested(int self);

  Slot& slot(uint64_t i) { return chunks_[i / chunk][i % chunk]; }
  // Makes room for members 0..count-1; while no loop is running, under the pool's mutex.
  void make_room(uint64_t count) {
    for (; room_ < count; room_ += chunk) chunks_[room_ / chunk] = std::make_unique<Slot[]>(chunk);
  }

  alignas(line) std::atomic<uint64_t> published{0};
  std::atomic<int> nested_open{0};
  alignas(line) std::atomic<int> asleep{0};  // 1: the leader waits for it to change
  std::mutex nested_mutex;
  NestedLoop* nested = nullptr;

  // Changed under the pool's mutex.
  alignas(line) std::atomic<int> members{0};  // without the leader
  std::atomic<int> last{0};                   // number of the last one
  std::vector<int> processors;                // on which members run; empty: any
  int64_t lacks_until = 0;                    // time until which it counts as having less than its part of the workers

  const void* pool = nullptr;  // that it belongs to
  bool leads = false;          // its leader is in a loop
  int64_t next_try = 0;        // of the leader, for more members
  int64_t patience = 0;        // ns to spin

 private:
  static constexpr uint64_t chunk = 32, most = 1024;

  Claim claim_front(Published loop, uint64_t self);
  Claim claim_back(Published loop, uint64_t victim);
  bool steal(Published loop, uint64_t self);
  uint64_t work_off(Published loop, uint64_t self);
  uint64_t done_by_others(Published loop) {
    uint64_t sum = 0;
    for (uint64_t i = 1; i < loop.threads(); ++i) {
      uint64_t d = slot(i).done.load(std::memory_order_seq_cst);
      if (d >> Published::number_bits == loop.tag()) sum += Published(d).units();
    }
    return sum;
  }
  void wait_for_others(Published loop, uint64_t done);

  LoopWork work_;
  std::array<std::unique_ptr<Slot[]>, most / chunk> chunks_;
  uint64_t room_ = 0;
};

template <class Lacking>
void Team::lead(const LoopWork& work, uint64_t threads, uint64_t units, Lacking&& lacking) {
  work_ = work;
  Published loop(Published(published.load(std::memory_order_relaxed)).tag() + 1, threads, units);
  published.store(loop.raw(), std::memory_order_seq_cst);
  // A member that leaves looks at what is published after it has counted itself out: one of both notices.
  if (members.load(std::memory_order_seq_cst) + 1 < static_cast<int>(threads)) lacking();
  uint64_t done = work_off(loop, 0);
  while (steal(loop, 0)) done += work_off(loop, 0);
  wait_for_others(loop, done);
}

}  // namespace graft
