// Inference of types, shapes and constants of a graph, node by node.
#pragma once

#include <unordered_map>

#include "graph/graph.hpp"
#include "schema/registry.hpp"

namespace graft {

struct ValueHash {
  size_t operator()(const ValueId& v) const { return (static_cast<size_t>(v.node) << 16) ^ v.port; }
};

// The budget of inference. A value whose computation would exceed it stays a computation; a graph whose bodies would
// take too long to infer is refused.
struct FoldLimits {
  size_t per_value = size_t{64} << 20;                  // bytes of one folded value, texts included
  size_t total = size_t{512} << 20;                     // bytes of all folded values
  double work = static_cast<double>(int64_t{1} << 28);  // elements touched while folding, as operations state them
  size_t body_nodes = 5'000'000;                        // nodes inferred inside bodies, each time counted
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
  // What was spent of the limits, by a graph and its bodies together.
  struct Spent {
    size_t bytes = 0;
    double work = 0;
    size_t body_nodes = 0;
  };
  Inference(const Registry& registry, Graph& graph, FoldLimits limits, std::shared_ptr<Spent> spent);

  void infer_defined(NodeId id, const OpDef& op);
  std::vector<Info> infer_body(Graph& body, const std::vector<Info>& parameters);
  bool compute(NodeId id);
  bool settled(ValueId v);
  bool within_budget(const Node& node, const OpDef& op, const std::vector<Tensor>& inputs, size_t needed);

  const Registry& registry_;
  Graph& graph_;
  FoldLimits limits_;
  std::shared_ptr<Spent> spent_;
  std::unordered_map<ValueId, Tensor, ValueHash> constants_;
  std::unordered_map<ValueId, Shape, ValueHash> values_;
  enum class Folded : uint8_t { open, no, yes };
  std::vector<Folded> folded_;  // per node: whether it was computed, or cannot be
};

}  // namespace graft
