// What parallel loops cost: graft_loops [--threads 1,2,4,8,16] [--seconds 0.5]
//
// For each number of threads, in microseconds: an empty loop, one after another (median and 99th percentile); after a
// pause of 50 us, in which the threads still spin, and of 2 ms, after which they sleep; two streams with half of the
// threads each, at once; and the speedup of a loop with 200 us of work on one thread.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/machine.hpp"
#include "base/spin.hpp"
#include "base/threads.hpp"

namespace graft {
namespace {

double microseconds(int64_t ns) { return static_cast<double>(ns) / 1000; }

void pause_for(int64_t ns) {
  if (ns >= 1'000'000) return std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
  for (int64_t until = now_ns() + ns; now_ns() < until;) relax();
}

struct Times {
  double median = 0, late = 0;  // us; 99th percentile
};

Times measure(double seconds, int64_t pause, auto&& loop) {
  std::vector<int64_t> times;
  for (int i = 0; i < 20; ++i) loop();
  int64_t end = now_ns() + static_cast<int64_t>(seconds * 1e9);
  while (times.size() < 10 || now_ns() < end) {
    if (pause > 0) pause_for(pause);
    int64_t begin = now_ns();
    loop();
    times.push_back(now_ns() - begin);
  }
  std::sort(times.begin(), times.end());
  return {microseconds(times[times.size() / 2]), microseconds(times[times.size() * 99 / 100])};
}

void nothing(void*, int64_t, int64_t) {}

// A unit of work that stays in registers.
std::atomic<uint64_t> sink;
void compute(int64_t units) {
  uint64_t x = 88172645463325252ull;
  for (int64_t i = 0; i < units * 100; ++i) x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  sink.store(x, std::memory_order_relaxed);
}

void row(int threads, double seconds) {
  ThreadPool pool(threads);
  auto empty = [&](int limit) { pool.parallel_for(limit, 1, nothing, nullptr, limit); };
  Times warm = measure(seconds, 0, [&] { empty(threads); });
  Times soon = measure(seconds, 50'000, [&] { empty(threads); });
  Times cold = measure(seconds, 2'000'000, [&] { empty(threads); });

  Times streams;
  if (int half = threads / 2; half >= 2) {
    std::atomic<bool> stop{false};
    std::thread other([&] {
      while (!stop) empty(half);
    });
    streams = measure(seconds, 0, [&] { empty(half); });
    stop = true;
    other.join();
  }

  int64_t units = 1000;
  auto alone = [&] { compute(units); };
  Times one = measure(seconds / 4, 0, alone);
  units = std::max<int64_t>(64, static_cast<int64_t>(static_cast<double>(units) * 200 / one.median));
  one = measure(seconds, 0, alone);
  Times all = measure(seconds, 0, [&] {
    pool.parallel_for(units, 1, [](void*, int64_t b, int64_t e) { compute(e - b); }, nullptr);
  });
  std::printf("%7d %9.2f %9.2f %9.2f %9.2f %9.2f %9.2f %9.2f\n", threads, warm.median, warm.late, soon.median, cold.median,
              streams.median, one.median / all.median, one.median / all.late);
  std::fflush(stdout);
}

}  // namespace
}  // namespace graft

int main(int argc, char** argv) {
  std::vector<int> counts{1, 2, 4, 8, 16};
  double seconds = 0.5;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string value = argv[i + 1];
    if (std::strcmp(argv[i], "--seconds") == 0) seconds = std::stod(value);
    if (std::strcmp(argv[i], "--threads") != 0) continue;
    counts.clear();
    for (size_t at = 0; at < value.size(); at = value.find(',', at) == value.npos ? value.size() : value.find(',', at) + 1)
      counts.push_back(std::stoi(value.substr(at)));
  }
  const graft::ThreadCount& given = graft::default_threads();
  std::printf("%d threads by default: %s\n", given.threads, given.reason.c_str());
  std::printf("%7s %9s %9s %9s %9s %9s %9s %9s\n", "threads", "empty", "p99", "+50us", "+2ms", "2 streams", "speedup", "p99");
  for (int n : counts) graft::row(n, seconds);
}
