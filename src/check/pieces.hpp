// A loop of a kernel (parallel_for) that is run piece by piece, to see whether the pieces get in each other's way.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "check/traps.hpp"

namespace graft::testing {

struct Loop {
  int64_t count, grain;
  void (*body)(void*, int64_t, int64_t);
  void* arg;
  void run(int64_t begin, int64_t end) const { body(arg, begin, end); }
};

// Memory that the pieces write.
struct LoopMemory {
  std::string name;
  uint8_t* data;
  size_t bytes;
  bool packed = false;  // elements smaller than a byte
};

// Small pieces in scrambled order, each on the memory as it was before the loop. Gives what two of them write.
std::optional<std::string> run_pieces(const Loop& loop, std::span<const LoopMemory> outputs);

// The first two pieces as if they ran at the same time on two threads: the second one in the middle of the first one,
// wherever that writes static data, scratch memory or variables of its callers. Gives what is then different.
struct SharedMemory {
  std::vector<LoopMemory> outputs, scratch;  // what they may write, and what they use meanwhile
  std::vector<Pages> watched;                // beside the stack
  uint8_t* stack_begin;                      // of the frames that wait for the loop to end
  uint8_t* stack_end;
  uint64_t (*allocations)();  // of this thread so far; pieces that allocate are not run again and again
};
std::optional<std::string> run_pieces_at_once(const Loop& loop, const SharedMemory& memory);

}  // namespace graft::testing
