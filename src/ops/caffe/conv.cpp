// Convolution, Deconvolution and InnerProduct.
#include <graft/op.hpp>

#include "caffe/building.hpp"

namespace graft {
namespace {

struct CaffeConvolution {
  int64_t outputs, groups;
  std::vector<int64_t> kernel, strides, pads, dilations;

  std::vector<NamedAttr> attributes() const {
    return {{"strides", strides}, {"pads_begin", pads}, {"pads_end", pads}, {"dilations", dilations}};
  }
};

CaffeConvolution caffe_convolution(Builder& layer, bool depthwise) {
  CaffeConvolution c;
  if (auto axis = layer.get<int64_t>("convolution_param.axis", 1); axis != 1)
    unsupported("channels along axis ", axis, " are not supported, only axis 1");
  size_t axes = 2;
  Shape x = layer.input(0).shape();
  if (x.ranked() && x.rank() >= 3) axes = x.rank() - 2;
  else if (x.ranked()) fail("expected an input of rank 3 or more, got shape ", x);
  c.outputs = layer.get<int64_t>("convolution_param.num_output");
  if (c.outputs < 1 || c.outputs > 1 << 30)
    fail("expected 'convolution_param.num_output' of 1 to ", 1 << 30, ", got ", c.outputs);
  c.groups = layer.get<int64_t>("convolution_param.group", depthwise ? c.outputs : 1);
  if (c.groups < 1 || c.outputs % c.groups)
    fail("expected a positive 'group' that divides num_output ", c.outputs, ", got ", c.groups);
  c.kernel = caffe_windows(layer, "convolution_param", "kernel_size", "kernel", axes, 0, 1);
  c.strides = caffe_windows(layer, "convolution_param", "stride", "stride", axes, 1, 1);
  c.pads = caffe_windows(layer, "convolution_param", "pad", "pad", axes, 0, 0);
  c.dilations = caffe_windows(layer, "convolution_param", "dilation", "dilation", axes, 1, 1);
  return c;
}

// Reshapes the weights to what the operation expects; early Caffe files always have four dimensions.
Value caffe_conv_weights(Builder& layer, const CaffeConvolution& c, bool backwards) {
  std::vector<int64_t> dims;
  if (c.groups > 1) dims.push_back(c.groups);
  int64_t per_group = c.outputs / c.groups;
  if (backwards) dims.push_back(-1), dims.push_back(per_group);
  else dims.push_back(per_group), dims.push_back(-1);
  dims.insert(dims.end(), c.kernel.begin(), c.kernel.end());
  int64_t known = 1;
  for (int64_t d : dims)
    if (d > 0 && __builtin_mul_overflow(known, d, &known))
      fail("'num_output', 'kernel_size' and 'group' ask for more weights than a tensor can hold");
  Value w = layer.weight(0);
  Shape s = w.shape();
  int64_t have = 1;
  for (const Dim& d : s) have *= d.value();
  if (have == 0 || have % known)
    fail("expected a multiple of ", known, " weights for num_output ", c.outputs, ", group ", c.groups, " and kernel ",
         c.kernel, ", got shape ", s);
  for (int64_t& d : dims)
    if (d < 0) d = have / known;
  return s == Shape::of(dims) ? w : reshape(w, dims);
}

Value caffe_conv_bias(Builder& layer, const CaffeConvolution& c, const Value& y) {
  if (!layer.get<bool>("convolution_param.bias_term", true)) return y;
  std::vector<int64_t> dims(c.kernel.size() + 2, 1);
  dims[1] = c.outputs;
  return y + reshape(layer.weight(1), dims);
}

std::vector<Value> import_caffe_convolution(Builder& layer) {
  CaffeConvolution c = caffe_convolution(layer, layer.type().find("Depthwise") != std::string_view::npos);
  Value w = caffe_conv_weights(layer, c, false);
  return caffe_each(layer, [&](const Value& x) {
    return caffe_conv_bias(layer, c,
                           layer.op(c.groups == 1 ? "Convolution" : "GroupConvolution", {x, w}, c.attributes()));
  });
}

std::vector<Value> import_caffe_deconvolution(Builder& layer) {
  CaffeConvolution c = caffe_convolution(layer, false);
  Value w = caffe_conv_weights(layer, c, true);
  return caffe_each(layer, [&](const Value& x) {
    return caffe_conv_bias(
        layer, c,
        layer.op(c.groups == 1 ? "ConvolutionBackpropData" : "GroupConvolutionBackpropData", {x, w}, c.attributes()));
  });
}

std::vector<Value> import_caffe_inner_product(Builder& layer) {
  auto outputs = layer.get<int64_t>("inner_product_param.num_output");
  if (outputs < 1 || outputs > 1 << 30)
    fail("expected 'inner_product_param.num_output' of 1 to ", 1 << 30, ", got ", outputs);
  auto axis = layer.get<int64_t>("inner_product_param.axis", 1);
  bool transposed = layer.get<bool>("inner_product_param.transpose", false);
  Value w = layer.weight(0);
  Shape s = w.shape();
  int64_t have = 1;
  for (const Dim& d : s) have *= d.value();
  if (have % outputs) fail("expected a multiple of num_output ", outputs, " weights, got shape ", s);
  std::vector<int64_t> dims{outputs, have / outputs};
  if (transposed) std::swap(dims[0], dims[1]);
  if (s != Shape::of(dims)) w = reshape(w, dims);
  bool bias = layer.get<bool>("inner_product_param.bias_term", true);
  return caffe_each(layer, [&](const Value& x) {
    int64_t first = axis < 0 ? static_cast<int64_t>(caffe_axis(axis, x.rank())) : axis;
    if (first > 32) fail("expected 'inner_product_param.axis' within the rank of the input, got ", axis);
    std::vector<int64_t> target(static_cast<size_t>(first), 0);
    target.push_back(-1);
    Shape xs = x.shape();
    Value flat = xs.ranked() && xs.rank() == target.size() ? x : build::reshape_keeping(x, target);
    Value y = build::matmul(flat, w, false, !transposed);
    return bias ? y + caffe_vector(layer.weight(1)) : y;
  });
}

Rule caffe_conv_rule(std::string_view type) {
  Rule r = caffe(type);
  r.ignore("convolution_param.engine").ignore("convolution_param.weight_filler.*");
  r.ignore("convolution_param.bias_filler.*").ignore("convolution_param.force_nd_im2col");
  return r;
}

}  // namespace

Definitions define_caffe_conv() {
  return {
      caffe_conv_rule("Convolution").expand(import_caffe_convolution),
      // Trained with weights of -1 and 1; the file stores the scaled weights to multiply by.
      caffe_conv_rule("ConvolutionBinary").expand(import_caffe_convolution),
      caffe_conv_rule("ConvolutionDepthwise").expand(import_caffe_convolution),
      caffe_conv_rule("DepthwiseConvolution").expand(import_caffe_convolution),
      caffe_conv_rule("Deconvolution").expand(import_caffe_deconvolution),
      caffe("InnerProduct")
          .ignore("inner_product_param.weight_filler.*")
          .ignore("inner_product_param.bias_filler.*")
          .expand(import_caffe_inner_product),
  };
}

}  // namespace graft
