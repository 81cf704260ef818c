// Is this a graph at all? What every graph keeps, whatever its operations mean.
#pragma once

#include "graph/graph.hpp"

namespace graft {

// Throws at the first thing that is not so: inputs refer to living nodes and existing outputs, names are there and
// unique, the border lists match the nodes, body maps point at existing ports, there is no cycle.
void verify(const Graph& graph);

}  // namespace graft
