// Nodes that call functions: calls, While, If.
#pragma once

#include <unordered_map>

#include "readers/tensorflow/graph.hpp"

namespace graft {

using TensorFlowFunctions = std::unordered_map<std::string, const TensorFlowFunction*>;

// A call becomes a node of the function's own type. While and If become "Loop" and "If" of the domain "graft", with
// graphs that call the functions; a loop also evaluates its condition once before it. Other nodes stay as they are.
std::vector<RawNode> expand_calls(RawNode node, const TensorFlowFunctions& functions);

}  // namespace graft
