// Converts a node specification of a rule or pass from its ABI form to a node.
#pragma once

#include "graph/graph.hpp"
#include "schema/registry.hpp"

namespace graft {

inline graft_ref ref_of(ValueId v) { return v.present() ? (static_cast<graft_ref>(v.node) + 1) << 20 | v.port : 0; }
inline ValueId value_of(graft_ref r) {
  return r > 0 ? ValueId{static_cast<NodeId>((r >> 20) - 1), static_cast<uint32_t>(r & 0xfffff)} : ValueId{};
}
// The value of a reference; throws when it does not exist.
ValueId checked_value(const Graph& graph, graft_ref ref);

// All outputs of the node that has this value.
std::vector<graft_ref> output_refs(const Graph& graph, ValueId v);

// Types and shapes of the outputs, for an operation that no definition may know; none: its definition infers them.
std::vector<Info> given_infos(const graft_new_node& spec);
std::string given_name(const graft_new_node& spec);  // empty: none

// Sets type, opset, inputs and attributes, and the number of outputs if the operation has any number of them; the
// caller sets the bodies.
Node new_node(const Registry& registry, const Graph& graph, const graft_new_node& spec, size_t outputs);

}  // namespace graft
