// Converts a GraphDef to the raw model: inputs and outputs, function calls, and only what the outputs depend on.
#pragma once

#include "readers/tensorflow/graph.hpp"

namespace graft {

// A named input or output: `name` for users, `value` in the graph.
struct TensorFlowPort {
  std::string name, value;
  Info info;
};

// Without ports: every placeholder with consumers is an input, and every unused value is an output.
RawModel assemble_tensorflow(TensorFlowGraph graph, const Limits& limits,
                             const std::vector<TensorFlowPort>& inputs = {},
                             const std::vector<TensorFlowPort>& outputs = {});

}  // namespace graft
