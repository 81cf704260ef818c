// Conv and its variants: FusedConv, DeformConv, DeformableConv2D.
#include <graft/op.hpp>

#include "onnx/windows.hpp"

namespace graft {

Value grouped_weights(Builder& layer, Value w, int64_t groups) {
  Shape s = w.shape();
  bool tail_known = s.ranked();
  std::vector<int64_t> target{groups, -1};
  for (size_t i = 1; tail_known && i < s.rank(); ++i) {
    tail_known = s[i].known();
    if (tail_known) target.push_back(s[i].value());
  }
  if (tail_known) return reshape(w, target);
  Value tail = layer.op("Slice", {shape_of(w), layer.ints({1}), layer.ints({INT64_MAX}), layer.ints({1})});
  return layer.op("Reshape", {w, layer.op("Concat", {layer.ints({groups, -1}), tail}, {{"axis", 0}})},
                  {{"special_zero", false}});
}

Value layer_convolution(Builder& layer, Value x, Value weights) {
  LayerWindows windows = layer_windows(layer, spatial_axes(layer, {weights, x}));
  auto groups = layer.get<int64_t>("group", 1);
  if (groups < 1) fail("expected a positive 'group', got ", groups);
  if (groups == 1) return layer.op("Convolution", {x, weights}, windows.attributes());
  Shape w = weights.shape();
  if (w.ranked() && w[0].known() && w[0].value() % groups != 0)
    fail("expected a number of output channels divisible by group ", groups, ", got ", w[0]);
  return layer.op("GroupConvolution", {x, grouped_weights(layer, weights, groups)}, windows.attributes());
}

Value layer_activation(Builder& layer, Value x, const std::string& name, const std::vector<float>& parameters) {
  auto want = [&](size_t n) {
    if (parameters.size() != n) fail("expected ", n, " parameters of activation ", name, ", got ", parameters.size());
  };
  if (name.empty()) return x;
  if (name == "Relu" || name == "Tanh" || name == "Sigmoid") return layer.op(name, {x});
  if (name == "LeakyRelu") {
    want(1);
    return layer.op("PRelu", {x, layer.typed({parameters[0]}, {1}, x.type())});
  }
  if (name == "Clip") {
    want(2);
    return layer.op("Clamp", {x}, {{"min", parameters[0]}, {"max", parameters[1]}});
  }
  if (name == "HardSigmoid") {
    want(2);
    return layer.op("HardSigmoid", {x, like(x, parameters[0]), like(x, parameters[1])});
  }
  unsupported("the activation ", name, " is not supported");
}

namespace {

Value convolution_with_bias(Builder& layer, const Value& x) {
  Value y = layer_convolution(layer, x, layer.input(1));
  return layer.has_input(2) ? y + by_channel(layer.input(2), y.rank() - 2) : y;
}
Value import_conv(Builder& layer) { return convolution_with_bias(layer, layer.input(0)); }
Value import_nhwc_conv(Builder& layer) {
  return with_channels_second(layer.input(0), true, [&](Value x) { return convolution_with_bias(layer, x); });
}

Value import_fused_conv(Builder& layer) {
  Value y = import_conv(layer);
  if (layer.has_input(3)) y = y + layer.input(3);
  return layer_activation(layer, y, layer.get<std::string>("activation", ""),
                          layer.get<std::vector<float>>("activation_params", {}));
}

Value deformable(Builder& layer, const std::vector<Value>& inputs, int64_t offset_groups, bool zeros_outside) {
  LayerWindows windows = layer_windows(layer, 2);
  std::vector<NamedAttr> attributes = windows.attributes();
  attributes.push_back({"group", layer.get<int64_t>("group", 1)});
  attributes.push_back({"deformable_group", offset_groups});
  attributes.push_back({"bilinear_interpolation_pad", zeros_outside});
  return layer.op("DeformableConvolution@8", inputs, attributes);
}
Value import_deform_conv(Builder& layer) {
  Value x = layer.input(0), weights = layer.input(1);
  if (spatial_axes(layer, {weights, x}) != 2) unsupported("deformable convolution requires 2 spatial axes");
  std::vector<Value> inputs{x, layer.input(2), weights};
  if (layer.has_input(4)) inputs.push_back(layer.input(4));
  Value y = deformable(layer, inputs, layer.get<int64_t>("offset_group", 1), true);
  return layer.has_input(3) ? y + by_channel(layer.input(3), 2) : y;
}
Value import_deformable_conv_2d(Builder& layer) {
  std::vector<Value> inputs{layer.input(0), layer.input(1), layer.input(2)};
  if (layer.has_input(3)) inputs.push_back(layer.input(3));
  return deformable(layer, inputs, layer.get<int64_t>("deformable_groups", 1), false);
}

}  // namespace

Definitions define_onnx_conv() {
  return {
      onnx("Conv").rank(0, 3).rank(1, 3).expand(import_conv),
      onnx("FusedConv").domain("com.microsoft").rank(0, 3).rank(1, 3).expand(import_fused_conv),
      onnx("NhwcConv").domain("com.microsoft").rank(0, 3).rank(1, 3).expand(import_nhwc_conv),
      onnx("DeformConv").rank(0, 4, 4).rank(1, 4, 4).expand(import_deform_conv),
      onnx("DeformableConv2D").ignore("kernel_shape").expand(import_deformable_conv_2d),
      onnx("DeformableConv2D").domain("org.openvinotoolkit").ignore("kernel_shape").expand(import_deformable_conv_2d),
  };
}

}  // namespace graft
