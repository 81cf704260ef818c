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

// f32 constants become f16 followed by a Convert that is marked as decompression: computations, inputs and outputs stay
// f32. Not converted: constants of which f16 cannot represent most elements, and those that determine sizes, positions
// or quantization. To be run after the passes, which would fold the Converts.
void compress_to_f16(Graph& graph, const Registry& registry, F16Report& report);

}  // namespace graft
