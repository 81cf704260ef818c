// Images sampled at computed positions, correlation of two images, resizing.
#include "mxnet/building.hpp"

namespace graft {
namespace {

// Positions from -1 to 1 as [1, size].
Value mxnet_line(Builder& layer, int64_t size) {
  constexpr int64_t most = 1 << 22;
  if (size > most) fail("expected images of at most ", most, " rows and columns, got ", size);
  std::vector<float> at;
  for (int64_t i = 0; i < size; ++i)
    at.push_back(size > 1 ? -1 + 2 * static_cast<float>(i) / static_cast<float>(size - 1) : -1);
  return layer.constant<float>(std::move(at), {size});
}

struct MxnetSize {
  int64_t height, width;
};
MxnetSize mxnet_target_size(Builder& layer) {
  std::vector<int64_t> size = mx::ints(layer, "target_shape");
  if (size.size() != 2) fail("expected 2 values of 'target_shape', got ", size.size());
  constexpr int64_t most = 1 << 22;
  if (size[0] < 1 || size[1] < 1 || size[0] > most / size[1])
    fail("expected a 'target_shape' of 1 to ", most, " positions, got ", size[0], " x ", size[1]);
  return {size[0], size[1]};
}

// Positions as [N, 2, H, W], x before y, that theta [N, 6] maps those of the result to.
Value mxnet_affine_grid(Builder& layer, const Value& theta, const MxnetSize& size) {
  auto [h, w] = size;
  Value whole = layer.ints({h, w});
  Value x = build::broadcast(mxnet_line(layer, w), whole),
        y = build::broadcast(unsqueeze(mxnet_line(layer, h), {1}), whole);
  Value ones = build::fill(layer, 1, DType::f32, layer.ints({1, h * w}));
  Value places = convert(build::concat({reshape(x, {1, h * w}), reshape(y, {1, h * w}), ones}, 0), theta.type());
  return reshape(build::matmul(reshape(theta, {-1, 2, 3}), places), {-1, 2, h, w});
}
// Displacements in pixels.
Value mxnet_warp_grid(Builder& layer, const Value& flow) {
  Shape s = flow.shape();
  if (!s.ranked() || s.rank() != 4 || !s[2].known() || !s[3].known() || s[2].value() < 2 || s[3].value() < 2)
    needs_shape("the height and width of the input must be known, got shape ", s);
  auto h = static_cast<double>(s[2].value()), w = static_cast<double>(s[3].value());
  Value x = reshape(mxnet_line(layer, s[3].value()), {1, 1, 1, -1}),
        y = reshape(mxnet_line(layer, s[2].value()), {1, 1, -1, 1});
  std::vector<Value> d = build::split(flow, 1, 2);
  return build::concat({d[0] * (2 / (w - 1)) + convert(x, flow.type()), d[1] * (2 / (h - 1)) + convert(y, flow.type())},
                       1);
}

Value mxnet_sampled(Builder& layer, const Value& x, const Value& grid) {
  return layer.op("GridSample", {x, transpose(grid, {0, 2, 3, 1})},
                  {{"align_corners", true}, {"mode", "bilinear"}, {"padding_mode", "zeros"}});
}

Value import_mxnet_grid_generator(Builder& layer) {
  auto type = layer.get<std::string>("transform_type");
  if (type == "affine") return mxnet_affine_grid(layer, layer.input(0), mxnet_target_size(layer));
  if (type != "warp") fail("expected 'transform_type' affine or warp, got '", type, "'");
  layer.has("target_shape");
  return mxnet_warp_grid(layer, layer.input(0));
}
Value import_mxnet_bilinear_sampler(Builder& layer) { return mxnet_sampled(layer, layer.input(0), layer.input(1)); }
Value import_mxnet_spatial_transformer(Builder& layer) {
  if (std::string type = mx::word_or(layer, "transform_type", "affine"); type != "affine")
    unsupported("transformation '", type, "' is not supported, only 'affine'");
  if (std::string type = mx::word_or(layer, "sampler_type", "bilinear"); type != "bilinear")
    unsupported("sampler '", type, "' is not supported, only 'bilinear'");
  return mxnet_sampled(layer, layer.input(0), mxnet_affine_grid(layer, layer.input(1), mxnet_target_size(layer)));
}

// ---- Correlation ----

// One channel per displacement: the mean of the products of patches, or of their distances.
Value import_mxnet_correlation(Builder& layer) {
  auto number = [&](std::string_view path, int64_t fallback, int64_t least) {
    auto v = mx::int_or(layer, path, fallback);
    if (v < least || v > 1024) fail("expected '", path, "' of ", least, " to 1024, got ", v);
    return v;
  };
  int64_t kernel = number("kernel_size", 1, 1), reach = number("max_displacement", 1, 0),
          step = number("stride1", 1, 1), grid = number("stride2", 1, 1), pad = number("pad_size", 0, 0);
  bool products = mx::bool_or(layer, "is_multiply", true);
  if (kernel % 2 == 0) fail("expected an odd 'kernel_size', got ", kernel);
  Value a = layer.input(0), b = layer.input(1);
  Shape s = a.shape();
  if (!s.ranked() || s.rank() != 4 || !s[2].known() || !s[3].known())
    needs_shape("the height and width of the input must be known, got shape ", s);
  int64_t radius = reach / grid, border = reach + kernel / 2, count = (2 * radius + 1) * (2 * radius + 1);
  if (count > 4096) unsupported(count, " displacements are not supported, at most 4096");
  auto positions = [&](int64_t size) { return (size + 2 * pad - 2 * border + step - 1) / step; };
  int64_t rows = positions(s[2].value()), columns = positions(s[3].value());
  if (rows < 1 || columns < 1) fail("the images of shape ", s, " are too small for displacements of ", reach);
  std::vector<int64_t> around{0, 0, pad, pad};
  auto padded = [&](const Value& v) {
    return pad ? layer.op("Pad@1", {v, layer.ints(around), layer.ints(around), like(v, 0)}, {{"pad_mode", "constant"}})
               : v;
  };
  a = padded(a), b = padded(b);
  auto window = [&](const Value& v, int64_t y, int64_t x) {
    return layer.op("Slice", {v, layer.ints({y, x}),
                              layer.ints({y + (rows - 1) * step + kernel, x + (columns - 1) * step + kernel}),
                              layer.ints({1, 1}), layer.ints({2, 3})});
  };
  Value fixed = window(a, reach, reach);
  std::vector<Value> out;
  for (int64_t dy = -radius; dy <= radius; ++dy)
    for (int64_t dx = -radius; dx <= radius; ++dx) {
      Value moved = window(b, reach + dy * grid, reach + dx * grid);
      out.push_back(build::reduce_mean(products ? fixed * moved : layer.op("Abs", {fixed - moved}), {1}));
    }
  Value y = build::concat(out, 1);
  if (kernel == 1 && step == 1) return y;
  std::vector<int64_t> none(2, 0);
  return layer.op("AvgPool@1", {y},
                  {{"kernel", std::vector<int64_t>(2, kernel)},
                   {"strides", std::vector<int64_t>(2, step)},
                   {"pads_begin", none},
                   {"pads_end", none},
                   {"exclude-pad", false},
                   {"rounding_type", "floor"}});
}

// ---- resizing ----

Value import_mxnet_bilinear_resize(Builder& layer) {
  Value x = layer.input(0), sizes;
  std::string mode = mx::word_or(layer, "mode", "size");
  bool aligned = mx::bool_or(layer, "align_corners", true);
  if (mode == "like") sizes = build::dims(layer.input(1), {2, 3});
  else if (mode != "size") unsupported("mode '", mode, "' is not supported, only 'size' and 'like'");
  else if (!mx::is_none(layer, "scale_height")) {
    Value scale = layer.constant<float>({layer.get<float>("scale_height"), layer.get<float>("scale_width")}, {2});
    Value real = convert(build::dims(x, {2, 3}), DType::f32) * scale;
    sizes = convert(layer.op("Floor", {real}), DType::i64);
  } else sizes = layer.ints({layer.get<int64_t>("height", 1), layer.get<int64_t>("width", 1)});
  return layer.op("Interpolate@11", {x, sizes, layer.ints({2, 3})},
                  {{"mode", "linear_onnx"},
                   {"shape_calculation_mode", "sizes"},
                   {"coordinate_transformation_mode", aligned ? "align_corners" : "half_pixel"}});
}

}  // namespace

Definitions define_mxnet_sampling() {
  return {
      mx::rules({"GridGenerator"}, import_mxnet_grid_generator),
      mx::rules({"BilinearSampler"}, import_mxnet_bilinear_sampler, {"cudnn_off"}),
      mx::rules({"SpatialTransformer"}, import_mxnet_spatial_transformer, {"cudnn_off"}),
      mx::rules({"Correlation"}, import_mxnet_correlation),
      mx::rules({"_contrib_BilinearResize2D"}, import_mxnet_bilinear_resize),
  };
}

}  // namespace graft
