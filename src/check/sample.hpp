// One node with values for all of its inputs: what the checker runs kernels on.
#pragma once

#include <functional>

#include "graph/graph.hpp"
#include "schema/registry.hpp"

namespace graft::testing {

struct Sample {
  std::string type, opset;
  Attributes attrs;            // resolved against the schema
  std::vector<Tensor> inputs;  // empty: absent
  std::vector<bool> constant;  // per input: known when the node is compiled
  size_t outputs = 1;          // the number that the node declares

  Node node() const;
};

// Whether the checker can run the operation by itself: it has no bodies and changes nothing but its outputs.
bool can_be_sampled(const OpDef& op);

// A node of a graph, with the values that it gets and gives when the graph is evaluated.
struct NodeSample {
  NodeId id;
  Sample sample;
  std::vector<Tensor> results;
};
// The nodes that `chosen` accepts, bodies left out, in the order in which they run.
std::vector<NodeSample> samples_in(const Graph& graph, const std::vector<Tensor>& inputs, const Registry& registry,
                                   const std::function<bool(const Node&)>& chosen);

// As the body of a case of a .test file.
std::string to_text(const Sample& sample, const OpDef& op);

// The number of elements of all inputs.
int64_t elements_of(const Sample& sample);

}  // namespace graft::testing
