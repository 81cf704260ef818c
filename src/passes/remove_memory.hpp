// State as inputs and outputs of a model.
#pragma once

#include "graph/graph.hpp"

namespace graft {

// Each variable (a ReadValue and an Assign) becomes an input and an output, which the application connects from run to
// run. Gives a sentence for each pair.
std::vector<std::string> remove_memory(Graph& graph);

}  // namespace graft
