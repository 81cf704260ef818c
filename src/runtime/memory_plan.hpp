// Packs values into one block of memory, reusing it for values that are not live at the same time.
#pragma once

#include <cstddef>
#include <vector>

namespace graft {

struct Lifetime {
  size_t bytes;
  size_t first, last;  // steps, both included
  size_t offset = 0;   // the answer
};

// Assigns every lifetime a 64-byte aligned offset, so that lifetimes that overlap in time do not overlap in memory.
// Returns the size of the block.
size_t plan_memory(std::vector<Lifetime>& values);

}  // namespace graft
