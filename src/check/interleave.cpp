#include "check/interleave.hpp"

#include <alloca.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/threads.hpp"

namespace graft::testing {
namespace {

// Not on the stack, which may be watched.
struct Pair {
  WriteWatch watch;
  const std::function<void()>& first;
  const std::function<void()>& second;
  Meeting meeting;
  std::atomic<int> arrived{0};
  std::atomic<bool> go{false}, over{false}, done{false}, blocked{false};
  char status[64] = "";  // the file with the state of the second thread
  size_t writes = 0;
};

void sleep_shortly() {
  timespec t{0, 50'000};
  ::nanosleep(&t, nullptr);
}
double now() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Whether a thread waits for something: "123 (graft) S ...".
bool sleeps(const char* status) {
  char text[256];
  int file = ::open(status, O_RDONLY | O_CLOEXEC);
  ssize_t n = file < 0 ? 0 : ::read(file, text, sizeof text);
  if (file >= 0) ::close(file);
  for (ssize_t i = n - 3; i > 0; --i)
    if (text[i] == ')') return text[i + 2] == 'S';
  return false;
}

// In a signal handler: lets the second piece run. One that waits for a lock of the first one cannot end now.
void meet(void* arg) {
  constexpr double patience = 1;
  constexpr int sure = 40;
  Pair& p = *static_cast<Pair*>(arg);
  double until = now() + patience;
  p.go = true;
  for (int waiting = 0; !p.done;) {
    waiting = sleeps(p.status) ? waiting + 1 : 0;
    if (waiting > sure || now() > until) {
      p.blocked = true;
      return;
    }
    sleep_shortly();
  }
}

// Leaves some pages of the stack between the callers, whose frames may be watched, and the work.
[[gnu::noinline]] void run_first(Pair& p) {
  auto* gap = static_cast<volatile char*>(alloca(4 * page_size()));
  gap[0] = 0;
  p.writes =
      p.watch.run([](void* arg) { static_cast<Pair*>(arg)->first(); }, &p, p.meeting.moment, p.meeting.write, meet);
  gap[0] = 1;
}

void take_part(void* arg, int64_t, int64_t) {
  Pair& p = *static_cast<Pair*>(arg);
  bool second = ThreadPool::thread_number() != 0;
  if (second) std::snprintf(p.status, sizeof p.status, "/proc/self/task/%d/stat", static_cast<int>(::gettid()));
  ++p.arrived;
  if (!second) {
    while (p.arrived < 2) sleep_shortly();
    run_first(p);
    p.over = true;
  } else {
    while (!p.go && !p.over) sleep_shortly();
    if (p.go) p.second();
    p.done = true;
  }
}

}  // namespace

bool can_interleave() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return ThreadPool::thread_number() == 0 && ThreadPool::shared().threads() > 1;
#endif
}

std::vector<Meeting> meetings(size_t writes) {
  using enum WriteWatch::Moment;
  std::vector<Meeting> out;
  auto add = [&](WriteWatch::Moment moment, size_t write) {
    if (write < 1 || write > writes) return;
    if (std::none_of(out.begin(), out.end(), [&](const Meeting& m) { return m.moment == moment && m.write == write; }))
      out.push_back({moment, write});
  };
  for (size_t write : {writes, size_t{1}, writes / 2, writes / 4, 3 * writes / 4})
    add(after, write), add(before, write);
  return out;
}

Interleaving run_interleaved(std::vector<Pages> watched, const std::function<void()>& first,
                             const std::function<void()>& second, Meeting meeting) {
  // Never destroyed: a thread of it may be in a kernel that hangs.
  static auto* pool = new ThreadPool(2);
  auto p = std::unique_ptr<Pair>(new Pair{WriteWatch(std::move(watched)), first, second, meeting});
  if (meeting.moment == WriteWatch::Moment::never) run_first(*p);
  else pool->parallel_for(2, 1, take_part, p.get());
  return {p->writes, p->go, p->blocked};
}

}  // namespace graft::testing
