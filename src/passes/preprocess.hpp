// Preprocessing that is inserted before a model's own layers: functions on a graph, called between import and the
// passes, which then merge the new nodes where possible (Preprocessing in graft/app/convert.hpp).
#pragma once

#include <graft/app/convert.hpp>
#include <optional>

#include "graph/graph.hpp"
#include "schema/registry.hpp"

namespace graft {

// What the user asks for, and what it depends on in the model.
struct Preprocess : Preprocessing {
  bool channels_last = false;  // of inputs of rank 4 and more without a given layout
  // Inputs in the user's order: the name as written, and the nodes. None: the model's order.
  std::vector<std::pair<std::string, std::vector<std::string>>> order;
};

// Applies everything and returns warnings. Throws RequestError if the request does not fit the model.
std::vector<std::string> preprocess(Graph& graph, const Registry& registry, const Preprocess& request);

// ---- the parts ----

// The Parameter with this name.
NodeId find_input(const Graph& graph, const Preprocess& request, const std::string& name, std::string_view option);
// The Result of an output by any of its names; none if there is none.
std::optional<NodeId> find_result(const Graph& graph, const std::string& name);
// The channel dimension of an input, if it has one.
std::optional<size_t> channel_axis(const Graph& graph, const Preprocess& request, NodeId input);

void add_mean_and_scale(Graph& graph, const Registry& registry, const Preprocess& request,
                        std::vector<std::string>& warnings);
// Reverses the channels of every input with four dimensions and three channels, and merges the reversal into the layers
// that follow where possible; otherwise a Gather remains.
void reverse_channels(Graph& graph, const Registry& registry, const Preprocess& request,
                      std::vector<std::string>& warnings);
// Changes the layout of inputs and outputs: a Transpose after the input or before the output. Annotates the inputs.
void change_layouts(Graph& graph, const Registry& registry, const Preprocess& request);
// The entries of a layout for a value of this rank, with "..." expanded. None if they do not fit.
std::optional<std::vector<std::string>> layout_for(const std::vector<std::string>& layout, size_t rank);

}  // namespace graft
