#include <graft/op.hpp>

#include "onnx/windows.hpp"

namespace graft {
namespace {

// Distributes `total` so that the output has the requested size. Negative padding becomes output padding.
void transpose_pads(LayerWindows& w, std::vector<int64_t>& output_padding, size_t axis, int64_t total, bool upper) {
  output_padding[axis] += std::max<int64_t>(-total, 0);
  total = std::max<int64_t>(total, 0);
  w.pads_begin[axis] = upper ? total / 2 : total - total / 2;
  w.pads_end[axis] = total - w.pads_begin[axis];
}

Value import_conv_transpose(Builder& layer) {
  Value x = layer.input(0), weights = layer.input(1);
  size_t axes = spatial_axes(layer, {weights, x});
  LayerWindows windows = layer_windows(layer, axes);
  auto output_padding = layer.get<std::vector<int64_t>>("output_padding", {});
  if (output_padding.empty()) output_padding.assign(axes, 0);
  auto sizes = layer.get<std::vector<int64_t>>("output_shape", {});
  if (sizes.size() == axes + 2) sizes.erase(sizes.begin(), sizes.begin() + 2);  // some files include N and C
  for (const std::vector<int64_t>* list : {&output_padding, &sizes})
    for (int64_t v : *list)
      if (v < 0 || v > static_cast<int64_t>(window_limit))
        fail("expected 'output_padding' and 'output_shape' of at most ", static_cast<int64_t>(window_limit), ", got ",
             v);
  if (output_padding.size() != axes || (!sizes.empty() && sizes.size() != axes))
    fail("expected ", axes, " values in 'output_padding' and 'output_shape', one per spatial axis");

  Shape data = x.shape(), kernel = weights.shape();
  bool same = windows.auto_pad.starts_with("same"), upper = windows.auto_pad == "same_upper";
  Value target;
  for (size_t i = 0; i < axes && (same || !sizes.empty()); ++i) {
    Dim taps = !windows.kernel.empty() ? Dim(windows.kernel[i]) : kernel.ranked() ? kernel[i + 2] : Dim();
    Dim length = data.ranked() ? data[i + 2] : Dim();
    if (!taps.known()) unsupported("the kernel size is unknown, but this conversion requires it: set 'kernel_shape'");
    auto total = [&](const Dim& data, int64_t wanted) {
      Dim whole = spread_extent(data, taps, windows.strides[i], windows.dilations[i]) + output_padding[i];
      transpose_pads(windows, output_padding, i, whole.max() - wanted, upper);
    };
    if (sizes.empty()) total(1, windows.strides[i]);
    else if (length.known()) total(length, sizes[i]);
    else target = layer.ints(sizes);
  }
  // With an output shape input, the odd element of same_upper goes to the beginning: the opposite of ONNX.
  if (target) windows.auto_pad = upper ? "same_lower" : "same_upper";
  else if (same) windows.auto_pad = "explicit";

  std::vector<NamedAttr> attributes = windows.attributes();
  attributes.push_back({"output_padding", output_padding});
  auto groups = layer.get<int64_t>("group", 1);
  if (groups < 1) fail("expected a positive 'group', got ", groups);
  std::vector<Value> inputs{x, weights};
  if (groups != 1) inputs[1] = grouped_weights(layer, weights, groups);
  if (target) inputs.push_back(target);
  Value y = layer.op(groups == 1 ? "ConvolutionBackpropData" : "GroupConvolutionBackpropData", inputs, attributes);
  return layer.has_input(2) ? y + by_channel(layer.input(2), axes) : y;
}

}  // namespace

Definitions define_onnx_conv_transpose() {
  return onnx("ConvTranspose").rank(0, 3).rank(1, 3).expand(import_conv_transpose);
}

}  // namespace graft
