// Operations that are decomposed into others.
#pragma once

#include <optional>

#include "graph/graph.hpp"
#include "kernels/context.hpp"
#include "schema/registry.hpp"

namespace graft {

// The operation's decomposition for this node and these inputs, completed. Throws when there is none or it does not
// fit.
Graph decomposition(const Registry& registry, const OpDef& op, const Node& node,
                    const std::vector<std::optional<Info>>& inputs);

// Sets `context.outputs` from the operation's shape function, or from its decomposition.
void infer_outputs(const Registry& registry, const OpDef& op, NodeContext& context);

// Replaces nodes of operations that none of these devices has a kernel for by their decompositions. Returns how many.
size_t decompose(Graph& graph, const Registry& registry, const std::vector<std::string>& devices);
// The same for all nodes of an opset whose operations have one.
size_t decompose_opset(Graph& graph, const Registry& registry, std::string_view opset);

}  // namespace graft
