#include "base/threads.hpp"

#include <algorithm>
#include <cmath>
#include <system_error>
#include <thread>

#include "base/log.hpp"
#include "base/machine.hpp"
#include "base/spin.hpp"
#include "base/team.hpp"

namespace graft {

struct Worker {
  std::thread thread;
  std::atomic<uint32_t> calls{0};  // changes when it gets a team; it sleeps on that
  std::atomic<bool> leave{false};  // another team has too few members
  // Written before `calls` changes, while it has no team.
  Team* team = nullptr;
  int number = 0;
  std::vector<Worker*> wakes;   // which it wakes, since that takes time
  std::vector<int> processors;  // that it is to run on; empty: any

  void wake() { calls.notify_one(); }
};

namespace {

constexpr int64_t long_patience = 200'000, between_tries = 100'000, lack_counts = 1'000'000;  // ns

// What the thread is working at.
struct Place {
  Team* team = nullptr;
  int number = 0;
};
constinit thread_local Place place;

// Restores it.
class At {
 public:
  At(Team* team, int number) : before_(place) { place = {team, number}; }
  ~At() { place = before_; }
  At(const At&) = delete;

 private:
  Place before_;
};

}  // namespace

struct ThreadPool::State {
  std::mutex mutex;
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<Worker*> resting;              // without a team
  std::vector<std::unique_ptr<Team>> teams;  // all
  std::vector<Team*> spare;                  // without a leader
  bool stop = false;
  std::atomic<int> size{1};       // threads, with the leader
  std::atomic<int> available{0};  // workers that rest, and those that can still be started
  std::atomic<bool> stopping{false};

  int64_t patience() const {
    return size.load(std::memory_order_relaxed) > this_machine().at_once() ? 0 : long_patience;
  }
  void update_available() {
    int unborn = std::max(0, size.load(std::memory_order_relaxed) - 1 - static_cast<int>(workers.size()));
    available.store(static_cast<int>(resting.size()) + unborn, std::memory_order_relaxed);
  }

  // ---- workers ----

  void work(Worker& w) {
    for (uint32_t seen = 0;;) {
      w.calls.wait(seen, std::memory_order_acquire);
      seen = w.calls.load(std::memory_order_acquire);
      for (Worker* other : w.wakes) other->wake();
      w.wakes.clear();
      if (stopping.load(std::memory_order_relaxed)) return;
      serve(w);
    }
  }

  void serve(Worker& w) {
    static const std::vector<int>& any = this_machine().processors;
    thread_local std::vector<int> now;  // empty: any
    if (now != w.processors && set_affinity(w.processors.empty() ? any : w.processors)) now = w.processors;
    Team& t = *w.team;
    At at(&t, w.number);
    uint64_t seen = 0;
    int known = 0;  // loops in loops that this thread cannot help with
    for (;;) {
      Published loop(t.published.load(std::memory_order_acquire));
      if (loop.raw() != seen) {
        seen = loop.raw();
        if (static_cast<uint64_t>(w.number) < loop.threads()) t.take_part(loop, static_cast<uint64_t>(w.number));
      }
      int nested = t.nested_open.load(std::memory_order_relaxed);
      if (nested != known) known = nested > 0 && t.help_nested(w.number) ? 0 : nested;
      bool wanted = !w.leave.load(std::memory_order_relaxed) && spin_until(patience(), [&] {
        return t.published.load(std::memory_order_acquire) != seen ||
               t.nested_open.load(std::memory_order_relaxed) != known || w.leave.load(std::memory_order_relaxed) ||
               stopping.load(std::memory_order_relaxed);
      });
      if ((!wanted || w.leave.load(std::memory_order_relaxed) || stopping.load(std::memory_order_relaxed)) &&
          leave(w, t, seen))
        return;
    }
  }

  // False: there is a new loop.
  bool leave(Worker& w, Team& t, uint64_t seen) {
    std::lock_guard lock(mutex);
    // Before it counts itself out: a leader that misses it then finds a worker to ask for.
    available.fetch_add(1, std::memory_order_relaxed);
    t.members.fetch_sub(1, std::memory_order_seq_cst);
    bool must = w.leave.load(std::memory_order_relaxed) || stop;
    if (!must && t.published.load(std::memory_order_seq_cst) != seen) {
      t.members.fetch_add(1, std::memory_order_relaxed);
      update_available();
      return false;
    }
    t.slot(static_cast<uint64_t>(w.number)).worker = nullptr;
    int last = t.last.load(std::memory_order_relaxed);
    while (last > 0 && !t.slot(static_cast<uint64_t>(last)).worker) --last;
    t.last.store(last, std::memory_order_relaxed);
    w.leave.store(false, std::memory_order_relaxed);
    resting.push_back(&w);
    update_available();
    return true;
  }

