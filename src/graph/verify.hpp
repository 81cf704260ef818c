// Verifies the structural invariants of a graph, independent of its operations.
#pragma once

#include "graph/graph.hpp"

namespace graft {

enum class Bodies { too, left_alone };

// Throws at the first violation: inputs refer to living nodes and existing outputs, names are non-empty and unique,
// the lists of inputs and outputs match the nodes, port maps of bodies refer to existing ports, there is no cycle. File
// readers call it before inference.
void verify(const Graph& graph, Bodies bodies = Bodies::too);

}  // namespace graft
