// Storing weights in half precision.
#pragma once

#include <graft/app/convert.hpp>

#include "graph/graph.hpp"
#include "schema/registry.hpp"

namespace graft {

// f32 constants become f16 followed by a Convert that is marked as decompression: computations, inputs and outputs stay
// f32. Not converted: constants of which f16 cannot represent most elements, and those that determine sizes, positions
// or quantization. To be run after the passes, which would fold the Converts.
void compress_to_f16(Graph& graph, const Registry& registry, F16Report& report);

}  // namespace graft
