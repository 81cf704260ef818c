// Counts allocations, for graft check.
#pragma once

#include <cstdint>

namespace graft::cli {

// How many times this thread has allocated memory, in the program or in any library. Null: not counted in this build.
using AllocationCounter = uint64_t (*)();
AllocationCounter allocation_counter();
// How many blocks of memory the process has, from some start on. Null: not counted in this build.
using LiveCounter = int64_t (*)();
LiveCounter live_counter();

}  // namespace graft::cli
