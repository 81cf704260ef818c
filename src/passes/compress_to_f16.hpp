// Storing weights in half precision.
#pragma once

#include "graph/graph.hpp"
#include "schema/registry.hpp"

namespace graft {

struct F16Report {
  size_t compressed = 0, kept = 0;  // constants of f32
  struct Loss {
    std::string constant;
    int64_t elements = 0, clipped = 0, vanished = 0;
  };
  std::vector<Loss> losses;  // of those that were compressed
};

// Constants of f32 become f16 followed by a Convert that is marked as decompression: computations and the border stay
// f32. Kept as they are: constants that f16 cannot hold for the most part, and those that sizes, positions or
// quantisation depend on. To be run after the passes, which would compute the Converts.
void compress_to_f16(Graph& graph, const Registry& registry, F16Report& report);

}  // namespace graft
