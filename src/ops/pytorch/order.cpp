// Sorting, scans and softmax of ATen.
#include "pytorch/call.hpp"

namespace graft {
namespace {

using pt::Call, pt::Ints;

// ---- order ----

std::vector<Value> pt_sorted(const Value& x, int64_t axis, bool descending) {
  Value v = x.type() == DType::boolean ? convert(x, DType::u8) : x;
  std::vector<Value> out = pt::top_k(v, dimension_of(v, axis), axis, descending, "value");
  out[0] = convert(out[0], x.type());
  return out;
}
std::vector<Value> import_pt_sort(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  bool scalar = x.rank() == 0;
  x = pt::at_least_1d(x);
  int64_t axis = layer.type() == "aten::msort" ? 0 : pt::axis_of(c.integer("dim"), x.rank());
  std::vector<Value> out = pt_sorted(x, axis, c.flag("descending"));
  for (Value& v : out) v = scalar ? reshape(v, {}) : v;
  if (layer.type() == "aten::argsort") return {out[1]};
  if (layer.type() == "aten::msort") return {out[0]};
  return out;
}
std::vector<Value> import_pt_topk(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  bool scalar = x.rank() == 0;
  x = pt::at_least_1d(x);
  Value v = x.type() == DType::boolean ? convert(x, DType::u8) : x;
  std::vector<Value> out =
      pt::top_k(v, c.whole("k"), pt::axis_of(c.integer("dim"), x.rank()), c.flag("largest"), "value");
  out[0] = convert(out[0], x.type());
  for (Value& o : out) o = scalar ? reshape(o, {}) : o;
  return out;
}
std::vector<Value> pt_taken(const std::vector<Value>& sorted, int64_t at, int64_t axis, bool keep, bool scalar) {
  std::vector<Value> out;
  for (const Value& v : sorted) {
    Value one = build::slice(v, axis, at, at + 1);
    out.push_back(scalar ? reshape(one, {}) : keep ? one : squeeze(one, {axis}));
  }
  return out;
}
std::vector<Value> import_pt_kthvalue(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  bool scalar = x.rank() == 0;
  x = pt::at_least_1d(x);
  int64_t axis = pt::axis_of(c.integer("dim"), x.rank()), k = c.integer("k");
  if (k < 1) fail("expected k of at least 1, got ", k);
  return pt_taken(pt_sorted(x, axis, false), k - 1, axis, c.flag("keepdim"), scalar);
}
// The lower of two middle values. What is not a number counts as the largest one, or is left out.
std::vector<Value> import_pt_median(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  bool all = !c.given("dim"), scalar = x.rank() == 0, leave_out = layer.type() == "aten::nanmedian";
  x = all ? pt::flat(x) : pt::at_least_1d(x);
  int64_t axis = all ? 0 : pt::axis_of(c.integer("dim"), x.rank());
  Value v = x;
  bool floating = pt::is_float(x.type());
  Value nan;
  if (floating) {
    nan = layer.op("IsNaN", {x});
    v = pt::where(nan, like(x, std::numeric_limits<double>::infinity()), x);
  }
  std::vector<Value> sorted = pt_sorted(v, axis, false);
  Value n = reshape(dimension_of(x, axis), {1});
  Value count = n;
  if (floating) {
    Value numbers = pt::reduce("ReduceSum", convert(pt::sign_not(nan), DType::i64), {axis}, true);
    if (leave_out) count = numbers;
    else count = pt::where(layer.op("Less", {numbers, n}), n * 2.0, numbers);  // the last one
  }
  Value at = layer.op("Minimum", {(count - 1.0) / 2.0, n - 1.0});
  at = layer.op("Maximum", {at, like(at, 0)});
  Value wanted = pt::reduce("ReduceSum", sorted[0], {axis}, true);
  Value place =
      build::broadcast(at.rank() == wanted.rank() ? at : reshape(at, Ints(wanted.rank(), 1)), shape_of(wanted));
  Value value = layer.op("GatherElements", {sorted[0], place}, {{"axis", axis}}),
        index = layer.op("GatherElements", {sorted[1], place}, {{"axis", axis}});
  if (floating) value = layer.op("GatherElements", {x, index}, {{"axis", axis}});
  bool keep = c.flag("keepdim");
  std::vector<Value> out{value, index};
  for (Value& o : out) o = all || scalar ? reshape(o, {}) : keep ? o : squeeze(o, {axis});
  if (all) out.pop_back();
  return out;
}
// The most frequent value, the smallest of several, and where it is last.
std::vector<Value> import_pt_mode(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  bool scalar = x.rank() == 0;
  x = pt::at_least_1d(x);
  int64_t axis = pt::axis_of(c.integer("dim"), x.rank()), last = static_cast<int64_t>(x.rank()) - 1;
  Value v = pt::swapped(x, axis, last);
  Value same = layer.op("Equal", {unsqueeze(v, {-1}), unsqueeze(v, {-2})});
  Value times = pt::reduce("ReduceSum", convert(same, DType::i64), {last + 1}, false);
  Value most = pt::reduce("ReduceMax", times, {last}, true), hit = layer.op("Equal", {times, most});
  Value number = v.type() == DType::boolean ? convert(v, DType::u8) : v;
  double far = pt::is_float(number.type())   ? std::numeric_limits<double>::infinity()
               : number.type() == DType::u8  ? 255
               : number.type() == DType::i8  ? 127
               : number.type() == DType::i16 ? 32767
               : number.type() == DType::i32 ? 2147483647
                                             : 9.2e18;
  Value best = pt::reduce("ReduceMin", pt::where(hit, number, like(number, far)), {last}, true);
  Value at = counting(dimension_of(v, last), DType::i64);
  Value index = pt::reduce("ReduceMax", pt::where(layer.op("Equal", {number, best}), at, like(at, -1)), {last}, true);
  std::vector<Value> out{convert(best, x.type()), index};
  bool keep = c.flag("keepdim");
  for (Value& o : out) {
    if (scalar) o = reshape(o, {});
    else
      o = keep           ? pt::swapped(o, axis, last)
          : axis == last ? squeeze(o, {last})
                         : squeeze(pt::swapped(o, axis, last), {axis});
  }
  return out;
}
// Numbers between sorted ones, at `q` of the way.
Value import_pt_quantile(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  bool all = !c.given("dim"), leave_out = layer.type() == "aten::nanquantile";
  size_t rank = x.rank();
  x = all ? pt::flat(x) : pt::at_least_1d(x);
  int64_t axis = all ? 0 : pt::axis_of(c.integer("dim"), x.rank()), last = static_cast<int64_t>(x.rank()) - 1;
  Value v = pt::swapped(x, axis, last), q = c.number("q", x.type()), list = pt::flat(q);
  Value nan = layer.op("IsNaN", {v});
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Value sorted = pt_sorted(pt::where(nan, like(v, infinity), v), last, false)[0];
  Value count = pt::reduce("ReduceSum", convert(pt::sign_not(nan), v.type()), {last}, true);
  Value rank_of = layer.op("Maximum", {(count - 1.0), like(count, 0)}) * list;
  std::string how = c.given("interpolation") ? c.word("interpolation") : "linear";
  Value low = layer.op("Floor", {rank_of}), high = layer.op("Ceiling", {rank_of});
  if (how == "lower") high = low;
  else if (how == "higher") low = high;
  else if (how == "nearest") low = high = layer.op("Round", {rank_of});
  auto pick = [&](const Value& at) {
    return layer.op("GatherElements", {sorted, convert(at, DType::i64)}, {{"axis", last}});
  };
  Value a = pick(low), b = pick(high);
  Value weight = how == "midpoint" ? like(a, 0.5) : rank_of - low;
  Value y = pt::where(layer.op("Equal", {a, b}), a, a + (b - a) * weight);
  Value bad = leave_out ? layer.op("Equal", {count, like(count, 0)}) : pt::reduce("ReduceLogicalOr", nan, {last}, true);
  y = pt::where(bad, like(y, std::numeric_limits<double>::quiet_NaN()), y);
  // The quantiles lead.
  Ints order{last};
  for (int64_t i = 0; i < last; ++i) order.push_back(i);
  y = transpose(y, order);
  bool keep = c.flag("keepdim");
  if (keep) {
    if (all)
      y = reshape(y, [&] {
        Ints d(rank + 1, 1);
        d[0] = -1;
        return d;
      }());
    else {
      y = unsqueeze(y, {last + 1});
      y = pt::swapped(y, axis + 1, last + 1);
    }
  } else if (!all && axis != last) {
    // The last axis took the place of the reduced one.
    Ints back = pt::counting_to(y.rank());
    int64_t moved = back[static_cast<size_t>(axis) + 1];
    back.erase(back.begin() + static_cast<ptrdiff_t>(axis) + 1), back.push_back(moved);
    y = transpose(y, back);
  }
  return q.rank() == 0 ? squeeze(y, {0}) : y;
}

// ---- scans ----

template <const char* const& operation>
Value import_pt_cumulative(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  DType type = c.dtype().value_or(pt::is_float(x.type()) ? x.type() : DType::i64);
  x = convert(x, type);
  if (x.rank() == 0) return x;
  return layer.op(operation, {x, layer.scalar(pt::axis_of(c.integer("dim"), x.rank()))});
}
constexpr const char *pt_cum_sum = "CumSum", *pt_cum_prod = "CumProd", *pt_cum_log = "CumLogSumExp";

// The extreme value so far and where it was, the last of equal ones: doubling the reach in each step.
template <bool largest>
std::vector<Value> import_pt_cummax(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  if (x.rank() == 0) return {x, layer.scalar(int64_t{0})};
  int64_t axis = pt::axis_of(c.integer("dim"), x.rank());
  Shape s = x.shape();
  const Dim& d = s[static_cast<size_t>(axis)];
  if (!d.known()) needs_shape("cummax and cummin need an axis of known size");
  Value v = x.type() == DType::boolean ? convert(x, DType::u8) : x;
  Ints dims(x.rank(), 1);
  dims[static_cast<size_t>(axis)] = -1;
  Value at = pt::broadcast_to(reshape(counting(layer.scalar(d.value()), DType::i64), dims), v);
  for (int64_t reach = 1; reach < d.value(); reach *= 2) {
    auto shifted = [&](const Value& t) {
      return build::concat({build::slice(t, axis, 0, reach), build::slice(t, axis, 0, -reach)}, axis);
    };
    Value before = shifted(v), place = shifted(at);
    Value better = layer.op(largest ? "Greater" : "Less", {before, v});
    if (pt::is_float(v.type())) {
      Value nan = layer.op("IsNaN", {before}), now = layer.op("IsNaN", {v});
      better = layer.op("LogicalAnd", {layer.op("LogicalOr", {better, nan}), pt::sign_not(now)});
    }
    v = pt::where(better, before, v), at = pt::where(better, place, at);
  }
  return {convert(v, x.type()), at};
}
Value pt_differences(const Value& x, int64_t axis) {
  Value a = build::slice(x, axis, 1, INT64_MAX), b = build::slice(x, axis, 0, -1);
  return x.type() == DType::boolean ? pt::binary_op("LogicalXor", a, b) : a - b;
}
Value import_pt_diff(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  int64_t axis = pt::axis_of(c.integer("dim"), x.rank()), n = c.integer("n");
  std::vector<Value> parts;
  if (Value p = c.find("prepend")) parts.push_back(p);
  parts.push_back(x);
  if (Value p = c.find("append")) parts.push_back(p);
  x = build::concat(parts, axis);
  if (n < 0 || n > 1000) fail("expected 0 to 1000 differences, got ", n);
  for (int64_t i = 0; i < n; ++i) x = pt_differences(x, axis);
  return x;
}
template <bool cumulative>
Value import_pt_trapezoid(Builder& layer) {
  Call c(layer);
  Value y = c["y"];
  int64_t axis = pt::axis_of(c.integer("dim"), y.rank());
  Value pairs = build::slice(y, axis, 1, INT64_MAX) + build::slice(y, axis, 0, -1);
  Value areas;
  if (Value x = c.find("x")) {
    Value steps = x.rank() == 1 ? pt_differences(x, 0) : pt_differences(x, pt::axis_of(c.integer("dim"), x.rank()));
    if (x.rank() == 1) {
      Ints dims(y.rank(), 1);
      dims[static_cast<size_t>(axis)] = -1;
      steps = reshape(steps, dims);
    }
    DType type = pt::Promotion().add(pairs).add(steps).type();
    if (!pt::is_float(type)) type = DType::f32;
    areas = convert(pairs, type) * convert(steps, type) / 2.0;
  } else {
    areas = pt::as_float(pairs) * (c.real("dx") / 2);
  }
  if (cumulative) return layer.op("CumSum", {areas, layer.scalar(axis)});
  return pt::reduce("ReduceSum", areas, {axis}, false);
}
std::vector<Value> import_pt_gradient(Builder& layer) {
  Call c(layer);
  Value x = pt::as_float(c["self"]);
  Ints axes = c.given("dim") ? pt::axes_of(c.ints("dim"), x.rank()) : pt::counting_to(x.rank());
  std::vector<Value> positions = c.list("spacing"), out;
  auto spacings = layer.has("spacing") ? layer.get<std::vector<double>>("spacing") : std::vector<double>{1};
  int64_t order = c.integer("edge_order");
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t a = axes[i];
    auto cut = [&](int64_t from, int64_t to) { return build::slice(x, a, from, to); };
    Ints dims(x.rank(), 1);
    dims[static_cast<size_t>(a)] = -1;
    Shape s = x.shape();
    Value at = i < positions.size() && positions[i] ? positions[i]
                                                    : convert(counting(dimension_of(x, a), DType::i64), x.type()) *
                                                          spacings[std::min(i, spacings.size() - 1)];
    at = reshape(convert(at, x.type()), dims);
    auto point = [&](int64_t from, int64_t to) { return build::slice(at, a, from, to); };
    Value h1 = point(1, -1) - point(0, -2), h2 = point(2, INT64_MAX) - point(1, -1);
    Value inner =
        (cut(2, INT64_MAX) * h1 * h1 + cut(1, -1) * (h2 * h2 - h1 * h1) - cut(0, -2) * h2 * h2) / (h1 * h2 * (h1 + h2));
    Value first, last;
    if (order == 1) {
      first = (cut(1, 2) - cut(0, 1)) / (point(1, 2) - point(0, 1));
      last = (cut(-1, INT64_MAX) - cut(-2, -1)) / (point(-1, INT64_MAX) - point(-2, -1));
    } else {
      Value a1 = point(1, 2) - point(0, 1), a2 = point(2, 3) - point(1, 2);
      first = cut(0, 1) * (-(a1 * 2.0 + a2) / (a1 * (a1 + a2))) + cut(1, 2) * ((a1 + a2) / (a1 * a2)) -
              cut(2, 3) * (a1 / (a2 * (a1 + a2)));
      Value b1 = point(-2, -1) - point(-3, -2), b2 = point(-1, INT64_MAX) - point(-2, -1);
      last = cut(-3, -2) * (b2 / (b1 * (b1 + b2))) - cut(-2, -1) * ((b1 + b2) / (b1 * b2)) +
             cut(-1, INT64_MAX) * ((b1 + b2 * 2.0) / (b2 * (b1 + b2)));
    }
    out.push_back(build::concat({first, inner, last}, a));
  }
  return out;
}

// ---- softmax ----

template <const char* const& operation>
Value import_pt_softmax(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  if (auto t = c.dtype()) x = convert(x, *t);
  if (c.flag("half_to_float")) x = convert(x, DType::f32);
  bool scalar = x.rank() == 0;
  x = pt::at_least_1d(pt::as_float(x));
  int64_t axis = pt::axis_of(c.integer("dim"), x.rank());
  Value y = layer.op(operation, {x}, {{"axis", axis}});
  if (layer.type() == "aten::_safe_softmax") {
    Value masked = pt::equals(x, -std::numeric_limits<double>::infinity());
    y = pt::where(pt::reduce("ReduceLogicalAnd", masked, {axis}, true), like(y, 0), y);
  }
  return scalar ? reshape(y, {}) : y;
}
constexpr const char *pt_softmax = "Softmax@8", *pt_log_softmax = "LogSoftmax";

}  // namespace

