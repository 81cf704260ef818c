// Internals of the replacements: matching sub-graphs.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "import/replace.hpp"

namespace graft {

// The nodes of a graph by name, and the producer and consumers of each value.
class RawIndex {
 public:
  explicit RawIndex(const RawGraph& graph);

  const RawGraph& graph;
  struct Port {
    size_t node, port;
  };
  // The display name of a node: its own, or that of its output.
  const std::string& name(size_t node) const { return *names_[node]; }
  const Port* maker(const std::string& value) const;
  const std::vector<Port>& readers(const std::string& value) const;  // port SIZE_MAX: inside a graph of the node
  bool is_input(const std::string& value) const { return inputs_.count(value) > 0; }
  bool is_output(const std::string& value) const { return outputs_.count(value) > 0; }
  const Tensor* constant(const std::string& value) const;
  std::vector<size_t> called(const std::string& name) const;
  std::vector<size_t> matching(const Pattern& pattern) const;
  // "; the closest is 'x'", or nothing.
  std::string near(const std::string& name) const;

 private:
  std::vector<const std::string*> names_;
  std::unordered_map<std::string_view, Port> makers_;
  std::unordered_map<std::string_view, std::vector<Port>> readers_;
  std::unordered_set<std::string_view> inputs_, outputs_;
  std::unordered_map<std::string_view, const Tensor*> constants_;
  std::unordered_multimap<std::string_view, size_t> by_name_;
};

// A sub-graph: its nodes, inputs and outputs.
struct Subgraph {
  std::string name;
  std::vector<size_t> nodes;                // rising
  std::vector<std::string> relative_names;  // of the nodes, relative to the scope
  std::vector<std::string> inputs, outputs;
};

// The nodes of an instance of a scope, ascending, and the part of their names that is the scope.
struct ScopeMembers {
  std::string scope;
  std::vector<size_t> nodes;
  std::vector<std::string> relative_names;
  std::optional<size_t> ragged;  // a node in whose name the scope ends in the middle of a part
};
ScopeMembers scope_members(const RawIndex& index, const Pattern& instance);

// Without a match, adds the reason to `missed`. Throws if entry and model contradict each other.
bool find_scope(const RawIndex& index, const Replacement& r, const Pattern& instance, Subgraph& out,
                std::vector<std::string>& missed);
bool find_points(const RawIndex& index, const Replacement& r, Subgraph& out, std::vector<std::string>& missed);

}  // namespace graft
