// Pooling and other layers with sliding windows.
#include <graft/op.hpp>

#include "layout.hpp"

namespace graft {
namespace {

struct TfWindow {
  std::vector<int64_t> kernel, strides;
};

// V2 layers take the sizes as inputs.
TfWindow tf_window(Builder& layer, const tf::Layout& layout) {
  auto list = [&](std::string_view name, size_t input) {
    if (layer.has_input(input) && !layer.has(name))
      return layout.part(name, tf::constant_ints(layer.input(input), name));
    return layout.part(name, layer.get<std::vector<int64_t>>(name));
  };
  return {list("ksize", 1), list("strides", 2)};
}

Value tf_pool(Builder& layer, size_t spatial, std::string_view type, std::vector<NamedAttr> more) {
  tf::Layout layout(layer, spatial);
  TfWindow w = tf_window(layer, layout);
  tf::Padding pads = tf::padding(layer, layout);
  std::vector<NamedAttr> attrs{{"strides", w.strides}, {"pads_begin", pads.begin}, {"pads_end", pads.end},
                               {"kernel", w.kernel},   {"rounding_type", "floor"}, {"auto_pad", pads.mode}};
  for (NamedAttr& a : more) attrs.push_back(std::move(a));
  return layout.out(layer.op(type, {layout.in(layer.input(0))}, std::move(attrs)));
}
template <size_t spatial>
Value tf_max_pool(Builder& layer) {
  return tf_pool(layer, spatial, "MaxPool@1", {});
}
template <size_t spatial>
Value tf_avg_pool(Builder& layer) {
  return tf_pool(layer, spatial, "AvgPool@1", {{"exclude-pad", true}});
}

// The maximum of each window, and its index in the plane.
std::vector<Value> tf_maxima(Builder& layer, const tf::Layout& layout, const Value& x) {
  TfWindow w = tf_window(layer, layout);
  tf::Padding pads = tf::padding(layer, layout);
  return layer.ops("MaxPool@8", {x},
                   {{"strides", w.strides},
                    {"dilations", std::vector<int64_t>(2, 1)},
                    {"pads_begin", pads.begin},
                    {"pads_end", pads.end},
                    {"kernel", w.kernel},
                    {"rounding_type", "floor"},
                    {"auto_pad", pads.mode},
                    {"index_element_type", DType::i64},
                    {"axis", 2}},
                   2);
}

// The second output holds flat indices of the maxima in NHWC order.
std::vector<Value> tf_max_pool_with_argmax(Builder& layer) {
  tf::Layout layout(layer, 2);
  if (layer.get<bool>("include_batch_in_index", false)) unsupported("include_batch_in_index is not supported");
  Value x = layout.in(layer.input(0));
  std::vector<Value> y = tf_maxima(layer, layout, x);
  // The operation returns indices within a plane; TensorFlow interleaves the channels.
  Value channels = build::dim(x, 1);
  Value of_channel = build::range(layer.scalar(int64_t{0}), tf::as_scalar(channels), DType::i64);
  Value index = layout.out(y[1]) * channels + of_channel;
  return {layout.out(y[0]), convert(index, layer.get<DType>("Targmax", DType::i64))};
}

// Inputs x, y = MaxPool(x), gradient of y: each gradient element goes to the position of the maximum.
Value tf_max_pool_grad(Builder& layer) {
  tf::Layout layout(layer, 2);
  Value x = layout.in(layer.input(0)), gradient = layout.in(layer.input(2));
  Value places = tf_maxima(layer, layout, x)[1];
  Value shape = shape_of(x), planes = build::dims(x, {0, 1});
  Value flat = build::concat({planes, layer.ints({-1})}, 0);
  auto as_planes = [&](const Value& v) { return layer.op("Reshape", {v, flat}, {{"special_zero", false}}); };
  Value zeros = as_planes(build::fill(layer, 0, x.type(), shape));
  Value sum =
      layer.op("ScatterElementsUpdate@12", {zeros, as_planes(places), as_planes(gradient), layer.scalar(int64_t{2})},
               {{"reduction", "sum"}, {"use_init_val", true}});
  return layout.out(layer.op("Reshape", {sum, shape}, {{"special_zero", false}}));
}

Value tf_image_patches(Builder& layer) {
  tf::Layout layout(layer, 2);
  tf::Padding pads = tf::padding(layer, layout);
  return tf::channels_last(layer.op("ExtractImagePatches", {tf::channels_second(layer.input(0), 2)},
                                    {{"sizes", layout.part(layer, "ksizes", 1)},
                                     {"strides", layout.part(layer, "strides", 1)},
                                     {"rates", layout.part(layer, "rates", 1)},
                                     {"auto_pad", pads.mode}}),
                           2);
}

// Grayscale dilation: the maximum of input plus filter over a window. Input [n, h, w, c], filter [h, w, c]; padding
// is ignored.
Value tf_dilation(Builder& layer) {
  tf::Layout layout(layer, 2);
  auto strides = layout.part(layer, "strides", 1), rates = layout.part(layer, "rates", 1);
  auto padding = layer.get<std::string>("padding");
  if (padding != "SAME" && padding != "VALID")
    fail("expected attribute 'padding' to be SAME or VALID, got '", padding, "'");
  Value x = layer.input(0), filter = layer.input(1);
  DType type = x.type();
  if (type == DType::i64 || type == DType::u64) unsupported("dilation of ", type, " is not supported");
  if (!is_real(type)) x = convert(x, DType::f64), filter = convert(filter, DType::f64);
  Shape f = filter.shape();
  if (!f.ranked() || f.rank() != 3 || !f[0].known() || !f[1].known())
    unsupported("the height and width of the filter must be known, got shape ", f);
  if (padding == "SAME") {
    std::vector<Value> before{layer.ints({0})}, after{layer.ints({0})};
    for (size_t i = 0; i < 2; ++i) {
      int64_t reach = (f[i].value() - 1) * rates[i] + 1, stride = strides[i];
      Value in = build::dims(x, {static_cast<int64_t>(i) + 1});
      Value steps = layer.op("Divide", {in + static_cast<double>(stride - 1), layer.ints({stride})}) - 1;
      Value missing =
          layer.op("Maximum", {steps * static_cast<double>(stride) + static_cast<double>(reach) - in, layer.ints({0})});
      before.push_back(layer.op("Divide", {missing, layer.ints({2})}));
      after.push_back(missing - before.back());
    }
    before.push_back(layer.ints({0})), after.push_back(layer.ints({0}));
    x = layer.op("Pad@1", {x, build::concat(before, 0), build::concat(after, 0), like(x, -INFINITY)},
                 {{"pad_mode", "constant"}});
  }
  Value patches = tf::channels_last(layer.op("ExtractImagePatches", {tf::channels_second(x, 2)},
                                             {{"sizes", std::vector<int64_t>{f[0].value(), f[1].value()}},
                                              {"strides", strides},
                                              {"rates", rates},
                                              {"auto_pad", "valid"}}),
                                    2);
  int64_t taps = f[0].value() * f[1].value();
  Value by_tap = build::reshape(patches, {build::dims(patches, {0, 1, 2}), layer.ints({taps}), build::dims(x, {3})});
  Value sums = by_tap + build::reshape(filter, {layer.ints({taps}), build::dims(filter, {2})});
  return convert(layer.op("ReduceMax", {sums, layer.ints({3})}, {{"keep_dims", false}}), type);
}

}  // namespace

Definitions define_tensorflow_pooling() {
  return {
      tensorflow("MaxPool").expand(tf_max_pool<2>),
      tensorflow("MaxPoolV2").expand(tf_max_pool<2>),
      tensorflow("MaxPool3D").expand(tf_max_pool<3>),
      tensorflow("MaxPoolGrad").expand(tf_max_pool_grad),
      tensorflow("MaxPoolWithArgmax").expand(tf_max_pool_with_argmax),
      tensorflow("AvgPool").expand(tf_avg_pool<2>),
      tensorflow("AvgPoolV2").expand(tf_avg_pool<2>),
      tensorflow("AvgPool3D").expand(tf_avg_pool<3>),
      tensorflow("Dilation2D").expand(tf_dilation),
      tensorflow("ExtractImagePatches").expand(tf_image_patches),
  };
}

}  // namespace graft
