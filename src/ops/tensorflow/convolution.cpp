// Conv2D, Conv3D, depthwise and transposed convolutions.
#include <graft/op.hpp>

#include "layout.hpp"

namespace graft {
namespace {

std::vector<int64_t> tf_filter_order(size_t spatial) {  // [y, x, in, out] -> [out, in, y, x]
  std::vector<int64_t> order{static_cast<int64_t>(spatial) + 1, static_cast<int64_t>(spatial)};
  for (size_t i = 0; i < spatial; ++i) order.push_back(static_cast<int64_t>(i));
  return order;
}

std::vector<NamedAttr> tf_windows(Builder& layer, const tf::Layout& layout) {
  tf::Padding pads = tf::padding(layer, layout);
  return {{"strides", layout.part(layer, "strides", 1)},
          {"dilations", layout.part(layer, "dilations", 1)},
          {"pads_begin", pads.begin},
          {"pads_end", pads.end},
          {"auto_pad", pads.mode}};
}

Value tf_convolve(Builder& layer, const tf::Layout& layout, Value x, Value filter) {
  layer.has("use_cudnn_on_gpu");
  std::vector<NamedAttr> windows = tf_windows(layer, layout);
  Value w = transpose(filter, tf_filter_order(layout.spatial()));
  Shape in = x.shape(), ws = w.shape();
  int64_t groups = 1;
  if (in.ranked() && ws.ranked() && in.rank() > 1 && in[1].known() && ws[1].known() && ws[1].value() > 0) {
    if (in[1].value() % ws[1].value() != 0)
      fail("expected ", ws[1], " channels in the data to match the filter of shape ", filter.shape(), ", got ", in[1]);
    groups = in[1].value() / ws[1].value();
  }
  if (groups <= 1) return layer.op("Convolution", {x, w}, windows);
  std::vector<int64_t> target{groups, -1};
  for (size_t i = 1; i < ws.rank(); ++i) {
    if (!ws[i].known()) unsupported("the shape of the filter is unknown, but this conversion requires it");
    target.push_back(ws[i].value());
  }
  return layer.op("GroupConvolution", {x, reshape(w, target)}, windows);
}

template <size_t spatial>
Value tf_conv(Builder& layer) {
  tf::Layout layout(layer, spatial);
  return layout.out(tf_convolve(layer, layout, layout.in(layer.input(0)), layer.input(1)));
}

// The filter is [y, x, channels, multiplier].
Value tf_depthwise(Builder& layer) {
  tf::Layout layout(layer, 2);
  std::vector<NamedAttr> windows = tf_windows(layer, layout);
  Value w = transpose(layer.input(1), {2, 3, 0, 1});
  return layout.out(layer.op("GroupConvolution", {layout.in(layer.input(0)), unsqueeze(w, {2})}, windows));
}

// Inputs are input_sizes (the output shape), filter [y, x, out, in] and data.
template <size_t spatial>
Value tf_conv_backprop(Builder& layer) {
  layer.has("use_cudnn_on_gpu");
  tf::Layout layout(layer, spatial);
  tf::Padding pads = tf::padding(layer, layout);
  Value x = layout.in(layer.input(2));
  Value w = transpose(layer.input(1), tf_filter_order(spatial));
  std::vector<int64_t> strides = layout.part(layer, "strides", 1), dilations = layout.part(layer, "dilations", 1);
  auto first = static_cast<int64_t>(layout.first());
  std::optional<Shape> wanted = layer.input(0).known();
  Shape in = x.shape(), ws = w.shape();
  if (wanted && wanted->rank() == spatial) first = 0;  // only spatial sizes
  if (in.ranked() && in.rank() != spatial + 2) fail("expected data of rank ", spatial + 2, ", got shape ", in);
  bool known = wanted && in.ranked() && ws.ranked() && ws.rank() == spatial + 2 &&
               wanted->rank() >= static_cast<size_t>(first) + spatial;
  std::vector<int64_t> begin(spatial, 0), end(spatial, 0), behind(spatial, 0);
  for (size_t i = 0; known && i < spatial; ++i) {
    const Dim out = (*wanted)[static_cast<size_t>(first) + i];
    known = out.known() && in[i + 2].known() && ws[i + 2].known();
    if (!known) break;
    // Padding on either side is what the unpadded output has in excess; a deficit becomes output padding.
    int64_t extra = spread_extent(in[i + 2], ws[i + 2], strides[i], dilations[i]).max() - out.value();
    if (pads.mode == "explicit") {
      begin[i] = pads.begin[i];
      end[i] = extra - begin[i];
    } else if (extra > 0) {
      begin[i] = extra / 2;
      end[i] = extra - begin[i];
    } else {
      behind[i] = -extra;
    }
    if (end[i] < 0) behind[i] = -end[i], end[i] = 0;
  }
  if (known)
    return layout.out(layer.op("ConvolutionBackpropData", {x, w},
                               {{"strides", strides},
                                {"dilations", dilations},
                                {"pads_begin", begin},
                                {"pads_end", end},
                                {"auto_pad", "explicit"},
                                {"output_padding", behind}}));
  if (pads.mode == "explicit") unsupported("explicit padding requires known sizes");
  Value sizes = build::slice(convert(layer.input(0), DType::i64), 0, first, first + static_cast<int64_t>(spatial));
  // With an odd excess, the extra element is removed at the end, which is "same_lower" in the transposed direction.
  return layout.out(layer.op("ConvolutionBackpropData", {x, w, sizes},
                             {{"strides", strides},
                              {"dilations", dilations},
                              {"pads_begin", begin},
                              {"pads_end", end},
                              {"auto_pad", pads.mode == "valid" ? "valid" : "same_lower"}}));
}

// image, size, paddings, filter: resize, mirror-pad at the borders, convolve.
Value tf_resize_pad_convolve(Builder& layer, Value image, const Value& paddings, const Value& filter) {
  layer.has("resize_align_corners");
  Value pairs = transpose(convert(paddings, DType::i64), {1, 0});
  std::vector<Value> sides = build::split(pairs, 0, 2);
  Value padded = layer.op("Pad@1", {image, reshape(sides[0], {-1}), reshape(sides[1], {-1})},
                          {{"pad_mode", layer.get<std::string>("mode") == "SYMMETRIC" ? "symmetric" : "reflect"}});
  tf::Layout layout(layer, 2);
  return layout.out(tf_convolve(layer, layout, layout.in(padded), filter));
}
Value tf_fused_pad_conv(Builder& layer) {
  return tf_resize_pad_convolve(layer, layer.input(0), layer.input(1), layer.input(2));
}
Value tf_fused_resize_pad_conv(Builder& layer) {
  bool aligned = layer.get<bool>("resize_align_corners", false);
  Value image = tf::channels_second(layer.input(0), 2);
  image = layer.op("Interpolate@11", {image, layer.input(1), layer.ints({2, 3})},
                   {{"mode", "linear_onnx"},
                    {"shape_calculation_mode", "sizes"},
                    {"coordinate_transformation_mode", aligned ? "align_corners" : "asymmetric"}});
  return tf_resize_pad_convolve(layer, tf::channels_last(image, 2), layer.input(2), layer.input(3));
}

// The steps that TensorFlow's graph optimizer fuses into a convolution or matrix product; `args` are additional inputs
// in order.
Value tf_fused_steps(Builder& layer, Value y, const tf::Layout* layout) {
  layer.has("num_args");
  size_t next = 2;
  auto by_channel = [&](const Value& v) { return layout && !layout->last() ? unsqueeze(v, {1, 2}) : v; };
  for (const std::string& step : layer.get<std::vector<std::string>>("fused_ops", {})) {
    if (step == "BiasAdd") y = y + by_channel(layer.input(next++));
    else if (step == "Add") y = y + layer.input(next++);
    else if (step == "Relu" || step == "Elu" || step == "Sigmoid" || step == "Tanh") {
      y = step == "Elu" ? layer.op("Elu", {y}, {{"alpha", 1.0}}) : layer.op(step, {y});
    } else if (step == "Relu6") y = layer.op("Clamp", {y}, {{"min", 0.0}, {"max", 6.0}});
    else if (step == "LeakyRelu")
      y = layer.op("PRelu", {y, layer.typed({layer.get<float>("leakyrelu_alpha", 0.2f)}, {1}, y.type())});
    else if (step == "FusedBatchNorm") {
      Value scale = layer.input(next), offset = layer.input(next + 1), mean = layer.input(next + 2),
            variance = layer.input(next + 3);
      next += 4;
      double epsilon = layer.get<float>("epsilon", 1e-4f);
      Value x = layout->in(y);
      y = layout->out(layer.op("BatchNormInference@5", {x, scale, offset, mean, variance}, {{"epsilon", epsilon}}));
    } else unsupported("the fused step '", step, "' is not supported");
  }
  return y;
}
Value tf_fused_conv(Builder& layer) {
  tf::Layout layout(layer, 2);
  Value y = layout.out(tf_convolve(layer, layout, layout.in(layer.input(0)), layer.input(1)));
  return tf_fused_steps(layer, y, &layout);
}
Value tf_fused_depthwise(Builder& layer) {
  tf::Layout layout(layer, 2);
  return tf_fused_steps(layer, tf_depthwise(layer), &layout);
}
Value tf_fused_matmul(Builder& layer) {
  Value y = build::matmul(layer.input(0), layer.input(1), layer.get<bool>("transpose_a", false),
                          layer.get<bool>("transpose_b", false));
  for (const std::string& step : layer.get<std::vector<std::string>>("fused_ops", {}))
    if (step == "FusedBatchNorm") unsupported("the fused step '", step, "' after a matrix product is not supported");
  return tf_fused_steps(layer, y, nullptr);
}

}  // namespace

Definitions define_tensorflow_convolution() {
  return {
      tensorflow("_FusedConv2D").expand(tf_fused_conv),
      tensorflow("_FusedDepthwiseConv2dNative").expand(tf_fused_depthwise),
      tensorflow("_FusedMatMul").expand(tf_fused_matmul),
      tensorflow("Conv2D").expand(tf_conv<2>),
      tensorflow("Conv3D").expand(tf_conv<3>),
      tensorflow("DepthwiseConv2dNative").expand(tf_depthwise),
      tensorflow("Conv2DBackpropInput").expand(tf_conv_backprop<2>),
      tensorflow("Conv3DBackpropInputV2").expand(tf_conv_backprop<3>),
      tensorflow("FusedPadConv2D").expand(tf_fused_pad_conv),
      tensorflow("FusedResizeAndPadConv2D").expand(tf_fused_resize_pad_conv),
  };
}

}  // namespace graft
