// Pooling.
#include "mxnet/building.hpp"

namespace graft {
namespace {

struct MxnetPooling {
  std::string type, convention;
  std::vector<int64_t> kernel, strides, pads;
  bool include_padding;

  double volume() const {
    double v = 1;
    for (int64_t k : kernel) v *= static_cast<double>(k);
    return v;
  }
};

Value mxnet_pad_spatial(Builder& layer, const Value& x, const std::vector<int64_t>& begin,
                        const std::vector<int64_t>& end) {
  auto all_zero = [](const std::vector<int64_t>& v) {
    return std::all_of(v.begin(), v.end(), [](int64_t p) { return p == 0; });
  };
  if (all_zero(begin) && all_zero(end)) return x;
  std::vector<int64_t> b(2, 0), e(2, 0);
  b.insert(b.end(), begin.begin(), begin.end()), e.insert(e.end(), end.begin(), end.end());
  return layer.op("Pad@1", {x, layer.ints(b), layer.ints(e), like(x, 0)}, {{"pad_mode", "constant"}});
}

// Elements behind the data that a convention's last window may reach: 'full' rounds the number of windows up, 'same'
// has one window per stride.
std::vector<int64_t> mxnet_overhang(const MxnetPooling& p) {
  std::vector<int64_t> out(p.kernel.size(), 0);
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = p.convention == "full" ? p.strides[i] - 1 : p.convention == "same" ? p.kernel[i] - 1 : 0;
  return out;
}

// With 'full', what the last windows have beyond the data becomes padding where the size is known: runtimes do not
// agree whether it counts. False: it is not known.
bool mxnet_pad_overhang(const MxnetPooling& p, const Shape& x, const std::vector<int64_t>& begin,
                        std::vector<int64_t>& end) {
  std::vector<int64_t> padded = end;
  for (size_t i = 0; i < end.size(); ++i) {
    if (!x.ranked() || x.rank() != end.size() + 2 || !x[i + 2].known()) return false;
    int64_t free = x[i + 2].value() + begin[i] + end[i] - p.kernel[i];
    if (free < 0) return false;
    padded[i] += (p.strides[i] - free % p.strides[i]) % p.strides[i];
    if (padded[i] >= p.kernel[i]) return false;
  }
  end = padded;
  return true;
}

Value mxnet_average(Builder& layer, Value x, const MxnetPooling& p) {
  std::vector<int64_t> none(p.kernel.size(), 0), begin = p.pads, end = p.pads;
  bool exclude = !p.include_padding, full = p.convention == "full";
  // Padding counts, what the last window has beyond it does not.
  if (p.include_padding && p.convention != "valid") {
    x = mxnet_pad_spatial(layer, x, p.pads, p.pads);
    begin = end = none;
    exclude = true;
  }
  if (full && mxnet_pad_overhang(p, x.shape(), begin, end)) full = false;
  if (p.convention == "same")
    for (size_t i = 0; i < end.size(); ++i) end[i] += p.kernel[i] - 1;
  return layer.op("AvgPool@1", {x},
                  {{"kernel", p.kernel},
                   {"strides", p.strides},
                   {"pads_begin", begin},
                   {"pads_end", end},
                   {"exclude-pad", exclude},
                   {"rounding_type", full ? "ceil" : "floor"}});
}

Value mxnet_sum(Builder& layer, Value x, const MxnetPooling& p) {
  std::vector<int64_t> end = mxnet_overhang(p), none(p.kernel.size(), 0);
  for (size_t i = 0; i < end.size(); ++i) end[i] += p.pads[i];
  x = mxnet_pad_spatial(layer, x, p.pads, end);
  return layer.op("AvgPool@1", {x},
                  {{"kernel", p.kernel},
                   {"strides", p.strides},
                   {"pads_begin", none},
                   {"pads_end", none},
                   {"exclude-pad", false},
                   {"rounding_type", "floor"}}) *
         p.volume();
}

Value mxnet_maximum(Builder& layer, const Value& x, const MxnetPooling& p) {
  std::vector<int64_t> end = p.pads;
  if (p.convention == "same")
    for (size_t i = 0; i < end.size(); ++i) end[i] += p.kernel[i] - 1;
  return layer.op("MaxPool@1", {x},
                  {{"kernel", p.kernel},
                   {"strides", p.strides},
                   {"pads_begin", p.pads},
                   {"pads_end", end},
                   {"rounding_type", p.convention == "full" ? "ceil" : "floor"}});
}

// The p-th root of sums of p-th powers, with their signs.
template <class Sum>
Value mxnet_norm_pool(Builder& layer, const Value& x, Sum sum) {
  auto power = mx::int_or(layer, "p_value", 2);
  if (power < 1 || power > 3) fail("expected 'p_value' of 1 to 3, got ", power);
  if (power == 1) return sum(x);
  if (power == 2) return layer.op("Sqrt", {sum(x * x)});
  Value y = sum(x * x * x);
  return layer.op("Sign", {y}) * layer.op("Power", {layer.op("Abs", {y}), like(y, 1.0 / 3)});
}

Value mxnet_global_pool(Builder& layer, const Value& x, const std::string& type, size_t axes) {
  Value over = layer.ints(mx::axes_from(2, axes + 2));
  auto reduce = [&](std::string_view op, const Value& v) { return layer.op(op, {v, over}, {{"keep_dims", true}}); };
  if (type == "max") return reduce("ReduceMax", x);
  if (type == "avg") return reduce("ReduceMean", x);
  if (type == "sum") return reduce("ReduceSum", x);
  return mxnet_norm_pool(layer, x, [&](const Value& v) { return reduce("ReduceSum", v); });
}

Value import_mxnet_pooling(Builder& layer) {
  MxnetPooling p;
  p.type = mx::word_or(layer, "pool_type", "max");
  p.convention = mx::word_or(layer, "pooling_convention", "valid");
  p.include_padding = mx::bool_or(layer, "count_include_pad", true);
  bool global = mx::bool_or(layer, "global_pool", false);
  mx::Layout layout = mx::Layout::of(layer);
  constexpr std::string_view types[] = {"max", "avg", "sum", "lp"}, conventions[] = {"valid", "full", "same"};
  if (std::find(std::begin(types), std::end(types), p.type) == std::end(types))
    fail("expected 'pool_type' max, avg, sum or lp, got '", p.type, "'");
  if (std::find(std::begin(conventions), std::end(conventions), p.convention) == std::end(conventions))
    fail("expected 'pooling_convention' valid, full or same, got '", p.convention, "'");
  Value x = layout.channels_first(layer.input(0));
  p.kernel = mx::ints(layer, "kernel");
  size_t axes = p.kernel.size();
  if (!axes || axes > 3) axes = x.rank() - std::min<size_t>(x.rank(), 2);
  if (axes < 1) fail("expected an input of rank 3 or more, got shape ", x.shape());
  if (global) {
    for (std::string_view path : {"kernel", "stride", "pad"}) layer.has(path);
    return layout.as_before(mxnet_global_pool(layer, x, p.type, axes));
  }
  p.kernel = mx::windows(layer, "kernel", axes, 0, 1);
  p.strides = mx::windows(layer, "stride", axes, 1, 1);
  p.pads = mx::windows(layer, "pad", axes, 0, 0);
  for (size_t i = 0; i < axes; ++i)
    if (p.pads[i] >= p.kernel[i] && p.type == "max")
      fail("expected a padding smaller than the window of ", p.kernel[i], ", got ", p.pads[i]);
  Value y = p.type == "max"   ? mxnet_maximum(layer, x, p)
            : p.type == "avg" ? mxnet_average(layer, x, p)
            : p.type == "sum" ? mxnet_sum(layer, x, p)
                              : mxnet_norm_pool(layer, x, [&](const Value& v) { return mxnet_sum(layer, v, p); });
  return layout.as_before(y);
}

Value import_mxnet_adaptive_average(Builder& layer) {
  std::vector<int64_t> size = mx::ints(layer, "output_size");
  if (size.empty()) size = {1};
  if (size.size() == 1) size.push_back(size[0]);
  if (size.size() != 2) fail("expected 1 or 2 values of 'output_size', got ", size.size());
  return layer.op("AdaptiveAvgPool", {layer.input(0), layer.ints(size)});
}

}  // namespace

Definitions define_mxnet_pooling() {
  return {
      mx::rules({"Pooling", "Pooling_v1"}, import_mxnet_pooling, {"cudnn_off", "p_value"}),
      mx::rules({"_contrib_AdaptiveAvgPooling2D", "contrib_AdaptiveAvgPooling2D"}, import_mxnet_adaptive_average),
  };
}

}  // namespace graft
