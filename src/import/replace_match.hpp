// Inside of the replacements: finding sub-graphs.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "import/replace.hpp"

namespace graft {

// The nodes of a graph by name, and who makes and reads each value.
class RawIndex {
 public:
  explicit RawIndex(const RawGraph& graph);

  const RawGraph& graph;
  struct Port {
    size_t node, port;
  };
  // The name that people know a node by: its own, or that of what it makes.
  const std::string& name(size_t node) const { return *names_[node]; }
  const Port* maker(const std::string& value) const;
  const std::vector<Port>& readers(const std::string& value) const;  // port SIZE_MAX: inside a graph of the node
  bool is_input(const std::string& value) const { return inputs_.count(value) > 0; }
  bool is_output(const std::string& value) const { return outputs_.count(value) > 0; }
  const Tensor* constant(const std::string& value) const;
  std::vector<size_t> called(const std::string& name) const;
  std::vector<size_t> matching(const Pattern& pattern) const;
  // "; the nearest is 'x'", or nothing.
  std::string near(const std::string& name) const;

 private:
  std::vector<const std::string*> names_;
  std::unordered_map<std::string_view, Port> makers_;
  std::unordered_map<std::string_view, std::vector<Port>> readers_;
  std::unordered_set<std::string_view> inputs_, outputs_;
  std::unordered_map<std::string_view, const Tensor*> constants_;
  std::unordered_multimap<std::string_view, size_t> by_name_;
};

// A sub-graph: its nodes, and the values at its border.
struct Subgraph {
  std::string name;
  std::vector<size_t> nodes;                // rising
  std::vector<std::string> relative_names;  // of the nodes, as they are known inside
  std::vector<std::string> inputs, outputs;
};

// The nodes of an instance of a scope, rising, and the part of their names that stands for the scope.
struct ScopeMembers {
  std::string scope;
  std::vector<size_t> nodes;
  std::vector<std::string> relative_names;
  std::optional<size_t> ragged;  // a node in whose name the scope ends in the middle of a part
};
ScopeMembers scope_members(const RawIndex& index, const Pattern& instance);

// Nothing found: a reason goes into `missed`. Throws where entry and model contradict each other.
bool find_scope(const RawIndex& index, const Replacement& r, const Pattern& instance, Subgraph& out,
                std::vector<std::string>& missed);
bool find_points(const RawIndex& index, const Replacement& r, Subgraph& out, std::vector<std::string>& missed);

}  // namespace graft
