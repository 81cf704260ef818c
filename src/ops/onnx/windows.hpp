// Window attributes of ONNX layers.
#pragma once

#include "window_limits.hpp"

namespace graft {

struct LayerWindows {
  std::vector<int64_t> kernel, strides, dilations, pads_begin, pads_end;
  std::string auto_pad = "explicit";

  bool padded() const {
    auto some = [](const std::vector<int64_t>& pads) {
      return std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p != 0; });
    };
    return auto_pad.starts_with("same") || some(pads_begin) || some(pads_end);
  }
  std::vector<NamedAttr> attributes() const {
    return {{"strides", strides},
            {"dilations", dilations},
            {"pads_begin", pads_begin},
            {"pads_end", pads_end},
            {"auto_pad", auto_pad}};
  }
};

// The number of spatial axes, from the first source that tells it.
inline size_t spatial_axes(Builder& layer, std::initializer_list<Value> ranked) {
  if (layer.has("kernel_shape")) return layer.get<std::vector<int64_t>>("kernel_shape").size();
  for (const Value& v : ranked) {
    Shape s = v.shape();
    if (s.ranked() && s.rank() >= 2) return s.rank() - 2;
  }
  needs_shape("the number of spatial axes is unknown, but this conversion requires it");
}

inline LayerWindows layer_windows(Builder& layer, size_t axes) {
  LayerWindows w;
  auto list = [&](std::string_view name, int64_t fallback) {
    auto v = layer.get<std::vector<int64_t>>(name, {});
    if (v.empty()) v.assign(axes, fallback);
    if (v.size() != axes) fail("expected ", axes, " values in '", name, "', one per spatial axis, got ", v.size());
    within_limits(name, v);
    return v;
  };
  if (layer.has("kernel_shape")) w.kernel = list("kernel_shape", 1);
  w.strides = list("strides", 1);
  w.dilations = list("dilations", 1);
  auto mode = layer.get<std::string>("auto_pad", "NOTSET");
  if (mode == "SAME_UPPER") w.auto_pad = "same_upper";
  else if (mode == "SAME_LOWER") w.auto_pad = "same_lower";
  else if (mode == "VALID") w.auto_pad = "valid";
  else if (mode != "NOTSET" && !mode.empty())
    fail("expected auto_pad NOTSET, SAME_UPPER, SAME_LOWER or VALID, got '", mode, "'");
  auto pads = layer.get<std::vector<int64_t>>("pads", {});
  if (w.auto_pad != "explicit" || pads.empty()) pads.assign(2 * axes, 0);
  if (pads.size() == axes) pads.insert(pads.end(), pads.begin(), pads.end());  // some files give one side only
  if (pads.size() != 2 * axes)
    fail("expected ", 2 * axes, " values in 'pads' for ", axes, " spatial axes, got ", pads.size());
  within_limits("pads", pads);
  auto middle = pads.begin() + static_cast<std::ptrdiff_t>(axes);
  w.pads_begin.assign(pads.begin(), middle);
  w.pads_end.assign(middle, pads.end());
  return w;
}

// One value per channel, reshaped to broadcast against [N, C, spatial...].
inline Value by_channel(const Value& v, size_t spatial) {
  if (spatial > 62) fail("expected an input of rank 2 or more");
  std::vector<int64_t> dims(spatial + 2, 1);
  dims[1] = -1;
  return reshape(v, dims);
}

// Weights [C, ...] as [groups, C / groups, ...].
Value grouped_weights(Builder& layer, Value w, int64_t groups);
// Convolution of x [N, C, ...] with weights [O, C / group, ...], without bias.
Value layer_convolution(Builder& layer, Value x, Value weights);
// f of a value whose channels are the second axis.
template <class F>
Value with_channels_second(const Value& x, bool channels_last, F f) {
  if (!channels_last) return f(x);
  auto rank = static_cast<int64_t>(x.rank());
  std::vector<int64_t> to{0, rank - 1}, back{0};
  for (int64_t i = 1; i < rank - 1; ++i) to.push_back(i), back.push_back(i + 1);
  back.push_back(1);
  return transpose(f(transpose(x, to)), back);
}
// The activation that FusedConv and FusedGemm apply to their result.
Value layer_activation(Builder& layer, Value x, const std::string& name, const std::vector<float>& parameters);
// AveragePool and MaxPool with the windows of the layer.
Value layer_average_pool(Builder& layer, Value x);
std::vector<Value> layer_max_pool(Builder& layer, Value x);

}  // namespace graft
