// Inlining of calls to a model's own functions.
#pragma once

#include <set>

#include "readers/raw.hpp"

namespace graft {

// The layers of a function, renamed to be unique ("call/layer") and with the caller's fields substituted: an ordinary
// list.
struct CalledFunction {
  std::vector<RawNode> nodes;
  std::vector<std::string> outputs;  // the inner value of each output of the call; one without a producer is an input
};
// `number` tells this call from all others of the model.
CalledFunction called_function(const RawNode& call, const RawFunction& function, size_t number);
// The number of layers that calls and sub-graphs of this model may bring in: the limit, and 16 per layer of the file.
size_t most_inlined(const RawModel& model, const Limits& limits);
// Layers that a call brings in, those of sub-graphs included.
size_t layers_of(const RawFunction& function);

// Names that a sub-graph captures from outside; names that it defines itself shadow outer ones.
void outer_reads(const RawGraph& g, std::set<std::string>& reads);
// Makes a sub-graph capture another value.
void rename_outer(RawGraph& g, const std::string& from, const std::string& to);

// A copy of a sub-graph in which every name that it makes itself has `prefix` before it.
RawGraph renamed_body(const RawGraph& body, const std::string& prefix);

// Replaces calls by the layers of their functions, so that these can be referred to by name. Functions that use other
// opset versions than the model stay calls.
void inline_calls(RawModel& model, const Limits& limits);

}  // namespace graft
