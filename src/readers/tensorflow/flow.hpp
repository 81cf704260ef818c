// Branches of TensorFlow 1: Switch and Merge.
#pragma once

#include "readers/tensorflow/graph.hpp"

namespace graft {

// A Merge of two branches becomes a selection: type "Merge", domain "graft", inputs condition, value if true, value if
// false; or, where the condition is a constant, an Identity of the branch that is taken. Every Switch becomes an
// Identity. Merges of loops stay as they are.
void resolve_branches(std::vector<TensorFlowNode>& nodes);

}  // namespace graft
