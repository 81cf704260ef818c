// Inputs and outputs of a model as state, and recurrent layers that keep theirs between runs: the reverse of
// remove_memory.hpp. Called before the passes.
#pragma once

#include <graft/app/convert.hpp>

#include "graph/graph.hpp"
#include "schema/registry.hpp"

namespace graft {

// Each input becomes a variable that is assigned the output at the end of a run; both leave the model. The first value
// is zeros. Throws RequestError if a pair does not fit the model.
void make_stateful(Graph& graph, const Registry& registry,
                   const std::vector<std::pair<std::string, std::string>>& pairs);

// Recurrent sequences, loops and iterators go on in the next run with the state of the run before. Returns warnings.
std::vector<std::string> keep_recurrent_state(Graph& graph, const Registry& registry, bool from_zeros);

}  // namespace graft
