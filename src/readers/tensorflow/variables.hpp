// Variables of a graph and their values in a checkpoint.
#pragma once

#include "readers/tensorflow/graph.hpp"
#include "readers/tensorflow/tensor_bundle.hpp"

namespace graft {

// Adds a field "value" to every variable of the graph that the checkpoint contains. The restore operations of the graph
// tell which entry belongs to which variable; a variable without them is looked up by its name, and in the checkpoint's
// list of objects.
void fill_variables(TensorFlowGraph& graph, TensorBundle& checkpoint);

}  // namespace graft
