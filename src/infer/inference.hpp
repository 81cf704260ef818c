// Types, shapes and constants of a graph, worked out node by node.
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

  // Sets the outputs of a node whose producers are done.
  void infer(NodeId id);
  // The whole graph, producers first.
  void infer_all();
  // Forgets what was worked out about a node, before it is inferred anew.
  void forget(NodeId id);

  // The value, if it is a constant or can be computed from constants. Computed on demand and remembered.
  const Tensor* constant(ValueId v);
  // The values of a small integer tensor as far as they are known.
  const Shape* known_values(ValueId v);
  void set_constant(ValueId v, Tensor t);

  const Registry& registry() const { return registry_; }

 private:
  void infer_defined(NodeId id, const OpDef& op);
  bool compute(NodeId id);
  bool settled(ValueId v);

  const Registry& registry_;
  Graph& graph_;
  FoldLimits limits_;
  size_t spent_ = 0;
  std::unordered_map<ValueId, Tensor, ValueHash> constants_;
  std::unordered_map<ValueId, Shape, ValueHash> values_;
  enum class Folded : uint8_t { open, no, yes };
  std::vector<Folded> folded_;  // per node: whether it was computed, or cannot be
};

}  // namespace graft
