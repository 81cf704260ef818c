// What a request keeps between its runs: tensors that kernels set, and objects that they create.
#pragma once

#include <graft/app/memory.hpp>
#include <map>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "graph/graph.hpp"

namespace graft {

// The path of a node, unique in a request: `scope` is that of the graph, empty for the model itself.
inline std::string node_path(const std::string& scope, const Node& node) {
  return text(scope, node.name.size(), ':', node.name);
}
// The scope of the graph that a node consists of: its body, or its decomposition.
inline std::string body_scope(const std::string& path, size_t body) { return text(path, '/', body, '/'); }
inline std::string decomposition_scope(const std::string& path) { return path + "//"; }

// A variable belongs to the node whose kernel uses it: other nodes may use the same id for theirs. The exception is the
// id that the attribute `variable_id` of a node states (ReadValue, Assign): all nodes that state it share that
// variable.
//
// A node of a loop's body has one variable for all iterations, which also outlives the run.
class Variables {
 public:
  const Tensor* find(const std::string& scope, const Node& node, std::string_view id) const {
    auto it = tensors_.find(key(scope, node, id));
    return it == tensors_.end() ? nullptr : &it->second;
  }
  void set(const std::string& scope, const Node& node, std::string_view id, Tensor value) {
    tensors_[key(scope, node, id)] = std::move(value);
  }
  // The object of a node under this id; empty at first.
  std::shared_ptr<void>& object(const std::string& scope, const Node& node, std::string_view id) {
    return objects_[{node_path(scope, node), std::string(id)}];
  }
  void clear() {
    tensors_.clear();
    objects_.clear();
  }

 private:
  using Key = std::pair<std::string, std::string>;  // the path of the owner, empty if it is shared; the id
  static Key key(const std::string& scope, const Node& node, std::string_view id) {
    const Attribute* shared = node.attrs.find("variable_id");
    const std::string* name = shared ? shared->get_if<std::string>() : nullptr;
    return {name && *name == id ? std::string() : node_path(scope, node), std::string(id)};
  }
  std::map<Key, Tensor> tensors_;
  std::map<Key, std::shared_ptr<void>> objects_;
};

}  // namespace graft
