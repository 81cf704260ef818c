#include "check/leaks.hpp"

#include <algorithm>

namespace graft::testing {

int64_t blocks_left(int64_t (*live)(), const std::function<void()>& work) {
  constexpr int first = 2, rounds = 6;
  int64_t least = INT64_MAX;
  for (int i = 0; i < first + rounds && least > 0; ++i) {
    int64_t before = live();
    work();
    if (i >= first) least = std::min(least, live() - before);
  }
  return std::max<int64_t>(least, 0);
}

}  // namespace graft::testing
