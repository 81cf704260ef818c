// Loops of TensorFlow 1: Enter, Merge, Switch, NextIteration, Exit.
#pragma once

#include "readers/tensorflow_graph.hpp"

namespace graft {

// Every loop of the graph and its functions becomes a While with functions of its own; Exit nodes hand on its outputs.
// Loops that are not built the way the framework builds them are refused.
void resolve_loops(TensorFlowGraph& graph);

}  // namespace graft
