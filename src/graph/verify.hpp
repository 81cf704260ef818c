// Verifies the structural invariants of a graph, independent of its operations.
#pragma once

#include "graph/graph.hpp"

namespace graft {

// Throws at the first violation: inputs refer to living nodes and existing outputs, names are non-empty and unique,
// the lists of inputs and outputs match the nodes, port maps of bodies refer to existing ports, there is no cycle.
void verify(const Graph& graph);

}  // namespace graft
