// Calls of a model's own functions: their layers, as the caller sees them.
#pragma once

#include "readers/raw.hpp"

namespace graft {

// The layers of a function under names of their own ("call/layer") and with the caller's fields put in: an ordinary
// list.
struct CalledFunction {
  std::vector<RawNode> nodes;
  std::vector<std::string> outputs;  // what each output of the call is inside; one that no node makes is an input
};
// `number` tells this call from all others of the model.
CalledFunction called_function(const RawNode& call, const RawFunction& function, size_t number);
// Layers that a call brings in, those of sub-graphs included.
size_t layers_of(const RawFunction& function);

// A copy of a sub-graph in which every name that it makes itself has `prefix` before it.
RawGraph renamed_body(const RawGraph& body, const std::string& prefix);

// Puts the layers of functions in the place of their calls, so that they can be named. Functions that are written for
// other versions of operations than the model stay calls.
void inline_calls(RawModel& model, int max_depth, size_t max_layers);

}  // namespace graft
