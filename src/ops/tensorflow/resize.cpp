// Image resizing.
#include <functional>
#include <graft/op.hpp>

#include "layout.hpp"
#include "rules.hpp"

namespace graft {
namespace {

Value tf_resize_bilinear(Builder& layer) {
  bool aligned = layer.get<bool>("align_corners", false), half = layer.get<bool>("half_pixel_centers", false);
  Value x = layer.input(0);
  if (!is_real(x.type())) x = convert(x, DType::f32);
  Value y = layer.op("Interpolate@11", {tf::channels_second(x, 2), layer.input(1), layer.ints({2, 3})},
                     {{"mode", "linear_onnx"},
                      {"shape_calculation_mode", "sizes"},
                      {"coordinate_transformation_mode", aligned ? "align_corners"
                                                         : half  ? "half_pixel"
                                                                 : "asymmetric"}});
  return tf::channels_last(convert(y, DType::f32), 2);
}

Value tf_resize_nearest(Builder& layer) {
  bool aligned = layer.get<bool>("align_corners", false), half = layer.get<bool>("half_pixel_centers", false);
  Value y = layer.op("Interpolate@11", {tf::channels_second(layer.input(0), 2), layer.input(1), layer.ints({2, 3})},
                     {{"mode", "nearest"},
                      {"shape_calculation_mode", "sizes"},
                      {"coordinate_transformation_mode", aligned ? "align_corners"
                                                         : half  ? "tf_half_pixel_for_nn"
                                                                 : "asymmetric"},
                      {"nearest_mode", aligned ? "round_prefer_ceil" : "floor"}});
  return tf::channels_last(y, 2);
}

// The other methods multiply by a matrix of weights along each of the two axes.
struct AxisResize {
  Value scale, translation;  // as the kernel expects them, f32
};
Value tf_resized_by_matrices(Builder& layer, const std::string& kernel, bool antialias,
                             const std::function<AxisResize(size_t axis, const Value& in, const Value& out)>& axis) {
  Value x = convert(layer.input(0), DType::f32), size = convert(tf::as_list(layer.input(1)), DType::i64);
  std::vector<Value> weights;
  for (size_t i = 0; i < 2; ++i) {
    auto number = static_cast<int64_t>(i);
    Value in = tf::as_scalar(build::dims(x, {number + 1})), out = build::gather(size, layer.scalar(number), 0);
    AxisResize a = axis(i, in, out);
    weights.push_back(layer.op("InterpolationMatrix@graft", {in, out, a.scale, a.translation},
                               {{"kernel", kernel}, {"antialias", antialias}}));
  }
  Value y = build::matmul(weights[0], tf::channels_second(x, 2));
  return tf::channels_last(build::matmul(y, weights[1], false, true), 2);
}

// Output elements per input element; with aligned corners, the ratio of the distances between first and last element.
Value tf_resize_scale(const Value& in, const Value& out, bool aligned) {
  Builder& layer = in.in();
  auto real = [](const Value& v) { return convert(v, DType::f32); };
  Value ratio = real(out) / real(in);
  if (!aligned) return ratio;
  Value one = layer.scalar(int64_t{1}), inner = real(out - 1) / real(layer.op("Maximum", {in - 1, one}));
  // One output element: the plain ratio. One input element: a scale that maps all outputs to it.
  Value spread = build::select(layer.op("Greater", {in, one}), inner, real(out));
  return build::select(layer.op("Greater", {out, one}), spread, ratio);
}
Value tf_resize_bicubic(Builder& layer) {
  bool aligned = layer.get<bool>("align_corners", false), half = layer.get<bool>("half_pixel_centers", false);
  if (aligned && half) fail("'align_corners' and 'half_pixel_centers' are mutually exclusive");
  return tf_resized_by_matrices(layer, half ? "keys_table" : "cubic_table", false,
                                [&](size_t, const Value& in, const Value& out) -> AxisResize {
                                  Value scale = tf_resize_scale(in, out, aligned);
                                  return {scale, half ? 0.5 / scale - 0.5 : like(scale, 0)};
                                });
}
Value tf_resize_area(Builder& layer) {
  bool aligned = layer.get<bool>("align_corners", false);
  return tf_resized_by_matrices(layer, "area", false, [&](size_t, const Value& in, const Value& out) -> AxisResize {
    Value scale = tf_resize_scale(in, out, aligned);
    return {scale, like(scale, 0)};
  });
}
// Inputs: images, size, scale, translation.
Value tf_scale_and_translate(Builder& layer) {
  auto kernel = layer.get<std::string>("kernel_type", "lanczos3");
  constexpr std::string_view kernels[] = {"lanczos1", "lanczos3", "lanczos5",  "gaussian",
                                          "box",      "triangle", "keyscubic", "mitchellcubic"};
  if (std::find(std::begin(kernels), std::end(kernels), kernel) == std::end(kernels))
    fail("expected a resize kernel of TensorFlow in attribute 'kernel_type', got '", kernel, "'");
  auto part = [&](size_t input, size_t axis) {
    return build::gather(layer.input(input), layer.scalar(static_cast<int64_t>(axis)), 0);
  };
  return tf_resized_by_matrices(layer, kernel, layer.get<bool>("antialias", true),
                                [&](size_t axis, const Value&, const Value&) -> AxisResize {
                                  return {part(2, axis), part(3, axis)};
                                });
}

// Inputs: images, boxes [n, 4] as y1 x1 y2 x2, the image index of each box, size. Samples bilinearly; a constant
// outside.
Value tf_crop_and_resize(Builder& layer) {
  Value x = layer.input(0), boxes = layer.input(1), which = layer.input(2);
  bool nearest = layer.get<std::string>("method", "bilinear") == "nearest";
  double outside = layer.get<float>("extrapolation_value", 0);
  std::vector<int64_t> size = tf::constant_ints(layer.input(3), "crop size");
  if (size.size() != 2 || size[0] < 1 || size[1] < 1 || size[0] > 1 << 16 || size[1] > 1 << 16)
    fail("expected a crop size with a height and width of 1 to 65536");
  if (!is_real(x.type())) x = convert(x, DType::f32);
  // Per axis: the position of each sample, its two neighbors, the weight, and whether it is inside the image.
  struct Axis {
    Value low, high, part, inside;  // [boxes, samples]
  };
  auto axis = [&](int64_t a) {
    int64_t n = size[static_cast<size_t>(a)];
    Value first = build::slice(boxes, 1, a, a + 1), last = build::slice(boxes, 1, a + 2, a + 3);
    Value length = convert(build::dim(x, a + 1), DType::f32), top = length - 1;
    std::vector<double> steps;
    for (int64_t i = 0; i < n; ++i) steps.push_back(n > 1 ? static_cast<double>(i) / static_cast<double>(n - 1) : 0.5);
    Value step = layer.typed(steps, {1, n}, DType::f32);
    Value at = (first + (last - first) * step) * top;
    Value inside =
        layer.op("LogicalAnd", {layer.op("GreaterEqual", {at, like(at, 0)}), layer.op("LessEqual", {at, top})});
    Value kept = layer.op("Minimum", {layer.op("Maximum", {at, like(at, 0)}), top});
    if (nearest) kept = layer.op("Round", {kept}, {{"mode", "half_away_from_zero"}});
    Value low = layer.op("Floor", {kept});
    Value high = layer.op("Minimum", {low + 1, top});
    return Axis{convert(low, DType::i64), convert(high, DType::i64), kept - low, inside};
  };
  Axis rows = axis(0), columns = axis(1);
  Value image = unsqueeze(convert(which, DType::i64), {1, 2});  // [boxes, 1, 1]
  Value shape = build::concat({build::dim(boxes, 0), layer.ints(size)}, 0);
  auto taken = [&](const Value& y, const Value& x_index) {
    auto whole = [&](const Value& v) { return unsqueeze(build::broadcast(v, shape), {3}); };
    Value index = build::concat({whole(image), whole(unsqueeze(y, {2})), whole(unsqueeze(x_index, {1}))}, 3);
    return layer.op("GatherND@8", {x, index}, {{"batch_dims", 0}});
  };
  Value fx = unsqueeze(unsqueeze(columns.part, {1}), {3}), fy = unsqueeze(unsqueeze(rows.part, {2}), {3});
  auto mixed = [&](const Value& y) {
    Value left = taken(y, columns.low);
    return left + (taken(y, columns.high) - left) * fx;
  };
  Value top = mixed(rows.low), result = top + (mixed(rows.high) - top) * fy;
  Value inside = layer.op(
      "LogicalAnd", {unsqueeze(unsqueeze(rows.inside, {2}), {3}), unsqueeze(unsqueeze(columns.inside, {1}), {3})});
  return build::select(inside, result, like(result, outside));
}

}  // namespace

namespace tf {
Value resize_bilinear(Builder& layer) { return tf_resize_bilinear(layer); }
Value resize_nearest(Builder& layer) { return tf_resize_nearest(layer); }
}  // namespace tf

Definitions define_tensorflow_resize() {
  return {
      tensorflow("CropAndResize").expand(tf_crop_and_resize),
      tensorflow("ResizeArea").expand(tf_resize_area),
      tensorflow("ResizeBicubic").expand(tf_resize_bicubic),
      tensorflow("ResizeBilinear").expand(tf_resize_bilinear),
      tensorflow("ResizeNearestNeighbor").expand(tf_resize_nearest),
      tensorflow("ScaleAndTranslate").expand(tf_scale_and_translate),
  };
}

}  // namespace graft
