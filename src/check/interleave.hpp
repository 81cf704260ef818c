// Two pieces of work that would run at the same time, one of them in the middle of the other.
#pragma once

#include <functional>
#include <vector>

#include "check/traps.hpp"

namespace graft::testing {

// When the second piece runs: before or after a write of the first one to the watched memory.
struct Meeting {
  WriteWatch::Moment moment;
  size_t write;
};
// The moments at which the first piece is interrupted, given its number of writes: a sample if there are many.
std::vector<Meeting> meetings(size_t writes);

struct Interleaving {
  size_t writes = 0;     // of the first piece, until the second one ran
  bool met = false;      // the second piece has run
  bool blocked = false;  // and it had to wait for the first one
};
// Runs `first` on this thread and, in the middle of it, `second` on another one, which has another number. Neither may
// throw. With Moment::never only `first` runs. The watched memory may be a part of this thread's stack: frames of the
// callers.
Interleaving run_interleaved(std::vector<Pages> watched, const std::function<void()>& first,
                             const std::function<void()>& second, Meeting meeting);

// Whether memory can be watched in this build, and whether there is a second thread number.
bool can_interleave();

}  // namespace graft::testing
