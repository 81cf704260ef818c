// AveragePool, MaxPool, LpPool and their global forms.
#include <graft/op.hpp>

#include "onnx/windows.hpp"

namespace graft {

namespace {

std::vector<int64_t> all_spatial(const Value& x) {
  std::vector<int64_t> axes;
  for (size_t i = 2; i < x.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  return axes;
}
std::vector<int64_t> before_spatial(const std::vector<int64_t>& pads) {
  std::vector<int64_t> all{0, 0};
  all.insert(all.end(), pads.begin(), pads.end());
  return all;
}

// Pads the spatial axes with explicit zeros.
Value pad_with_zeros(Builder& layer, Value x, const std::vector<int64_t>& begin, const std::vector<int64_t>& end) {
  return layer.op("Pad", {x, layer.ints(before_spatial(begin)), layer.ints(before_spatial(end)), like(x, 0)},
                  {{"pad_mode", "constant"}});
}

// Drops windows that start after the input: once the padding is part of the tensor, the pool can no longer recognize
// them. The remaining number is ceil((length + begin) / stride).
Value without_late_windows(Builder& layer, Value y, Value x, const LayerWindows& w) {
  std::vector<int64_t> axes = all_spatial(x), more;
  for (size_t i = 0; i < axes.size(); ++i) more.push_back(w.pads_begin[i] + w.strides[i] - 1);
  auto n = static_cast<int64_t>(axes.size());
  Value lengths = layer.op("Slice", {shape_of(x), layer.ints({2}), layer.ints({n + 2}), layer.ints({1})});
  Value counts = (lengths + layer.ints(more)) / layer.ints(w.strides);
  std::vector<int64_t> zeros(axes.size(), 0), ones(axes.size(), 1);
  return layer.op("Slice", {y, layer.ints(zeros), counts, layer.ints(ones), layer.ints(axes)});
}

struct LayerPool {
  LayerWindows windows;
  bool ceil = false;
};
// With ceil rounding, a window may be larger than the padded input. It then has a single position and covers all of
// it, like a window of the size of the input, which OpenVINO accepts as well.
void clip_windows(LayerWindows& w, const Shape& x) {
  for (size_t i = 0; x.ranked() && x.rank() == w.kernel.size() + 2 && i < w.kernel.size(); ++i) {
    if (!x[i + 2].known()) continue;
    int64_t padded = x[i + 2].value() + w.pads_begin[i] + w.pads_end[i];
    int64_t missing = (w.kernel[i] - 1) * w.dilations[i] + 1 - padded;
    if (padded < 1 || missing <= 0 || missing >= w.strides[i]) continue;
    w.kernel[i] = (padded - 1) / w.dilations[i] + 1;
    w.strides[i] = padded;  // dilated taps may leave space after the last one
  }
}
LayerPool layer_pool(Builder& layer, Value x) {
  if (!layer.has("kernel_shape")) fail("required attribute 'kernel_shape' is missing");
  LayerPool p{layer_windows(layer, spatial_axes(layer, {x})), false};
  // With auto_pad same_*, the number of windows is exact, so there is nothing to round.
  p.ceil = layer.get<bool>("ceil_mode", false) && !p.windows.auto_pad.starts_with("same");
  if (p.ceil) clip_windows(p.windows, x.shape());
  return p;
}
std::vector<NamedAttr> pool_attributes(const LayerWindows& w, std::string_view rounding) {
  std::vector<NamedAttr> a = w.attributes();
  a.push_back({"kernel", w.kernel});
  a.push_back({"rounding_type", rounding});
  return a;
}
LayerWindows unpadded(LayerWindows w) {
  w.auto_pad = "explicit";
  w.pads_begin.assign(w.kernel.size(), 0);
  w.pads_end = w.pads_begin;
  return w;
}

}  // namespace

Value layer_average_pool(Builder& layer, Value x) {
  LayerPool p = layer_pool(layer, x);
  const LayerWindows& w = p.windows;
  bool count_padding = layer.get<bool>("count_include_pad", false);
  if (count_padding && p.ceil && w.padded()) {
    // Padding counts in the divisor, but not the part of a window beyond the padding.
    std::vector<NamedAttr> a = pool_attributes(unpadded(w), "ceil");
    a.push_back({"exclude-pad", true});
    Value y = layer.op("AvgPool", {pad_with_zeros(layer, x, w.pads_begin, w.pads_end)}, a);
    return without_late_windows(layer, y, x, w);
  }
  std::vector<NamedAttr> a = pool_attributes(w, p.ceil ? "ceil_torch" : "floor");
  a.push_back({"exclude-pad", !count_padding});
  return layer.op("AvgPool", {x}, a);
}

namespace {

Value import_average_pool(Builder& layer) { return layer_average_pool(layer, layer.input(0)); }

// Converts row-major flat indices over the spatial axes to column-major ones.
Value column_major(Builder& layer, Value index, Value x) {
  Shape shape = x.shape();
  if (!shape.is_static()) needs_shape("column-major indices of a tensor of unknown shape are not supported");
  std::vector<int64_t> sides;
  for (size_t i = 2; i < shape.rank(); ++i) sides.push_back(shape[i].value());
  int64_t plane = count_of(sides), step = 1, inner = plane;
  auto whole = [&](int64_t v) { return layer.scalar(static_cast<double>(v), index.type()); };
  Value rest = layer.op("FloorMod", {index, whole(plane)}), y = index - rest;
  for (int64_t side : sides) {
    inner /= std::max<int64_t>(side, 1);
    y = y + layer.op("FloorMod", {rest / whole(inner), whole(side)}) * whole(step);
    step *= side;
  }
  return y;
}

}  // namespace

std::vector<Value> layer_max_pool(Builder& layer, Value x) {
  LayerPool p = layer_pool(layer, x);
  std::vector<Value> y = layer.ops("MaxPool", {x}, pool_attributes(p.windows, p.ceil ? "ceil_torch" : "floor"), 2);
  if (!layer.output_used(1)) return {y[0]};
  if (layer.get<bool>("storage_order", false)) y[1] = column_major(layer, y[1], x);
  return y;
}

namespace {

std::vector<Value> import_max_pool(Builder& layer) { return layer_max_pool(layer, layer.input(0)); }
Value import_nhwc_max_pool(Builder& layer) {
  return with_channels_second(layer.input(0), true, [&](Value x) { return layer_max_pool(layer, x)[0]; });
}

// p-norms are computed as the p-th root of sums of |x|^p.
Value lp_powers(Value x, double p) {
  Value size = x.in().op("Abs", {x});
  return p == 1 ? size : x.in().op("Power", {size, like(x, p)});
}
Value lp_root(Value sum, double p) { return p == 1 ? sum : sum.in().op("Power", {sum, like(sum, 1 / p)}); }

Value import_lp_pool(Builder& layer) {
  Value x = layer.input(0);
  LayerPool pool = layer_pool(layer, x);
  const LayerWindows& w = pool.windows;
  double p = layer.get<double>("p", 2), taps = 1;
  for (int64_t k : w.kernel) taps *= static_cast<double>(k);
  Value y = lp_powers(x, p);
  if (pool.ceil) {
    // Rounding up equals padding the end by stride - 1 more elements and rounding down.
    std::vector<int64_t> end = w.pads_end;
    for (size_t i = 0; i < end.size(); ++i) end[i] += w.strides[i] - 1;
    std::vector<NamedAttr> a = pool_attributes(unpadded(w), "floor");
    a.push_back({"exclude-pad", false});
    y = without_late_windows(layer, layer.op("AvgPool", {pad_with_zeros(layer, y, w.pads_begin, end)}, a), x, w);
  } else {
    std::vector<NamedAttr> a = pool_attributes(w, "floor");
    a.push_back({"exclude-pad", false});
    y = layer.op("AvgPool", {y}, a);
  }
  return lp_root(y * taps, p);
}

Value import_global_average_pool(Builder& layer) {
  Value x = layer.input(0);
  return layer.op("ReduceMean", {x, layer.ints(all_spatial(x))}, {{"keep_dims", true}});
}
Value import_global_max_pool(Builder& layer) {
  Value x = layer.input(0);
  return layer.op("ReduceMax", {x, layer.ints(all_spatial(x))}, {{"keep_dims", true}});
}
Value import_global_lp_pool(Builder& layer) {
  Value x = layer.input(0), axes = layer.ints(all_spatial(x));
  double p = layer.get<double>("p", 2);
  // The 0-"norm" counts the nonzero elements.
  if (p == 0) {
    Value there = convert(layer.op("NotEqual", {x, like(x, 0)}), x.type());
    return layer.op("ReduceSum", {there, axes}, {{"keep_dims", true}});
  }
  return lp_root(layer.op("ReduceSum", {lp_powers(x, p), axes}, {{"keep_dims", true}}), p);
}

}  // namespace

Definitions define_onnx_pool() {
  return {
      onnx("AveragePool").rank(0, 3).expand(import_average_pool),
      onnx("MaxPool").rank(0, 3).expand(import_max_pool),
      onnx("NhwcMaxPool").domain("com.microsoft").rank(0, 3).expand(import_nhwc_max_pool),
      onnx("LpPool").rank(0, 3).expand(import_lp_pool),
      onnx("GlobalAveragePool").rank(0, 2).expand(import_global_average_pool),
      onnx("GlobalMaxPool").rank(0, 2).expand(import_global_max_pool),
      onnx("GlobalLpPool").rank(0, 2).expand(import_global_lp_pool),
  };
}

}  // namespace graft
