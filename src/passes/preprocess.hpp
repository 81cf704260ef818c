// Steps that a user wants in front of a model's own layers: plain functions on a graph, called between import and the
// passes, which then merge what they can.
//
//   user's input -> Transpose (layout) -> Gather (channel order) -> Add(-mean) -> Multiply(1/scale) -> the model
#pragma once

#include <optional>

#include "graph/graph.hpp"
#include "schema/registry.hpp"

namespace graft {

// Numbers for the channels of an input; without a name the n-th entry is for the n-th input.
struct ChannelValues {
  std::string input;
  std::vector<double> values;
};

// "NHWC", or with "..." in one place. Without a name: all inputs, or, where a target is given, inputs and outputs of
// that rank.
struct LayoutRequest {
  std::string name;
  std::vector<std::string> source, target;  // an entry per dimension: "N", "?", "..."; no target: only a remark
};

struct Preprocess {
  std::vector<ChannelValues> mean, scale;
  std::optional<double> scale_all;
  Tensor mean_image;                                      // [..., channels, height, width]
  std::optional<std::pair<int64_t, int64_t>> image_from;  // x, y where the crop begins; the middle when not said
  bool reverse_channels = false;
  std::vector<LayoutRequest> layouts;
  bool channels_last = false;  // of inputs of rank 4 and more whose layout nobody said
  // Inputs in the user's order: the name that was written, and the nodes. None: the model's order.
  std::vector<std::pair<std::string, std::vector<std::string>>> order;

  bool empty() const {
    return mean.empty() && scale.empty() && !scale_all && !mean_image && !reverse_channels && layouts.empty();
  }
};

// Does all of it and returns warnings. Throws RequestError where the request does not fit the model.
std::vector<std::string> preprocess(Graph& graph, const Registry& registry, const Preprocess& request);

// ---- the parts ----

// The Parameter that is called so.
NodeId find_input(const Graph& graph, const Preprocess& request, const std::string& name, std::string_view option);
// The dimension of an input that holds the channels, where it has one.
std::optional<size_t> channel_axis(const Graph& graph, const Preprocess& request, NodeId input);

void add_mean_and_scale(Graph& graph, const Registry& registry, const Preprocess& request,
                        std::vector<std::string>& warnings);
// Turns the channels of every input of four dimensions and three channels round, and merges that into the layers behind
// where it can; elsewhere a Gather stays.
void reverse_channels(Graph& graph, const Registry& registry, const Preprocess& request,
                      std::vector<std::string>& warnings);
// Another layout at the border: a Transpose behind the input or before the output. The given ones are noted on inputs.
void change_layouts(Graph& graph, const Registry& registry, const Preprocess& request);
// The entries of a layout for a value of this rank; "..." is filled up. None where they do not fit.
std::optional<std::vector<std::string>> layout_for(const std::vector<std::string>& layout, size_t rank);

}  // namespace graft
