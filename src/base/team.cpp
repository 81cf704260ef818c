#include "base/team.hpp"

#include <algorithm>

#include "base/spin.hpp"

namespace graft {
namespace {

void run_units(const LoopWork& w, uint64_t begin, uint64_t end, uint64_t units) {
  w.body(w.arg, static_cast<int64_t>(begin) * w.unit, end == units ? w.count : static_cast<int64_t>(end) * w.unit);
}

}  // namespace

// Large pieces first, which cost little; small ones at the end, which others can take over.
Team::Claim Team::claim_front(Published loop, uint64_t self) {
  std::atomic<uint64_t>& left = slot(self).left;
  uint64_t seen = left.load(std::memory_order_acquire);
  for (;;) {
    Published range(seen);
    uint64_t begin = range.threads(), end = range.units();
    if (range.tag() > loop.tag()) return {};
    if (range.tag() < loop.tag()) begin = loop.share_begin(self), end = loop.share_begin(self + 1);
    if (begin >= end) return {};
    uint64_t take = std::max<uint64_t>(1, (end - begin) / 3);
    if (left.compare_exchange_weak(seen, Published(loop.tag(), begin + take, end).raw(), std::memory_order_acq_rel,
                                   std::memory_order_acquire))
      return {begin, begin + take};
  }
}

// Half of what is left.
Team::Claim Team::claim_back(Published loop, uint64_t victim) {
  std::atomic<uint64_t>& left = slot(victim).left;
  uint64_t seen = left.load(std::memory_order_acquire);
  for (;;) {
    Published range(seen);
    uint64_t begin = range.threads(), end = range.units();
    if (range.tag() > loop.tag()) return {};
    if (range.tag() < loop.tag()) begin = loop.share_begin(victim), end = loop.share_begin(victim + 1);
    if (begin >= end) return {};
    uint64_t take = (end - begin + 1) / 2;
    if (left.compare_exchange_weak(seen, Published(loop.tag(), begin, end - take).raw(), std::memory_order_acq_rel,
                                   std::memory_order_acquire))
      return {end - take, end};
  }
}

// Moves a part of another thread's share to its own slot. The slot is empty, so no other thread writes to it now.
bool Team::steal(Published loop, uint64_t self) {
  for (uint64_t i = 1; i < loop.threads(); ++i) {
    Claim c = claim_back(loop, (self + i) % loop.threads());
    if (!c) continue;
    slot(self).left.store(Published(loop.tag(), c.begin, c.end).raw(), std::memory_order_release);
    return true;
  }
  return false;
}

// Returns the number of units done.
uint64_t Team::work_off(Published loop, uint64_t self) {
  Claim c = claim_front(loop, self);
  if (!c) return 0;
  uint64_t done = 0;
  NowRunning now(work_.kernel);
  do {
    run_units(work_, c.begin, c.end, loop.units());
    done += c.end - c.begin;
    c = claim_front(loop, self);
  } while (c);
  return done;
}

void Team::take_part(Published loop, uint64_t self) {
  // Somebody else may have had this number before, in the same loop.
  uint64_t before = slot(self).done.load(std::memory_order_relaxed);
  uint64_t done = before >> Published::number_bits == loop.tag() ? Published(before).units() : 0;
  do {
    uint64_t more = work_off(loop, self);
    if (!more) continue;
    done += more;
    // The leader goes to sleep, and looks again; a member reports, and looks whether it sleeps.
    slot(self).done.exchange(loop.tag() << Published::number_bits | done, std::memory_order_seq_cst);
    if (asleep.load(std::memory_order_seq_cst)) {
      asleep.store(0, std::memory_order_seq_cst);
      asleep.notify_one();
    }
  } while (steal(loop, self));
}

void Team::wait_for_others(Published loop, uint64_t done) {
  auto finished = [&] { return done + done_by_others(loop) == loop.units(); };
  // A thread that took over a part may have been interrupted before it began.
  auto work = [&] {
    bool found = nested_open.load(std::memory_order_relaxed) && help_nested(0);
    for (; steal(loop, 0); found = true) done += work_off(loop, 0);
    return found;
  };
  while (!finished()) {
    if (spin_until(patience, [&] { return finished() || work(); })) continue;
    asleep.store(1, std::memory_order_seq_cst);
    if (!work() && !finished()) asleep.wait(1);  // what others report before the last look is seen, after it they wake
    asleep.store(0, std::memory_order_relaxed);
  }
}

// ---- loops in loops ----

void NestedLoop::run() {
  NowRunning now(work.kernel);
  int64_t begin = next.load(std::memory_order_relaxed);
  while (begin < work.count) {
    int64_t end = begin + std::min(work.count - begin, std::max(work.unit, (work.count - begin) / (3 * limit)));
    if (!next.compare_exchange_weak(begin, end, std::memory_order_relaxed)) continue;
    work.body(work.arg, begin, end);
    begin = next.load(std::memory_order_relaxed);
  }
}

void Team::run_nested(NestedLoop& loop) {
  {
    std::lock_guard lock(nested_mutex);
    loop.below = nested, nested = &loop;
    nested_open.fetch_add(1, std::memory_order_relaxed);
  }
  loop.run();
  {
    std::lock_guard lock(nested_mutex);
    NestedLoop** at = &nested;
    while (*at != &loop) at = &(*at)->below;
    *at = loop.below;
    nested_open.fetch_sub(1, std::memory_order_relaxed);
  }
  auto alone = [&] { return loop.visitors.load(std::memory_order_acquire) == 0; };
  if (!spin_until(patience, alone))
    for (int n; (n = loop.visitors.load(std::memory_order_acquire)) != 0;) loop.visitors.wait(n);
  std::lock_guard lock(nested_mutex);  // the last visitor leaves it before the loop goes
}

bool Team::help_nested(int self) {
  NestedLoop* loop;
  {
    std::lock_guard lock(nested_mutex);
    loop = nested;
    while (loop && (loop->limit <= self || loop->next.load(std::memory_order_relaxed) >= loop->work.count))
      loop = loop->below;
    if (!loop) return false;
    loop->visitors.fetch_add(1, std::memory_order_relaxed);
  }
  loop->run();
  std::lock_guard lock(nested_mutex);
  if (loop->visitors.fetch_sub(1, std::memory_order_acq_rel) == 1) loop->visitors.notify_all();
  return true;
}

}  // namespace graft