Definitions define_pytorch_order() {
  return {
      pt::rules({"aten::sort", "aten::argsort", "aten::msort"}, import_pt_sort, {"stable"}),
      pt::rules({"aten::topk"}, import_pt_topk, {"sorted"}),
      pt::rules({"aten::kthvalue"}, import_pt_kthvalue),
      pt::rules({"aten::median", "aten::nanmedian"}, import_pt_median),
      pt::rules({"aten::mode"}, import_pt_mode),
      pt::rules({"aten::quantile", "aten::nanquantile"}, import_pt_quantile),
      pt::rules({"aten::cumsum"}, import_pt_cumulative<pt_cum_sum>),
      pt::rules({"aten::cumprod"}, import_pt_cumulative<pt_cum_prod>),
      pt::rules({"aten::logcumsumexp", "aten::_logcumsumexp"}, import_pt_cumulative<pt_cum_log>),
      pt::rules({"aten::cummax"}, import_pt_cummax<true>),
      pt::rules({"aten::cummin"}, import_pt_cummax<false>),
      pt::rules({"aten::diff"}, import_pt_diff),
      pt::rules({"aten::trapz", "aten::trapezoid"}, import_pt_trapezoid<false>),
      pt::rules({"aten::cumulative_trapezoid"}, import_pt_trapezoid<true>),
      pt::rules({"aten::gradient"}, import_pt_gradient),
      pt::rules({"aten::softmax", "aten::_softmax", "aten::_safe_softmax", "aten::special_softmax"},
                import_pt_softmax<pt_softmax>),
      pt::rules({"aten::log_softmax", "aten::_log_softmax", "aten::special_log_softmax"},
                import_pt_softmax<pt_log_softmax>),
  };
}

}  // namespace graft
