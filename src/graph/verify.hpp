// Whether a graph is well-formed: what every later stage takes for granted.
#pragma once

#include "graph/graph.hpp"

namespace graft {

enum class Bodies { too, left_alone };

// Refuses a graph with dangling inputs, duplicate names, cycles, or bodies whose port maps lead to ports that are not
// there. A file reader calls it before anything is inferred from the graph.
void verify(const Graph& graph, Bodies bodies = Bodies::too);

}  // namespace graft
