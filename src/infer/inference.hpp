// Inference of types, shapes and constants of a graph, node by node.
#pragma once

#include <optional>
#include <set>
#include <unordered_map>

#include "base/limits.hpp"
#include "graph/graph.hpp"
#include "schema/registry.hpp"

namespace graft {

struct ValueHash {
  size_t operator()(const ValueId& v) const { return (static_cast<size_t>(v.node) << 16) ^ v.port; }
};

// What inference may spend, and what it has spent: one for a graph with its bodies, and for all graphs of an import. A
// value whose computation would exceed it stays a computation; bodies that would take too long to infer are refused.
struct Budget {
  explicit Budget(const Limits& limits = {}) : limits(limits) {}
  Limits limits;
  size_t bytes = 0;       // of folded values
  double work = 0;        // elements touched while folding
  size_t body_nodes = 0;  // inferred inside bodies, each time counted

  // Nodes that depend only on constants and were not computed, by name, and the limit that was reached first.
  std::set<std::string> unfolded;
  uint64_t Limits::*reached = nullptr;

  // Folding may allocate as much as these weights take, and touch them several times.
  void add_weights(size_t all, size_t largest);
};

class Inference {
 public:
  Inference(const Registry& registry, Graph& graph, const Limits& limits = {});
  Inference(const Registry& registry, Graph& graph, std::shared_ptr<Budget> budget);

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

  const Registry& registry() const { return registry_; }

  // Drops a constant that is no longer needed.
  void forget_constant(ValueId v) { constants_.erase(v); }
  // Types and shapes of a body's results for these parameters; the body stays as it is.
  static std::vector<Info> results_of(const Registry& registry, const Graph& body, const std::vector<Info>& parameters,
                                      const Limits& limits);

 private:
  // Bodies while one node of the outermost graph is inferred. A loop infers its body several times, so that without
  // this nested ones would multiply.
  struct Bodies {
    struct Known {
      std::vector<Info> parameters, results;
      std::optional<Error> error;
    };
    std::unordered_map<const Graph*, std::vector<Known>> known;
    std::unordered_map<const Graph*, std::vector<Info>> current;  // the parameters that its nodes were inferred for
    std::unordered_map<const Graph*, std::vector<Info>> stale;    // those that they should be inferred for
  };
  Inference(const Registry& registry, Graph& graph, std::shared_ptr<Budget> budget, std::shared_ptr<Bodies> bodies);

  void infer_defined(NodeId id, const OpDef& op);
  std::vector<Info> infer_body(Graph& body, const std::vector<Info>& parameters);
  std::vector<Info> infer_body_now(Graph& body, const std::vector<Info>& parameters);
  void refresh_bodies(Node& node);
  bool compute(NodeId id);
  bool settled(ValueId v);
  bool within_budget(const Node& node, const OpDef& op, const std::vector<Tensor>& inputs, size_t needed);
  bool refuse(const Node& node, uint64_t Limits::*limit);

  const Registry& registry_;
  Graph& graph_;
  std::shared_ptr<Budget> budget_;
  std::shared_ptr<Bodies> bodies_;
  bool outermost_ = true;
  std::unordered_map<ValueId, Tensor, ValueHash> constants_;
  std::unordered_map<ValueId, Shape, ValueHash> values_;
  enum class Folded : uint8_t { open, no, yes };
  std::vector<Folded> folded_;  // per node: whether it was computed, or cannot be
};

}  // namespace graft
