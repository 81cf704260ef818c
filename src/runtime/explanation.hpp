// What the explanations of all devices have in common.
#pragma once

#include <graft/app/explain.hpp>

#include "graph/graph.hpp"

namespace graft {

// Sets the inputs and results of an explanation from the graph that runs.
inline void add_ports(Explanation& e, const Graph& g) {
  for (NodeId id : g.parameters()) e.inputs.push_back(g[id].name);
  for (NodeId id : g.results()) e.results.emplace_back(g[id].name, g[g[id].inputs[0].node].name);
}

}  // namespace graft
