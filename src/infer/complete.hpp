// From a graph as it is written to one that can be worked with.
#pragma once

#include "graph/graph.hpp"
#include "infer/inference.hpp"
#include "schema/registry.hpp"
#include "schema/resolve.hpp"

namespace graft {

// Looks up every operation (the newest version where none is named), brings attributes into the schema's form, and
// infers types and shapes. Declared outputs must agree with the inferred ones. Throws on the first thing that does not
// fit.
void complete(Graph& graph, const Registry& registry, Extras extras = Extras::refuse, FoldLimits limits = {});

}  // namespace graft
