// How finely kernels divide their work.
#pragma once

#include <algorithm>
#include <cstdint>

namespace graft {

// At least `least` pieces, and `per_thread` for each thread that a call may use (Prepare::threads): with fewer, some
// threads would wait for others.
inline int64_t enough_pieces(int64_t threads, int64_t least, int64_t per_thread) {
  return std::max(least, threads * per_thread);
}

}  // namespace graft
