// Preprocessing that is inserted before a model's own layers: functions on a graph, called between import and the
// passes, which then merge the new nodes where possible.
//
//   user's input -> Transpose (layout) -> Gather (channel order) -> Add(-mean) -> Multiply(1/scale) -> the model
#pragma once

#include <optional>

#include "graph/graph.hpp"
#include "schema/registry.hpp"

namespace graft {

// Values for the channels of an input; without a name, the n-th entry is for the n-th input.
struct ChannelValues {
  std::string input;
  std::vector<double> values;
};

// "NHWC", or with "..." in one place. Without a name: all inputs, or, where a target is given, inputs and outputs of
// that rank.
struct LayoutRequest {
  std::string name;
  std::vector<std::string> source,
      target;  // one entry per dimension: "N", "?", "..."; no target: only annotates the input
};

struct Preprocess {
  std::vector<ChannelValues> mean, scale;
  std::optional<double> scale_all;
  Tensor mean_image;                                      // [..., channels, height, width]
  std::optional<std::pair<int64_t, int64_t>> image_from;  // x, y where the crop begins; centered by default
  bool reverse_channels = false;
  std::vector<LayoutRequest> layouts;
  bool channels_last = false;  // of inputs of rank 4 and more without a given layout
  // Inputs in the user's order: the name as written, and the nodes. None: the model's order.
  std::vector<std::pair<std::string, std::vector<std::string>>> order;

  bool empty() const {
    return mean.empty() && scale.empty() && !scale_all && !mean_image && !reverse_channels && layouts.empty();
  }
};

// Applies everything and returns warnings. Throws RequestError if the request does not fit the model.
std::vector<std::string> preprocess(Graph& graph, const Registry& registry, const Preprocess& request);

// ---- the parts ----

// The Parameter with this name.
NodeId find_input(const Graph& graph, const Preprocess& request, const std::string& name, std::string_view option);
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
