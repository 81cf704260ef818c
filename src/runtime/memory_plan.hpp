// Packing values that do not live at the same time into one block of memory.
#pragma once

#include <cstddef>
#include <vector>

namespace graft {

struct Lifetime {
  size_t bytes;
  size_t first, last;  // steps, both included
  size_t offset = 0;   // the answer
};

// Gives every lifetime a 64-byte aligned offset such that those that overlap in time do not overlap in memory. Returns
// the size of the block.
size_t plan_memory(std::vector<Lifetime>& values);

}  // namespace graft
