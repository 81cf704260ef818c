// Variables of a graph and their values in a checkpoint.
#pragma once

#include "readers/tensor_bundle.hpp"
#include "readers/tensorflow_graph.hpp"

namespace graft {

// Gives every variable of the graph that the checkpoint has a field "value". Which entry is whose stands in the part of
// the graph that restores it; a variable without such a part is looked up by its name, and in the checkpoint's list of
// objects.
void fill_variables(TensorFlowGraph& graph, TensorBundle& checkpoint);

}  // namespace graft
