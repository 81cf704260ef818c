// Convolution, Deconvolution, their deformable forms, and UpSampling.
#include "mxnet/building.hpp"
#include "window_limits.hpp"

namespace graft {
namespace {

struct MxnetConvolution {
  int64_t outputs, groups;
  std::vector<int64_t> kernel, strides, pads, dilations;
  mx::Layout layout;

  std::vector<NamedAttr> attributes() const {
    return {{"strides", strides}, {"pads_begin", pads}, {"pads_end", pads}, {"dilations", dilations}};
  }
};

MxnetConvolution mxnet_convolution(Builder& layer) {
  MxnetConvolution c;
  c.layout = mx::Layout::of(layer);
  c.kernel = mx::ints(layer, "kernel");
  size_t axes = c.kernel.size();
  if (axes < 1 || axes > 3) fail("expected 1 to 3 values of 'kernel', got ", axes);
  if (c.layout.rank && c.layout.rank != axes + 2)
    fail("expected a layout of ", axes + 2, " letters, got ", c.layout.rank);
  c.kernel = mx::windows(layer, "kernel", axes, 1, 1);
  c.strides = mx::windows(layer, "stride", axes, 1, 1);
  c.pads = mx::windows(layer, "pad", axes, 0, 0);
  c.dilations = mx::windows(layer, "dilate", axes, 1, 1);
  c.outputs = layer.get<int64_t>("num_filter");
  if (c.outputs < 1 || c.outputs > 1 << 30) fail("expected 'num_filter' of 1 to ", 1 << 30, ", got ", c.outputs);
  c.groups = mx::int_or(layer, "num_group", 1);
  if (c.groups < 1 || c.outputs % c.groups)
    fail("expected a positive 'num_group' that divides num_filter ", c.outputs, ", got ", c.groups);
  return c;
}

// [filters, channels per group, ...] with the groups as an axis of their own.
Value mxnet_filters(const MxnetConvolution& c, const Value& weights, bool backwards) {
  if (c.groups == 1) return weights;
  std::vector<int64_t> dims{c.groups};
  int64_t each = c.outputs / c.groups;
  if (backwards) dims.push_back(-1), dims.push_back(each);
  else dims.push_back(each), dims.push_back(-1);
  dims.insert(dims.end(), c.kernel.begin(), c.kernel.end());
  return reshape(weights, dims);
}

Value mxnet_with_bias(Builder& layer, const MxnetConvolution& c, const Value& y, size_t input, bool no_bias) {
  if (mx::bool_or(layer, "no_bias", no_bias)) return y;
  return y + mx::per_channel(layer.input(input), c.kernel.size() + 2);
}

Value import_mxnet_convolution(Builder& layer) {
  MxnetConvolution c = mxnet_convolution(layer);
  Value x = c.layout.channels_first(layer.input(0));
  Value w = mxnet_filters(c, c.layout.channels_first(layer.input(1)), false);
  Value y = layer.op(c.groups == 1 ? "Convolution" : "GroupConvolution", {x, w}, c.attributes());
  return c.layout.as_before(mxnet_with_bias(layer, c, y, 2, false));
}

// Padding so that the result has the size of 'target_shape'; returns what is added again at the end.
std::vector<int64_t> mxnet_pads_for(MxnetConvolution& c, const std::vector<int64_t>& target, const Shape& x) {
  std::vector<int64_t> adjust;
  for (size_t i = 0; i < target.size(); ++i) {
    if (!x.ranked() || x.rank() != target.size() + 2 || !x[i + 2].known())
      needs_shape("'target_shape' requires the size of the input, got shape ", x);
    int64_t whole = spread_extent(x[i + 2], c.kernel[i], c.strides[i], c.dilations[i]).max();
    if (target[i] < 1 || target[i] > whole) fail("expected 'target_shape' of 1 to ", whole, ", got ", target[i]);
    c.pads[i] = (whole - target[i] + 1) / 2;
    adjust.push_back((whole - target[i]) % 2);
  }
  return adjust;
}

Value import_mxnet_deconvolution(Builder& layer) {
  MxnetConvolution c = mxnet_convolution(layer);
  Value x = c.layout.channels_first(layer.input(0));
  std::vector<int64_t> adjust = mx::windows(layer, "adj", c.kernel.size(), 0, 0),
                       target = mx::windows(layer, "target_shape", c.kernel.size(), 0, 0);
  if (std::any_of(target.begin(), target.end(), [](int64_t t) { return t > 0; }))
    adjust = mxnet_pads_for(c, target, x.shape());
  std::vector<NamedAttr> attrs = c.attributes();
  attrs.push_back({"output_padding", adjust});
  Value w = mxnet_filters(c, c.layout.channels_first(layer.input(1)), true);
  Value y =
      layer.op(c.groups == 1 ? "ConvolutionBackpropData" : "GroupConvolutionBackpropData", {x, w}, std::move(attrs));
  return c.layout.as_before(mxnet_with_bias(layer, c, y, 2, true));
}

// Inputs: data, offsets, (modulated: mask,) weights, bias.
Value mxnet_deformable(Builder& layer, bool modulated) {
  MxnetConvolution c = mxnet_convolution(layer);
  if (c.layout.channels_last) unsupported("channels as the last axis are not supported");
  size_t first = modulated ? 3 : 2;
  std::vector<NamedAttr> attrs = c.attributes();
  attrs.push_back({"group", c.groups});
  attrs.push_back({"deformable_group", mx::int_or(layer, "num_deformable_group", 1)});
  attrs.push_back({"bilinear_interpolation_pad", modulated});  // positions outside: zeros, or not used
  std::vector<Value> inputs{layer.input(0), layer.input(1), layer.input(first)};
  if (modulated) inputs.push_back(layer.input(2));
  return mxnet_with_bias(layer, c, layer.op("DeformableConvolution@8", inputs, std::move(attrs)), first + 1, false);
}
Value import_mxnet_deformable_convolution(Builder& layer) { return mxnet_deformable(layer, false); }
Value import_mxnet_modulated_convolution(Builder& layer) { return mxnet_deformable(layer, true); }

// ---- UpSampling ----

Value mxnet_nearest(Builder& layer, const Value& x, int64_t scale) {
  return layer.op(
      "Interpolate@11",
      {x, layer.constant<float>({static_cast<float>(scale), static_cast<float>(scale)}, {2}), layer.ints({2, 3})},
      {{"mode", "nearest"},
       {"shape_calculation_mode", "scales"},
       {"coordinate_transformation_mode", "asymmetric"},
       {"nearest_mode", "floor"}});
}

// The second input has the weights of a deconvolution with one filter per channel.
Value mxnet_bilinear(Builder& layer, int64_t scale) {
  int64_t kernel = 2 * scale - scale % 2, pad = scale / 2;
  Value w = layer.input(1);
  std::vector<int64_t> pads(2, pad), strides(2, scale);
  return layer.op(
      "GroupConvolutionBackpropData", {layer.input(0), reshape(w, {-1, 1, 1, kernel, kernel})},
      {{"strides", strides}, {"pads_begin", pads}, {"pads_end", pads}, {"dilations", std::vector<int64_t>(2, 1)}});
}

Value import_mxnet_up_sampling(Builder& layer) {
  auto scale = mx::ints(layer, "scale");
  if (scale.size() != 1 || scale[0] < 1 || scale[0] > 1000) fail("expected one 'scale' of 1 to 1000, got ", scale);
  std::string type = layer.get<std::string>("sample_type");
  layer.has("num_filter");  // the weights say it
  if (type == "bilinear") return mxnet_bilinear(layer, scale[0]);
  if (type != "nearest") fail("expected 'sample_type' nearest or bilinear, got '", type, "'");
  std::vector<Value> parts = mx::all_inputs(layer);
  if (parts.size() == 1) return mxnet_nearest(layer, parts[0], scale[0]);
  // All inputs are enlarged to the size that the first one gets.
  Shape first = parts[0].shape();
  for (Value& p : parts) {
    Shape s = p.shape();
    if (!first.is_static() || !s.is_static() || s.rank() != 4 || first.rank() != 4)
      needs_shape("several inputs of unknown size are not supported");
    int64_t size = first[2].value() * scale[0];
    if (s[2].value() < 1 || size % s[2].value()) fail("expected heights that divide ", size, ", got ", s[2]);
    p = mxnet_nearest(layer, p, size / s[2].value());
  }
  std::string mode = mx::word_or(layer, "multi_input_mode", "concat");
  if (mode == "concat") return build::concat(parts, 1);
  Value sum = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) sum = sum + parts[i];
  return sum;
}

}  // namespace

Definitions define_mxnet_convolution() {
  return {
      mx::rules({"Convolution", "Convolution_v1"}, import_mxnet_convolution, {"workspace", "cudnn_tune", "cudnn_off"}),
      mx::rules({"Deconvolution"}, import_mxnet_deconvolution, {"workspace", "cudnn_tune", "cudnn_off"}),
      mx::rules({"_contrib_DeformableConvolution", "DeformableConvolution"}, import_mxnet_deformable_convolution,
                {"workspace"}),
      mx::rules({"_contrib_ModulatedDeformableConvolution", "ModulatedDeformableConvolution"},
                import_mxnet_modulated_convolution, {"workspace", "im2col_step"}),
      mx::rules({"UpSampling"}, import_mxnet_up_sampling, {"workspace", "num_args"}),
  };
}

}  // namespace graft
