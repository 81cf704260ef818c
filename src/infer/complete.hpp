// Completes a graph parsed from the textual form.
#pragma once

#include "graph/graph.hpp"
#include "infer/inference.hpp"
#include "schema/registry.hpp"
#include "schema/resolve.hpp"

namespace graft {

// Looks up every operation (the newest version where none is specified), resolves attributes against the schema, and
// infers types and shapes. Declared outputs must agree with the inferred ones. Throws at the first error.
void complete(Graph& graph, const Registry& registry, Extras extras = Extras::refuse, const Limits& limits = {});

}  // namespace graft
