// Waiting without a system call, for what comes soon.
#pragma once

#include <chrono>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace graft {

inline void relax() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

inline int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Waking a sleeping thread costs tens of microseconds; spinning for a while is cheaper when the event comes soon.
// Returns whether it came within `patience` ns. Gives up early if the thread was interrupted meanwhile: then others
// want its processor, perhaps the one that it waits for.
template <class F>
bool spin_until(int64_t patience, F&& happened) {
  constexpr int64_t interruption = 50'000;
  if (happened()) return true;
  if (patience <= 0) return false;
  int64_t start = now_ns(), last = start;
  for (;;) {
    for (int i = 0; i < 32; ++i) {
      if (happened()) return true;
      relax();
    }
    int64_t now = now_ns();
    if (now - start > patience || now - last > interruption) return happened();
    last = now;
  }
}

}  // namespace graft
