// parallel_for and its relatives of the classic extension interface, on the threads that all kernels of Graft share.
//
// Inside `execute` they use the threads of the call; elsewhere, and nested in one another, they run on the calling
// thread.
#pragma once

#include <algorithm>
#include <array>
#include <tuple>

#include "../context.hpp"

namespace graft {
namespace [[gnu::visibility("hidden")]] classic {

// The call whose `execute` runs on this thread.
inline thread_local const Run* current_run = nullptr;

class Running {
 public:
  explicit Running(const Run* run) : outer_(current_run) { current_run = run; }
  ~Running() { current_run = outer_; }
  Running(const Running&) = delete;

 private:
  const Run* outer_;
};

// f(number) for each number below `count`, on several threads.
template <class F>
void on_threads(int count, const F& f) {
  if (!current_run || count <= 1) {
    for (int i = 0; i < count; ++i) f(i);
    return;
  }
  current_run->parallel_for(count, 1, [&](int64_t begin, int64_t end) {
    Running nested(nullptr);
    for (int64_t i = begin; i < end; ++i) f(static_cast<int>(i));
  });
}

}  // namespace classic
}  // namespace graft

namespace [[gnu::visibility("hidden")]] InferenceEngine {

inline int parallel_get_max_threads() {
  return graft::classic::current_run ? graft::classic::current_run->threads() : 1;
}
inline int parallel_get_num_threads() { return parallel_get_max_threads(); }
inline int parallel_get_thread_num() { return 0; }
inline int parallel_get_env_threads() { return 0; }
inline void parallel_set_num_threads(int) {}

// func(thread, threads), once per thread; 0 threads: as many as there are.
template <class F>
void parallel_nt(int threads, const F& func) {
  if (threads == 0) threads = parallel_get_max_threads();
  graft::classic::on_threads(threads, [&](int thread) { func(thread, threads); });
}
template <class F>
void parallel_nt_static(int threads, const F& func) {
  parallel_nt(threads, func);
}
template <class I, class F>
void parallel_sort(I begin, I end, const F& less) {
  std::sort(begin, end, less);
}

// The part of 0..n that thread `tid` of `team` has.
template <class T, class Q>
void splitter(const T& n, const Q& team, const Q& tid, T& n_start, T& n_end) {
  auto total = static_cast<size_t>(n), threads = static_cast<size_t>(team), at = static_cast<size_t>(tid);
  if (threads <= 1) at = 0, threads = 1;
  size_t each = total / threads, more = total % threads;
  n_start = static_cast<T>(at * each + std::min(at, more));
  n_end = static_cast<T>((at + 1) * each + std::min(at + 1, more));
}

template <class T>
T parallel_it_init(T start) {
  return start;
}
template <class T, class Q, class R, class... Args>
T parallel_it_init(T start, Q& x, const R& X, Args&&... rest) {
  start = parallel_it_init(start, static_cast<Args>(rest)...);
  x = static_cast<Q>(start % static_cast<T>(X));
  return start / static_cast<T>(X);
}
inline bool parallel_it_step() { return true; }
template <class Q, class R, class... Args>
bool parallel_it_step(Q& x, const R& X, Args&&... rest) {
  if (!parallel_it_step(static_cast<Args>(rest)...)) return false;
  x = static_cast<Q>((x + 1) % X);
  return x == 0;
}

namespace details {
// func(d0, d1, ...) for the thread's part of all positions, the last one counting fastest.
template <class F, class... D>
void walk(int thread, int threads, const F& func, const D&... dims) {
  const std::array<size_t, sizeof...(D)> sizes{static_cast<size_t>(dims)...};
  size_t total = 1, begin = 0, end = 0;
  for (size_t s : sizes) total *= s;
  splitter(total, threads, thread, begin, end);
  for (size_t i = begin; i < end; ++i) {
    std::array<size_t, sizeof...(D)> at{};
    for (size_t axis = sizes.size(), rest = i; axis-- > 0; rest /= sizes[axis]) at[axis] = rest % sizes[axis];
    [&]<size_t... n>(std::index_sequence<n...>) { func(static_cast<D>(at[n])...); }
    (std::index_sequence_for<D...>());
  }
}
template <class F, class... D>
void parallel_walk(const F& func, const D&... dims) {
  int threads = parallel_get_max_threads();
  graft::classic::on_threads(threads, [&](int thread) { walk(thread, threads, func, dims...); });
}
}  // namespace details

template <class A, class F>
void for_1d(int thread, int threads, const A& a, const F& f) {
  details::walk(thread, threads, f, a);
}
template <class A, class B, class F>
void for_2d(int thread, int threads, const A& a, const B& b, const F& f) {
  details::walk(thread, threads, f, a, b);
}
template <class A, class B, class C_, class F>
void for_3d(int thread, int threads, const A& a, const B& b, const C_& c, const F& f) {
  details::walk(thread, threads, f, a, b, c);
}
template <class A, class B, class C_, class D, class F>
void for_4d(int thread, int threads, const A& a, const B& b, const C_& c, const D& d, const F& f) {
  details::walk(thread, threads, f, a, b, c, d);
}
template <class A, class B, class C_, class D, class E, class F>
void for_5d(int thread, int threads, const A& a, const B& b, const C_& c, const D& d, const E& e, const F& f) {
  details::walk(thread, threads, f, a, b, c, d, e);
}

template <class A, class F>
void parallel_for(const A& a, const F& f) {
  details::parallel_walk(f, a);
}
template <class A, class B, class F>
void parallel_for2d(const A& a, const B& b, const F& f) {
  details::parallel_walk(f, a, b);
}
template <class A, class B, class C_, class F>
void parallel_for3d(const A& a, const B& b, const C_& c, const F& f) {
  details::parallel_walk(f, a, b, c);
}
template <class A, class B, class C_, class D, class F>
void parallel_for4d(const A& a, const B& b, const C_& c, const D& d, const F& f) {
  details::parallel_walk(f, a, b, c, d);
}
template <class A, class B, class C_, class D, class E, class F>
void parallel_for5d(const A& a, const B& b, const C_& c, const D& d, const E& e, const F& f) {
  details::parallel_walk(f, a, b, c, d, e);
}

// input + func(d0) + ...: the terms of each thread are added up first, so rounding depends on the number of threads.
template <class A, class R, class F>
R parallel_sum(const A& a, const R& input, const F& func) {
  int threads = parallel_get_max_threads();
  std::vector<R> parts(static_cast<size_t>(threads), R{});
  graft::classic::on_threads(threads, [&](int t) {
    details::walk(
        t, threads, [&](A i) { parts[static_cast<size_t>(t)] += func(i); }, a);
  });
  R sum = input;
  for (const R& part : parts) sum += part;
  return sum;
}
template <class A, class B, class R, class F>
R parallel_sum2d(const A& a, const B& b, const R& input, const F& func) {
  return parallel_sum(static_cast<size_t>(a) * static_cast<size_t>(b), input, [&](size_t i) {
    return func(static_cast<A>(i / static_cast<size_t>(b)), static_cast<B>(i % static_cast<size_t>(b)));
  });
}
template <class A, class B, class C_, class R, class F>
R parallel_sum3d(const A& a, const B& b, const C_& c, const R& input, const F& func) {
  return parallel_sum2d(a, static_cast<size_t>(b) * static_cast<size_t>(c), input, [&](A i, size_t rest) {
    return func(i, static_cast<B>(rest / static_cast<size_t>(c)), static_cast<C_>(rest % static_cast<size_t>(c)));
  });
}

}  // namespace InferenceEngine