  // ---- teams ----

  // The fewest workers that a team gets if all teams want many.
  int part(const Team& t, int64_t now) const {
    int teams_at_work = 0;
    for (const auto& other : teams)
      teams_at_work +=
          other.get() == &t || other->members.load(std::memory_order_relaxed) > 0 || other->lacks_until > now;
    return std::max(1, (size.load(std::memory_order_relaxed) - 1) / teams_at_work);
  }

  Worker* take_resting() {
    if (resting.empty()) {
      if (static_cast<int>(workers.size()) + 1 >= size.load(std::memory_order_relaxed)) return nullptr;
      auto w = std::make_unique<Worker>();
      try {
        w->thread = std::thread([this, worker = w.get()] { work(*worker); });
      } catch (const std::system_error& e) {
        int threads = static_cast<int>(workers.size()) + 1;
        log_warning("only ", threads, threads == 1 ? " thread" : " threads", " can be used: ", e.what());
        size.store(threads, std::memory_order_relaxed);
        return nullptr;
      }
      return workers.emplace_back(std::move(w)).get();
    }
    Worker* w = resting.back();
    resting.pop_back();
    return w;
  }

  // Gives a team more members, up to this number. Leaves those alone that other teams need more.
  void recruit(Team& t, int wanted) {
    thread_local std::vector<Worker*> fresh, first_of_row;  // keep their memory
    fresh.clear(), first_of_row.clear();
    {
      std::lock_guard lock(mutex);
      if (stop) return;
      int64_t now = now_ns();
      t.next_try = now + between_tries;
      bool contested =
          std::any_of(teams.begin(), teams.end(), [&](const auto& o) { return o.get() != &t && o->lacks_until > now; });
      int fair = std::min(wanted, part(t, now)), most = contested ? fair : wanted;
      t.make_room(static_cast<uint64_t>(wanted) + 1);
      int members = t.members.load(std::memory_order_relaxed);
      for (int i = 1; i <= wanted && members < most; ++i) {
        Team::Slot& slot = t.slot(static_cast<uint64_t>(i));
        if (slot.worker) continue;
        Worker* w = take_resting();
        if (!w) break;
        slot.worker = w;
        w->team = &t, w->number = i, w->processors = t.processors;
        fresh.push_back(w);
        t.last.store(std::max(t.last.load(std::memory_order_relaxed), i), std::memory_order_relaxed);
        t.members.store(++members, std::memory_order_relaxed);
      }
      update_available();
      t.lacks_until = members < fair ? now + lack_counts : 0;
      if (members < fair) ask_back(t, fair - members, now);
      // Waking takes the one who wakes some microseconds: the first of each row wakes the others.
      auto row = static_cast<size_t>(std::ceil(std::sqrt(static_cast<double>(fresh.size()))));
      for (size_t i = 0; i < fresh.size(); ++i)
        if (i % row == 0) first_of_row.push_back(fresh[i]);
        else first_of_row.back()->wakes.push_back(fresh[i]);
      for (Worker* w : fresh) w->calls.fetch_add(1, std::memory_order_release);
    }
    for (Worker* w : first_of_row) w->wake();
  }

  // Members of other teams beyond their part leave when their loop is done.
  void ask_back(const Team& t, int count, int64_t now) {
    int fair = part(t, now);
    for (const auto& other : teams) {
      int surplus = other->members.load(std::memory_order_relaxed) - fair;
      if (other.get() == &t) continue;
      for (int i = other->last.load(std::memory_order_relaxed); i > 0 && surplus > 0 && count > 0; --i)
        if (Worker* w = other->slot(static_cast<uint64_t>(i)).worker) {
          w->leave.store(true, std::memory_order_relaxed);
          --surplus, --count;
        }
    }
  }

