// A graph being changed by passes: keeps the consumers and the inferred information of every value up to date.
#pragma once

#include <graft/traits.hpp>
#include <unordered_map>

#include "graph/graph.hpp"
#include "infer/inference.hpp"

namespace graft {

// What passes over a graph and its bodies may spend: folding may allocate as much as the weights take.
std::shared_ptr<Budget> pass_budget(const Graph& graph, const Limits& limits);

class Editor {
 public:
  // Infers the whole graph.
  Editor(Graph& graph, const Registry& registry);
  Editor(Graph& graph, const Registry& registry, std::shared_ptr<Budget> budget);

  Graph& graph() { return graph_; }
  const Registry& registry() const { return registry_; }
  Inference& inference() { return inference_; }
  Users& users() { return users_; }

  // Living nodes of a type, in the order they were added.
  const std::vector<NodeId>& of_type(const std::string& type);

  // Whether an extension defines the node's operation, also by overriding a built-in: built-in passes must not make
  // assumptions about it.
  bool is_foreign(NodeId id) const { return id < known_.size() && known_[id].foreign; }
  // The same if built-in passes would take it for another operation: it has the name of a built-in one, or no
  // definition.
  bool is_impostor(NodeId id) const { return id < known_.size() && known_[id].impostor; }
  // The traits of its operation (GRAFT_OP_...).
  uint32_t traits(NodeId id) const { return id < known_.size() ? known_[id].traits : 0; }
  bool has(NodeId id, Trait trait) const { return traits(id) & static_cast<uint32_t>(trait); }

  // Adds a node, checked against its schema and inferred, or an opaque one as it is. The caller sets the names.
  NodeId add(Node node);
  ValueId constant(Tensor t, const std::string& name = "constant");
  ValueId constant(const std::vector<int64_t>& list);
  ValueId transpose(ValueId v, const std::vector<int64_t>& order, const std::string& name);
  ValueId reshape(ValueId v, const std::vector<int64_t>& dims, const std::string& name);

  // Moves the consumers and tensor names of a value to an equal one. `sweep` then removes what became unused.
  void replace(ValueId from, ValueId to);
  void set_input(NodeId id, uint32_t input, ValueId to);
  // `to`, a new node, takes the name of `from`.
  void take_name(NodeId from, NodeId to);
  // Removes nodes that lost their last consumer.
  void sweep();
  // Makes `sweep` check a node, too.
  void suspect(NodeId id) { suspects_.push_back(id); }

 private:
  bool needed(NodeId id);
  void enter(NodeId id);
  Graph& graph_;
  const Registry& registry_;
  Inference inference_;
  Users users_;
  std::unordered_map<std::string, std::vector<NodeId>> types_;
  std::vector<NodeId> suspects_;
  struct Known {
    uint32_t traits = 0;
    bool foreign = false, impostor = false;
  };
  std::vector<Known> known_;  // of each node
};

}  // namespace graft
