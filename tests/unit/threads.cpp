// The thread pool: every piece once, whatever comes and goes meanwhile.
#include "base/threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "base/machine.hpp"

namespace graft {
namespace {

// Calls f(begin, end).
template <class F>
void loop(ThreadPool& pool, int64_t count, int64_t grain, F&& f, int limit = 0) {
  pool.parallel_for(
      count, grain, [](void* arg, int64_t b, int64_t e) { (*static_cast<std::remove_reference_t<F>*>(arg))(b, e); }, &f,
      limit);
}

int64_t sum_of(ThreadPool& pool, int64_t count, int limit = 0) {
  std::atomic<int64_t> sum{0};
  loop(
      pool, count, 1,
      [&](int64_t b, int64_t e) {
        int64_t part = 0;
        for (int64_t i = b; i < e; ++i) part += i;
        sum += part;
      },
      limit);
  return sum;
}

TEST(Threads, ManyLoopsInARow) {
  for (int threads : {2, 3, 8}) {
    ThreadPool pool(threads);
    for (int64_t i = 1; i < 2000; ++i) ASSERT_EQ(sum_of(pool, i % 97 + 1), (i % 97) * (i % 97 + 1) / 2);
  }
}

TEST(Threads, LimitsOfAllKinds) {
  ThreadPool pool(6);
  for (int round = 0; round < 200; ++round)
    for (int limit = 0; limit < 9; ++limit) ASSERT_EQ(sum_of(pool, 1000, limit), 499500);
}

TEST(Threads, HugeAndOddCounts) {
  ThreadPool pool(3);
  for (int64_t count : {INT64_MAX, INT64_MAX - 1, int64_t{1} << 40}) {
    std::atomic<uint64_t> covered{0};
    loop(pool, count, 1, [&](int64_t b, int64_t e) { covered += static_cast<uint64_t>(e - b); });
    EXPECT_EQ(covered, static_cast<uint64_t>(count));
  }
  int calls = 0;
  loop(pool, 5, INT64_MAX, [&](int64_t b, int64_t e) { calls += b == 0 && e == 5; });
  loop(pool, 0, 1, [&](int64_t, int64_t) { calls = -1; });
  loop(pool, -1, 1, [&](int64_t, int64_t) { calls = -1; });
  EXPECT_EQ(calls, 1);
}

// Memory of a thread's own is indexed by its number.
TEST(Threads, NumbersAreDifferentAndBelowTheLimit) {
  ThreadPool pool(8);
  for (int limit : {2, 5, 8}) {
    std::vector<std::atomic<int>> inside(static_cast<size_t>(limit));
    std::atomic<int> wrong{0};
    for (int round = 0; round < 300; ++round)
      loop(
          pool, 64, 1,
          [&](int64_t, int64_t) {
            int n = ThreadPool::thread_number();
            if (n < 0 || n >= limit) return void(++wrong);
            if (inside[static_cast<size_t>(n)].fetch_add(1) != 0) ++wrong;
            // A loop in a loop has the same numbers, and helpers have others.
            loop(
                pool, 8, 1, [&](int64_t, int64_t) { wrong += ThreadPool::thread_number() >= limit; }, limit);
            wrong += ThreadPool::thread_number() != n;
            inside[static_cast<size_t>(n)].fetch_sub(1);
          },
          limit);
    EXPECT_EQ(wrong, 0);
  }
  EXPECT_EQ(ThreadPool::thread_number(), 0);
}

TEST(Threads, LoopsInLoopsAreHelped) {
  ThreadPool pool(4);
  std::set<std::thread::id> seen;
  std::mutex mutex;
  for (int round = 0; round < 50 && seen.size() < 3; ++round)
    loop(pool, 2, 1, [&](int64_t, int64_t) {
      loop(pool, 40, 1, [&](int64_t, int64_t) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        std::lock_guard lock(mutex);
        seen.insert(std::this_thread::get_id());
      });
    });
  EXPECT_GE(seen.size(), 3u);
}

// What is called in a body and numbers its threads by itself is not a part of the loop.
TEST(Threads, CallsInBodiesAreApart) {
  ThreadPool pool(4);
  std::atomic<int> wrong{0};
  for (int round = 0; round < 100; ++round)
    loop(pool, 16, 1, [&](int64_t, int64_t) {
      int n = ThreadPool::thread_number();
      {
        ThreadPool::Apart apart;
        wrong += ThreadPool::thread_number() != 0;
        loop(
            pool, 8, 1, [&](int64_t, int64_t) { wrong += ThreadPool::thread_number() > 1; }, 2);
        wrong += sum_of(pool, 100) != 4950;
      }
      wrong += ThreadPool::thread_number() != n;
    });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, ManyCallersAtOnce) {
  ThreadPool pool(4);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 6; ++c)
    callers.emplace_back([&, c] {
      for (int i = 0; i < 500; ++i) {
        wrong += sum_of(pool, 50 + c, c % 3 == 0 ? 2 : 0) != (50 + c) * (49 + c) / 2;
        if (i % 100 == c) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(wrong, 0);
}

// A caller that is alone for a while has all threads; another one that comes gets its part of them.
TEST(Threads, ACallerGetsItsPart) {
  ThreadPool pool(5);
  std::atomic<bool> stop{false};
  std::thread first([&] {
    while (!stop)
      loop(pool, 64, 1, [](int64_t, int64_t) { std::this_thread::sleep_for(std::chrono::microseconds(50)); });
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::atomic<bool> helped{false};
  while (!helped && std::chrono::steady_clock::now() < deadline)
    loop(pool, 64, 1, [&](int64_t, int64_t) {
      if (ThreadPool::thread_number() > 0) helped = true;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    });
  stop = true;
  first.join();
  EXPECT_TRUE(helped);
}

// A thread that does not come costs nothing; others take its share.
TEST(Threads, NobodyWaitsForAThreadThatHasNotBegun) {
  ThreadPool pool(3);
  std::atomic<bool> held{false}, release{false};
  // The first loop keeps all members busy, one of them beyond the end of its caller's interest.
  std::thread other([&] {
    loop(pool, 3, 1, [&](int64_t, int64_t) {
      held = true;
      while (!release) std::this_thread::yield();
    });
  });
  while (!held) std::this_thread::yield();
  for (int i = 0; i < 200; ++i) ASSERT_EQ(sum_of(pool, 1000), 499500);
  release = true;
  other.join();
}

// A worker that finds nothing to do for a while leaves its team. A loop that begins at that moment gets it back.
TEST(Threads, AMemberThatLeavesIsCalledBack) {
  using namespace std::chrono;
  ThreadPool pool(2);
  for (int i = 0; i < 2000; ++i) {
    auto pause = steady_clock::now() + microseconds(150 + i % 100);  // it leaves after 200
    while (steady_clock::now() < pause) {
    }
    std::atomic<int> arrived{0};
    auto limit = steady_clock::now() + seconds(30);
    loop(pool, 2, 1, [&](int64_t, int64_t) {
      for (++arrived; arrived < 2 && steady_clock::now() < limit;) std::this_thread::yield();
    });
    ASSERT_EQ(arrived, 2) << "loop " << i;
  }
}

TEST(Threads, GrowWhenAsked) {
  ThreadPool pool(1);
  EXPECT_EQ(pool.threads(), 1);
  EXPECT_EQ(sum_of(pool, 100), 4950);
  pool.reserve(3);
  EXPECT_EQ(pool.threads(), 3);
  EXPECT_EQ(pool.threads(2), 2);
  EXPECT_EQ(pool.threads(9), 3);
  pool.reserve(2);
  EXPECT_EQ(pool.threads(), 3);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(sum_of(pool, 100), 4950);
  pool.reserve(40);  // more than there is room for in a team that is small
  for (int i = 0; i < 100; ++i) ASSERT_EQ(sum_of(pool, 1000), 499500);
}

TEST(Threads, ManyShortCallers) {
  ThreadPool pool(3);
  for (int i = 0; i < 100; ++i) {
    std::thread([&] { EXPECT_EQ(sum_of(pool, 64), 2016); }).join();
    if (i % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(Threads, PoolsComeAndGo) {
  for (int i = 0; i < 50; ++i) {
    ThreadPool pool(4);
    ASSERT_EQ(sum_of(pool, 64), 2016);
  }
}

TEST(Threads, PinnedCallersHaveTheirProcessors) {
  int last = this_machine().processors.back();
  ThreadPool pool(2);
  std::thread([&] {
    pool.pin_this_thread({last});
    EXPECT_EQ(affinity_mask(), std::vector<int>{last});
    std::atomic<int> wrong{0};
    for (int i = 0; i < 100; ++i)
      loop(pool, 64, 1, [&](int64_t, int64_t) { wrong += affinity_mask() != std::vector<int>{last}; });
    EXPECT_EQ(wrong, 0);
  }).join();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(affinity_mask(), this_machine().processors);
  std::atomic<int> wrong{0};
  for (int i = 0; i < 100; ++i)
    loop(pool, 64, 1, [&](int64_t, int64_t) { wrong += affinity_mask() != this_machine().processors; });
  EXPECT_EQ(wrong, 0) << "helpers of others run anywhere";
}

}  // namespace
}  // namespace graft