  Team* new_team() {
    std::lock_guard lock(mutex);
    // Members that have not left yet may be pinned.
    auto empty = std::find_if(spare.begin(), spare.end(),
                              [](Team* t) { return t->members.load(std::memory_order_relaxed) == 0; });
    if (empty != spare.end()) {
      Team* t = *empty;
      spare.erase(empty);
      return t;
    }
    Team* t = teams.emplace_back(std::make_unique<Team>()).get();
    t->pool = this;
    t->make_room(1);
    return t;
  }
  void give_back(Team* t) {
    std::lock_guard lock(mutex);
    t->processors.clear();
    for (int i = t->last.load(std::memory_order_relaxed); i > 0; --i)
      if (Worker* w = t->slot(static_cast<uint64_t>(i)).worker) w->leave.store(true, std::memory_order_relaxed);
    spare.push_back(t);
  }
};

namespace {

// The teams that a thread leads: for each pool that it has used one, or more where bodies call what runs loops apart.
class Led {
 public:
  ~Led() {
    for (auto& [pool, team] : teams_) pool->give_back(team);
  }
  Team* of(const std::shared_ptr<ThreadPool::State>& pool) {
    for (auto& [p, team] : teams_)
      if (p == pool && !team->leads) return team;
    return teams_.emplace_back(pool, pool->new_team()).second;
  }

 private:
  std::vector<std::pair<std::shared_ptr<ThreadPool::State>, Team*>> teams_;
};
thread_local Led led;

}  // namespace

ThreadPool::ThreadPool(int threads) : s_(std::make_shared<State>()) {
  reserve(threads > 0 ? threads : default_threads().threads);
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(s_->mutex);
    s_->stop = true;
    s_->stopping.store(true, std::memory_order_relaxed);
    for (const auto& w : s_->workers) w->calls.fetch_add(1, std::memory_order_release);
  }
  for (const auto& w : s_->workers) w->wake();
  for (const auto& w : s_->workers) w->thread.join();
}

int ThreadPool::thread_number() { return place.number; }

int ThreadPool::threads() const { return s_->size.load(std::memory_order_relaxed); }

int ThreadPool::threads(int limit) const { return limit > 0 ? std::min(limit, threads()) : threads(); }

void ThreadPool::reserve(int threads) {
  std::lock_guard lock(s_->mutex);
  s_->size.store(std::max(s_->size.load(std::memory_order_relaxed), std::min(threads, most_threads)),
                 std::memory_order_relaxed);
  s_->update_available();
}

void ThreadPool::parallel_for(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t), void* arg,
                              int limit) {
  if (count <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  int most = threads(limit);
  int wanted = static_cast<int>(std::min<int64_t>(most, (count - 1) / grain + 1));
  if (wanted <= 1) return body(arg, 0, count);

  State& s = *s_;
  bool nested = place.team && place.team->pool == s_.get();
  Team& t = nested ? *place.team : *led.of(s_);
  auto lacks = [&] { return t.members.load(std::memory_order_relaxed) + 1 < wanted; };
  if (nested) {
    if (lacks() && s.available.load(std::memory_order_relaxed) > 0) s.recruit(t, wanted - 1);
    int64_t parts = int64_t{32} * wanted;
    NestedLoop loop{.work = {body, arg, count, std::max(grain, count / parts), running_kernel}, .limit = most};
    return t.run_nested(loop);
  }
  if (lacks() && (s.available.load(std::memory_order_relaxed) > 0 || now_ns() > t.next_try)) s.recruit(t, wanted - 1);
  auto present = [&] { return std::min(wanted, t.last.load(std::memory_order_relaxed) + 1); };
  int threads = present();
  // The last member may have left since.
  if (threads <= 1 && s.available.load(std::memory_order_relaxed) > 0) s.recruit(t, wanted - 1), threads = present();
  if (threads <= 1) return body(arg, 0, count);
  int64_t parts = std::min<int64_t>(int64_t{32} * threads, Published::most_units);
  int64_t unit = std::max(grain, (count - 1) / parts + 1), units = (count - 1) / unit + 1;
  t.patience = s.patience();
  At at(&t, 0);
  t.leads = true;
  t.lead({body, arg, count, unit, running_kernel}, static_cast<uint64_t>(threads), static_cast<uint64_t>(units), [&] {
    if (s.available.load(std::memory_order_relaxed) > 0) s.recruit(t, wanted - 1);
  });
  t.leads = false;
}

void ThreadPool::pin_this_thread(std::vector<int> processors) {
  set_affinity(processors.empty() ? this_machine().processors : processors);
  Team* t = led.of(s_);
  std::lock_guard lock(s_->mutex);
  t->processors = std::move(processors);
}

ThreadPool::Apart::Apart() : team_(place.team), number_(place.number) { place = {}; }
ThreadPool::Apart::~Apart() { place = {team_, number_}; }

ThreadPool& ThreadPool::shared() {
  static ThreadPool* pool = new ThreadPool;  // never destroyed: a request may run while the process ends
  return *pool;
}

}  // namespace graft
