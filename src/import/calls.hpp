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
CalledFunction called_function(const RawNode& call, const RawFunction& function);

// A copy of a sub-graph in which every name that it makes itself has `prefix` before it.
RawGraph renamed_body(const RawGraph& body, const std::string& prefix);

// Puts the layers of functions in the place of their calls, so that they can be named. Functions that are written for
// other versions of operations than the model stay calls.
void inline_calls(RawModel& model, int max_depth, size_t max_layers);

}  // namespace graft
