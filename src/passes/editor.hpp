// A graph while passes change it: who reads what and what is known of every value stay true.
#pragma once

#include <unordered_map>

#include "graph/graph.hpp"
#include "infer/inference.hpp"

namespace graft {

class Editor {
 public:
  // Infers the whole graph.
  Editor(Graph& graph, const Registry& registry);

  Graph& graph() { return graph_; }
  const Registry& registry() const { return registry_; }
  Inference& inference() { return inference_; }
  Users& users() { return users_; }

  // Living nodes of a type, in the order they were added.
  const std::vector<NodeId>& of_type(const std::string& type);

  // Whether an extension defines what the node does, also where it took a built-in's place: only its author knows what
  // may be done with it.
  bool is_foreign(NodeId id) const { return id < foreign_.size() && foreign_[id]; }

  // Adds a node, checked against its schema and inferred. Names are the caller's.
  NodeId add(Node node);
  ValueId constant(Tensor t, const std::string& name = "constant");
  ValueId constant(const std::vector<int64_t>& list);
  ValueId transpose(ValueId v, const std::vector<int64_t>& order, const std::string& name);
  ValueId reshape(ValueId v, const std::vector<int64_t>& dims, const std::string& name);

  // Readers and tensor names of a value go over to another one that is the same. What is unread then goes in `sweep`.
  void replace(ValueId from, ValueId to);
  void set_input(NodeId id, uint32_t input, ValueId to);
  // `to`, a new node, takes the name of `from`.
  void take_name(NodeId from, NodeId to);
  // Removes what lost its last reader.
  void sweep();
  // Looks at a node, too, when sweeping.
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
  std::vector<bool> foreign_;
};

}  // namespace graft
