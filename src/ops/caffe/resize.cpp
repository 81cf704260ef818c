// Layers that resize images.
#include <graft/op.hpp>

#include "caffe/building.hpp"

namespace graft {
namespace {

int64_t caffe_factor(Builder& layer, std::string_view path) {
  auto v = layer.get<int64_t>(path, 1);
  if (v < 1 || v > 1 << 16) fail("expected '", path, "' of 1 to ", 1 << 16, ", got ", v);
  return v;
}

// Bilinear interpolation with aligned corners; negative padding crops first.
Value import_caffe_interp(Builder& layer) {
  Value x = layer.input(0);
  auto begin = layer.get<int64_t>("interp_param.pad_beg", 0), end = layer.get<int64_t>("interp_param.pad_end", 0);
  if (begin > 0 || end > 0 || begin < -(1 << 20) || end < -(1 << 20))
    fail("expected zero or negative padding (cropping), got ", begin, " and ", end);
  if (begin || end)
    for (int64_t axis : {2, 3}) x = build::slice(x, axis, -begin, end ? end : INT64_MAX);
  Value size = build::dims(x, {2, 3});
  bool shrinks = layer.has("interp_param.shrink_factor"), zooms = layer.has("interp_param.zoom_factor");
  if (layer.flows() > 1) {
    size = build::dims(layer.input(1), {2, 3});
  } else if (shrinks || zooms) {
    if (shrinks) size = (size - 1) / static_cast<double>(caffe_factor(layer, "interp_param.shrink_factor")) + 1;
    if (zooms) size = size + (size - 1) * static_cast<double>(caffe_factor(layer, "interp_param.zoom_factor") - 1);
  } else {
    auto h = layer.get<int64_t>("interp_param.height"), w = layer.get<int64_t>("interp_param.width");
    if (h < 1 || w < 1) fail("expected a positive output size, got ", h, " x ", w);
    size = layer.ints({h, w});
  }
  return caffe_interpolate(x, size, "linear_onnx", "align_corners");
}

Value caffe_times(const Value& size, double factor) {
  Value product = convert(size, DType::f32) * factor;
  return convert(size.in().op("Floor", {product}), DType::i64);
}

Value import_caffe_resample(Builder& layer) {
  Value x = layer.input(0), size;
  if (layer.flows() > 1) size = build::dims(layer.input(1), {2, 3});
  else if (layer.has("resample_param.height") || layer.has("resample_param.width"))
    size = layer.ints({layer.get<int64_t>("resample_param.height"), layer.get<int64_t>("resample_param.width")});
  else size = caffe_times(build::dims(x, {2, 3}), layer.get<float>("resample_param.factor", 1));
  if (layer.flows() > 1) layer.has("resample_param.factor");
  std::string type = caffe_word(layer, "resample_param.type", {"", "NEAREST", "LINEAR", "CUBIC", "AREA"}, "LINEAR");
  bool smooth = layer.get<bool>("resample_param.antialias", true);
  if (type == "NEAREST") return caffe_interpolate(x, size, "nearest", "half_pixel");
  std::string_view mode = type == "CUBIC" ? "cubic" : type == "LINEAR" ? smooth ? "linear" : "linear_onnx" : "";
  if (mode.empty()) unsupported("resampling of type ", type, " is not supported");
  return layer.op("Interpolate@11", {x, size, layer.ints({2, 3})},
                  {{"mode", mode},
                   {"shape_calculation_mode", "sizes"},
                   {"coordinate_transformation_mode", "half_pixel"},
                   {"antialias", smooth && type == "LINEAR"},
                   {"cube_coeff", -0.5}});
}

// With one input, elements are repeated; with two, each element goes to the position that max pooling recorded in the
// second.
Value import_caffe_upsample(Builder& layer) {
  Value x = layer.input(0), size = build::dims(x, {2, 3});
  auto scale = layer.get<int64_t>("upsample_param.scale", 2);
  if (scale < 1 || scale > 1 << 16) fail("expected 'upsample_param.scale' of 1 to ", 1 << 16, ", got ", scale);
  if (layer.has("upsample_param.upsample_h") || layer.has("upsample_param.upsample_w"))
    size =
        layer.ints({layer.get<int64_t>("upsample_param.upsample_h"), layer.get<int64_t>("upsample_param.upsample_w")});
  else size = size * static_cast<double>(scale);
  if (layer.flows() == 1)
    return layer.op("Interpolate@11", {x, size, layer.ints({2, 3})},
                    {{"mode", "nearest"},
                     {"shape_calculation_mode", "sizes"},
                     {"coordinate_transformation_mode", "asymmetric"},
                     {"nearest_mode", "floor"}});
  Value outer = build::dims(x, {0, 1});
  Value area = layer.op("ReduceProd", {size, layer.ints({0})}, {{"keep_dims", true}});
  Value zeros = build::fill(layer, 0, x.type(), build::concat({outer, area}, 0));
  Value flat = build::reshape_keeping(x, {0, 0, -1});
  Value indices = convert(build::reshape_keeping(layer.input(1), {0, 0, -1}), DType::i32);
  Value y = layer.op("ScatterElementsUpdate@3", {zeros, indices, flat, layer.scalar(2)});
  return build::reshape(y, {outer, size});
}

// Resizes all inputs to the same size and concatenates them along the channels.
Value import_caffe_accum(Builder& layer) {
  bool reference = layer.get<bool>("accum_param.have_reference", false);
  size_t n = layer.flows();
  if (reference && n < 2) fail("expected at least 2 inputs, the last one being the reference, got ", n);
  Value size;
  if (reference) {
    size = build::dims(layer.input(--n), {2, 3});
  } else {
    int64_t h = 0, w = 0;
    for (size_t i = 0; i < n; ++i) {
      Shape s = layer.input(i).shape();
      if (!s.ranked() || s.rank() != 4 || !s[2].known() || !s[3].known())
        needs_shape("the spatial size of input ", i, " is unknown, but this conversion requires it");
      h = std::max(h, s[2].value());
      w = std::max(w, s[3].value());
    }
    auto top_h = layer.get<int64_t>("accum_param.top_height", 0),
         top_w = layer.get<int64_t>("accum_param.top_width", 0);
    if (auto divisor = layer.get<int64_t>("accum_param.size_divisible_by", 0); divisor > 0 && divisor < 1 << 24)
      top_h = (h + divisor - 1) / divisor * divisor, top_w = (w + divisor - 1) / divisor * divisor;
    size = top_h > h && top_w > w ? layer.ints({top_h, top_w}) : layer.ints({h, w});
  }
  std::vector<Value> parts;
  for (size_t i = 0; i < n; ++i)
    parts.push_back(caffe_interpolate(layer.input(i), size, "linear_onnx", "align_corners"));
  return build::concat(parts, 1);
}

}  // namespace

Definitions define_caffe_resize() {
  return {
      caffe("Interp").expand(import_caffe_interp),
      caffe("Resample").expand(import_caffe_resample),
      caffe("Upsample").expand(import_caffe_upsample),
      caffe("Accum").expand(import_caffe_accum),
  };
}

}  // namespace graft
