// Inference of types, shapes and constants of a graph, node by node.
#pragma once

#include <unordered_map>

#include "graph/graph.hpp"
#include "schema/registry.hpp"

namespace graft {

struct ValueHash {
  size_t operator()(const ValueId& v) const { return (static_cast<size_t>(v.node) << 16) ^ v.port; }
};

// How much constant folding may allocate.
struct FoldLimits {
  size_t per_value = size_t{64} << 20;
  size_t total = size_t{512} << 20;
};

class Inference {
 public:
  Inference(const Registry& registry, Graph& graph, FoldLimits limits = {});

  // Sets the outputs of a node whose producers have been inferred.
  void infer(NodeId id);
  // The whole graph, producers first.
  void infer_all();
  // Discards the results for a node before it is inferred again.
  void forget(NodeId id);

  // The value, if it is a constant or can be computed from constants. Computed on demand and remembered.
  const Tensor* constant(ValueId v);
  // The known elements of a small integer tensor.
  const Shape* known_values(ValueId v);
  void set_constant(ValueId v, Tensor t);

  const Registry& registry() const { return registry_; }

 private:
  void infer_defined(NodeId id, const OpDef& op);
  bool compute(NodeId id);

  const Registry& registry_;
  Graph& graph_;
  FoldLimits limits_;
  size_t spent_ = 0;
  std::unordered_map<ValueId, Tensor, ValueHash> constants_;
  std::unordered_map<ValueId, Shape, ValueHash> values_;
  std::vector<uint8_t> variable_;  // per node: known not to be constant
};

}  // namespace graft
