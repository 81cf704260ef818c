// What a rule or a pass asks for at the border, as a node.
#pragma once

#include "graph/graph.hpp"
#include "schema/registry.hpp"

namespace graft {

inline graft_ref ref_of(ValueId v) { return v.present() ? (static_cast<graft_ref>(v.node) + 1) << 20 | v.port : 0; }
inline ValueId value_of(graft_ref r) {
  return r > 0 ? ValueId{static_cast<NodeId>((r >> 20) - 1), static_cast<uint32_t>(r & 0xfffff)} : ValueId{};
}
// The value behind a reference; throws when the graph has none.
ValueId checked_value(const Graph& graph, graft_ref ref);

// A tensor of the border, as one of our own.
Tensor copy_of(const graft_tensor& t);

// Type, opset, inputs and attributes; the bodies are the caller's.
Node new_node(const Registry& registry, const Graph& graph, const graft_new_node& spec);

}  // namespace graft
