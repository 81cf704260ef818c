// From a GraphDef to the raw model: borders, calls of functions, and only what the outputs need.
#pragma once

#include "readers/tensorflow_graph.hpp"

namespace graft {

// An input or output that somebody named: `name` for users, `value` in the graph.
struct TensorFlowPort {
  std::string name, value;
  Info info;
};

// Without ports: every placeholder that something consumes is an input, and what no node reads is an output.
RawModel assemble_tensorflow(TensorFlowGraph graph, const std::vector<TensorFlowPort>& inputs = {},
                             const std::vector<TensorFlowPort>& outputs = {});

}  // namespace graft
