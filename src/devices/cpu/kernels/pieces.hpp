// How finely kernels divide their work.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>

namespace graft {

// At least `least` pieces, and on large machines `per_thread` for each thread: with fewer, some threads would wait for
// others.
inline int64_t enough_pieces(int64_t least, int64_t per_thread) {
  static const auto threads = static_cast<int64_t>(std::thread::hardware_concurrency());
  return std::max(least, threads * per_thread);
}

}  // namespace graft
