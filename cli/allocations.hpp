// Counts allocations, for graft check.
#pragma once

#include <cstdint>

namespace graft::cli {

// How many times this thread has allocated memory, in the program or in any library. Null: not counted in this build.
using AllocationCounter = uint64_t (*)();
AllocationCounter allocation_counter();

}  // namespace graft::cli
