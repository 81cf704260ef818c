// Adapts layers with channels last (NHWC) to operations with channels second (NCHW).
#pragma once

#include <graft/kit/expressions.hpp>

#include "window_limits.hpp"

namespace graft::tf {

inline Value channels_second(const Value& v, size_t spatial) {
  std::vector<int64_t> order{0, static_cast<int64_t>(spatial) + 1};
  for (size_t i = 1; i <= spatial; ++i) order.push_back(static_cast<int64_t>(i));
  return transpose(v, order);
}
inline Value channels_last(const Value& v, size_t spatial) {
  std::vector<int64_t> order{0};
  for (size_t i = 2; i <= spatial + 1; ++i) order.push_back(static_cast<int64_t>(i));
  order.push_back(1);
  return transpose(v, order);
}

// The position of the channels in a layer with `spatial` spatial axes.
class Layout {
 public:
  Layout(Builder& layer, size_t spatial) : spatial_(spatial) {
    auto format = layer.get<std::string>("data_format", spatial == 3 ? "NDHWC" : "NHWC");
    last_ = format.ends_with('C');
    if (format != "NHWC" && format != "NDHWC" && format != "NCHW" && format != "NCDHW" && format != "NWC" &&
        format != "NCW")
      unsupported("the data_format '", format, "' is not supported");
  }
  bool last() const { return last_; }
  size_t spatial() const { return spatial_; }
  Value in(const Value& v) const { return last_ ? channels_second(v, spatial_) : v; }
  Value out(const Value& v) const { return last_ ? channels_last(v, spatial_) : v; }
  // The spatial elements of a list with one value per axis.
  std::vector<int64_t> part(std::string_view name, const std::vector<int64_t>& list) const {
    if (list.size() == spatial_) return list;
    if (list.size() != spatial_ + 2) fail("expected ", spatial_ + 2, " values in '", name, "', got ", list.size());
    if (list[0] != 1 || list[last_ ? spatial_ + 1 : 1] != 1)
      unsupported("a value other than 1 of '", name, "' along the batch or channel axis is not supported");
    auto from = list.begin() + (last_ ? 1 : 2);
    return {from, from + static_cast<std::ptrdiff_t>(spatial_)};
  }
  std::vector<int64_t> part(Builder& layer, std::string_view name, int64_t fallback) const {
    auto list = layer.get<std::vector<int64_t>>(name, {});
    within_limits(name, list);
    return list.empty() ? std::vector<int64_t>(spatial_, fallback) : part(name, list);
  }
  // The first spatial axis; the channel axis.
  size_t first() const { return last_ ? 1 : 2; }

 private:
  size_t spatial_;
  bool last_;
};

struct Padding {
  std::string mode;  // auto_pad of our operations
  std::vector<int64_t> begin, end;
};
inline Padding padding(Builder& layer, const Layout& layout) {
  size_t n = layout.spatial();
  Padding p{"", std::vector<int64_t>(n, 0), std::vector<int64_t>(n, 0)};
  auto mode = layer.get<std::string>("padding");
  auto pads = layer.get<std::vector<int64_t>>("explicit_paddings", {});
  if (mode == "SAME") p.mode = "same_upper";
  else if (mode == "VALID") p.mode = "valid";
  else if (mode == "EXPLICIT") {
    p.mode = "explicit";
    if (pads.size() != 2 * (n + 2)) fail("expected ", 2 * (n + 2), " values in 'explicit_paddings', got ", pads.size());
    within_limits("explicit_paddings", pads);
    for (size_t i = 0; i < n; ++i) {
      p.begin[i] = pads[2 * (layout.first() + i)];
      p.end[i] = pads[2 * (layout.first() + i) + 1];
    }
  } else fail("expected padding SAME, VALID or EXPLICIT, got '", mode, "'");
  return p;
}

// Integers that must be constant.
inline std::vector<int64_t> constant_ints(const Value& v, std::string_view what) {
  auto values = v.values<int64_t>();
  if (!values) unsupported("expected a constant ", what, ", got a computed value");
  return *values;
}
inline int64_t constant_int(const Value& v, std::string_view what) {
  auto values = constant_ints(v, what);
  if (values.size() != 1) fail("expected a single value of ", what, ", got ", values.size());
  return values[0];
}
// A scalar as a 1-D tensor of one element.
inline Value as_list(const Value& v) {
  Shape s = v.shape();
  if (s.ranked() && s.rank() == 1) return v;
  return reshape(v, {-1});
}
inline Value as_scalar(const Value& v) {
  Shape s = v.shape();
  if (s.ranked() && s.rank() == 0) return v;
  return reshape(v, {});
}

// The angle of the point (x, y), with the quadrants and signed zeros of the C function.
inline Value arc_tangent(const Value& y, const Value& x) {
  Builder& layer = y.in();
  constexpr double pi = 3.14159265358979323846;
  auto is_zero = [&](const Value& v) { return layer.op("Equal", {v, like(v, 0)}); };
  auto below = [&](const Value& v) { return layer.op("Less", {v, like(v, 0)}); };
  // -0 too: its reciprocal is negative.
  auto negative = [&](const Value& v) { return layer.op("LogicalOr", {below(v), below(1 / v)}); };
  Value flat = is_zero(x), quarter = build::select(below(y), like(y, -pi / 2), like(y, pi / 2));
  Value base = build::select(flat, build::select(is_zero(y), y, quarter),
                             layer.op("Atan", {y / build::select(flat, like(x, 1), x)}));
  Value half = build::select(negative(y), like(y, -pi), like(y, pi));
  Value upright = layer.op("LogicalAnd", {flat, layer.op("LogicalNot", {is_zero(y)})});
  Value turned = layer.op("LogicalAnd", {negative(x), layer.op("LogicalNot", {upright})});
  return base + build::select(turned, half, like(y, 0));
}

}  // namespace graft::tf
