// Loops of TensorFlow 1: Enter, Merge, Switch, NextIteration, Exit.
#pragma once

#include "readers/tensorflow/graph.hpp"

namespace graft {

// Every loop of the graph and its functions becomes a While with its own functions; Exit nodes pass on its outputs.
// Throws on loops that are not structured as the framework generates them.
void resolve_loops(TensorFlowGraph& graph);

}  // namespace graft
