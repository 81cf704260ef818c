// Reductions, sorting and scans of ATen.
#include "pytorch/call.hpp"

namespace graft {
namespace {

using pt::Call, pt::Ints;

struct PtAxes {
  Value x;  // of rank 1 at least
  Ints axes;
  bool keep = false, scalar = false;
};
// All axes where none are given.
PtAxes pt_axes(Call& c, std::string_view name = "dim") {
  PtAxes a;
  a.x = c["self"];
  a.scalar = a.x.rank() == 0;
  a.x = pt::at_least_1d(a.x);
  Ints given = c.in.has(name) || c.find(name) || !c.list(name).empty() ? c.ints(name) : Ints();
  a.axes = given.empty() ? pt::counting_to(a.x.rank()) : pt::axes_of(given, a.x.rank());
  a.keep = c.flag("keepdim");
  return a;
}
Value pt_result(const PtAxes& a, const Value& y) { return a.scalar && y.rank() == 1 ? reshape(y, {}) : y; }
Value pt_reduced(std::string_view op, const PtAxes& a, const Value& x) {
  return pt_result(a, pt::reduce(op, x, a.axes, a.keep));
}

template <const char* const& operation>
Value import_pt_sum(Builder& layer) {
  Call c(layer);
  PtAxes a = pt_axes(c);
  DType from = a.x.type(), type = c.dtype().value_or(pt::is_float(from) ? from : DType::i64);
  if (layer.type() == "aten::nansum" && pt::is_float(from))
    a.x = pt::where(layer.op("IsNaN", {a.x}), like(a.x, 0), a.x);
  return pt_reduced(operation, a, convert(a.x, type));
}
constexpr const char *pt_sum = "ReduceSum", *pt_prod = "ReduceProd";

Value import_pt_mean(Builder& layer) {
  Call c(layer);
  PtAxes a = pt_axes(c);
  if (auto t = c.dtype()) a.x = convert(a.x, *t);
  if (layer.type() != "aten::nanmean") return pt_reduced("ReduceMean", a, pt::as_float(a.x));
  Value nan = layer.op("IsNaN", {a.x}), sum = pt_reduced("ReduceSum", a, pt::where(nan, like(a.x, 0), a.x));
  return sum / pt_reduced("ReduceSum", a, convert(pt::sign_not(nan), a.x.type()));
}
template <bool largest>
Value import_pt_amax(Builder& layer) {
  Call c(layer);
  PtAxes a = pt_axes(c);
  if (a.x.type() == DType::boolean)
    return pt_reduced(largest ? "ReduceLogicalOr" : "ReduceLogicalAnd", a, a.x);
  return pt_reduced(largest ? "ReduceMax" : "ReduceMin", a, a.x);
}
template <bool all>
Value import_pt_all(Builder& layer) {
  Call c(layer);
  PtAxes a = pt_axes(c);
  Value y = pt_reduced(all ? "ReduceLogicalAnd" : "ReduceLogicalOr", a, pt::truth_of(a.x));
  return c["self"].type() == DType::u8 ? convert(y, DType::u8) : y;
}
Value import_pt_count_nonzero(Builder& layer) {
  Call c(layer);
  PtAxes a = pt_axes(c);
  return pt_reduced("ReduceSum", a, convert(pt::truth_of(a.x), DType::i64));
}

// The first extreme value along an axis, with its index.
std::vector<Value> pt_extreme(const Value& x, int64_t axis, bool largest, bool keep) {
  Builder& in = x.in();
  Value v = x.type() == DType::boolean ? convert(x, DType::u8) : x;
  // What is not a number is an extreme one.
  Value best = pt::reduce(largest ? "ReduceMax" : "ReduceMin", v, {axis}, true);
  Value hit = in.op("Equal", {v, best});
  if (pt::is_float(v.type())) {
    Value nan = in.op("IsNaN", {v}), any = pt::reduce("ReduceLogicalOr", nan, {axis}, true);
    hit = pt::where(any, nan, hit);
    best = pt::where(any, like(v, std::numeric_limits<double>::quiet_NaN()), best);
  }
  Value n = dimension_of(v, axis), at = counting(n, DType::i64);
  Ints dims(v.rank(), 1);
  dims[static_cast<size_t>(axis)] = -1;
  Value index = pt::reduce("ReduceMin", pt::where(hit, reshape(at, dims), n), {axis}, true);
  if (!keep) best = squeeze(best, {axis}), index = squeeze(index, {axis});
  return {convert(best, x.type()), index};
}
template <bool largest>
std::vector<Value> import_pt_max(Builder& layer) {
  Call c(layer);
  if (Value other = c.find("other")) {
    Value x = c["self"];
    DType type = pt::Promotion().add(x).add(other).type();
    return {layer.op(largest ? "Maximum" : "Minimum", {convert(x, type), convert(other, type)})};
  }
  PtAxes a = pt_axes(c);
  if (!c.given("dim")) return {import_pt_amax<largest>(layer)};
  std::vector<Value> out = pt_extreme(a.x, a.axes[0], largest, a.keep);
  for (Value& v : out) v = pt_result(a, v);
  return out;
}
template <bool largest>
Value import_pt_arg_max(Builder& layer) {
  Call c(layer);
  PtAxes a = pt_axes(c);
  if (c.given("dim")) return pt_result(a, pt_extreme(a.x, a.axes[0], largest, a.keep)[1]);
  Value at = pt_extreme(pt::flat(a.x), 0, largest, false)[1];
  return a.keep ? reshape(at, Ints(a.scalar ? 0 : a.x.rank(), 1)) : at;
}
std::vector<Value> import_pt_aminmax(Builder& layer) {
  Call c(layer);
  PtAxes a = pt_axes(c);
  return {pt_reduced("ReduceMin", a, a.x), pt_reduced("ReduceMax", a, a.x)};
}
Value pt_log_sum(const Value& x, const Ints& axes, bool keep) {
  Value most = pt::reduce("ReduceMax", x, axes, true);
  most = pt::where(pt::unary_op("IsFinite", most), most, like(most, 0));
  Value sum = pt::unary_op("Log", pt::reduce("ReduceSum", pt::unary_op("Exp", x - most), axes, true)) + most;
  return keep ? sum : squeeze(sum, axes);
}
Value import_pt_logsumexp(Builder& layer) {
  Call c(layer);
  PtAxes a = pt_axes(c);
  return pt_result(a, pt_log_sum(pt::as_float(a.x), a.axes, a.keep));
}

// Variance around the mean; `correction` degrees of freedom are taken off.
std::pair<Value, Value> pt_variance(Call& c, const PtAxes& a) {
  double correction = c.in.has("unbiased") ? c.flag("unbiased") ? 1 : 0 : c.given("correction") ? c.real("correction") : 1;
  Value x = convert(a.x, DType::f64), mean = pt::reduce("ReduceMean", x, a.axes, true), d = x - mean;
  Value n = pt::count_along(x, a.axes, DType::f64);
  Value rest = n.in().op("Maximum", {n - correction, like(n, 0)});
  Value v = pt::reduce("ReduceSum", d * d, a.axes, a.keep) / rest;
  Value m = a.keep ? mean : squeeze(mean, a.axes);
  return {convert(v, a.x.type()), convert(m, a.x.type())};
}
template <bool root, bool mean>
std::vector<Value> import_pt_variance(Builder& layer) {
  Call c(layer);
  PtAxes a = pt_axes(c);
  auto [v, m] = pt_variance(c, a);
  v = pt_result(a, root ? layer.op("Sqrt", {v}) : v);
  if (mean) return {v, pt_result(a, m)};
  return {v};
}

// ---- norms ----

Value pt_norm(const Value& x, double p, const Ints& axes, bool keep) {
  Value size = pt::absolute(x);
  if (p == std::numeric_limits<double>::infinity()) return pt::reduce("ReduceMax", size, axes, keep);
  if (p == -std::numeric_limits<double>::infinity()) return pt::reduce("ReduceMin", size, axes, keep);
  if (p == 0) return pt::reduce("ReduceSum", convert(pt::truth_of(x), x.type()), axes, keep);
  if (p == 1) return pt::reduce("ReduceSum", size, axes, keep);
  if (p == 2) return pt::unary_op("Sqrt", pt::reduce("ReduceSum", x * x, axes, keep));
  Value sum = pt::reduce("ReduceSum", pt::binary_op("Power", size, like(x, p)), axes, keep);
  return pt::binary_op("Power", sum, like(x, 1 / p));
}
Value import_pt_vector_norm(Builder& layer) {
  Call c(layer);
  PtAxes a = pt_axes(c);
  if (auto t = c.dtype()) a.x = convert(a.x, *t);
  std::string_view name = layer.type() == "aten::linalg_vector_norm" ? "ord" : "p";
  double p = c.given(name) || name == "ord" ? c.real(name) : 2;
  return pt_result(a, pt_norm(pt::as_float(a.x), p, a.axes, a.keep));
}
Value import_pt_dist(Builder& layer) {
  Call c(layer);
  Value d = pt::as_float(c["self"] - c["other"]);
  return pt_norm(d, c.real("p"), pt::counting_to(d.rank()), false);
}
Value import_pt_pairwise_distance(Builder& layer) {
  Call c(layer);
  Value d = pt::as_float(c["x1"]) - pt::as_float(c["x2"]) + c.real("eps");
  return pt_norm(d, c.real("p"), {static_cast<int64_t>(d.rank()) - 1}, c.flag("keepdim"));
}
Value import_pt_cosine_similarity(Builder& layer) {
  Call c(layer);
  Value a = c["x1"], b = c["x2"];
  DType type = pt::Promotion().add(a).add(b).type();
  a = convert(a, type), b = convert(b, type);
  Value product = a * b;
  Ints axis{pt::axis_of(c.integer("dim"), product.rank())};
  // Both have the rank of their product.
  a = pt::broadcast_to(a, product), b = pt::broadcast_to(b, product);
  auto unit = [&](const Value& v) {
    Value n = pt_norm(v, 2, axis, true);
    return v / layer.op("Maximum", {n, like(n, c.real("eps"))});
  };
  return pt::reduce("ReduceSum", unit(a) * unit(b), axis, false);
}
Value import_pt_cdist(Builder& layer) {
  Call c(layer);
  Value d = unsqueeze(c["x1"], {-2}) - unsqueeze(c["x2"], {-3});
  return pt_norm(d, c.real("p"), {static_cast<int64_t>(d.rank()) - 1}, false);
}
Value import_pt_pdist(Builder& layer) {
  Call c(layer);
  Value x = c["self"], d = unsqueeze(x, {1}) - unsqueeze(x, {0});
  Shape s = x.shape();
  if (!s[0].known() || s[0].value() > 4096) unsupported("distances within more than 4096 rows are not supported");
  Ints at;
  int64_t n = s[0].value();
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = i + 1; k < n; ++k) at.push_back(i * n + k);
  return build::gather(pt::flat(pt_norm(d, c.real("p"), {2}, false)), layer.ints(at), 0);
}
Value import_pt_renorm(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  Ints axes = pt::counting_to(x.rank());
  axes.erase(axes.begin() + static_cast<ptrdiff_t>(pt::axis_of(c.integer("dim"), x.rank())));
  Value n = pt_norm(x, c.real("p"), axes, true);
  double most = c.real("maxnorm");
  return pt::where(pt::greater(n, most), x * (like(n, most) / (n + 1e-7)), x);
}

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
  Value place = build::broadcast(at.rank() == wanted.rank() ? at : reshape(at, Ints(wanted.rank(), 1)), shape_of(wanted));
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
  double far = pt::is_float(number.type()) ? std::numeric_limits<double>::infinity()
               : number.type() == DType::u8 ? 255
               : number.type() == DType::i8 ? 127
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
    else o = keep ? pt::swapped(o, axis, last) : axis == last ? squeeze(o, {last}) : squeeze(pt::swapped(o, axis, last), {axis});
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
  Value bad = leave_out ? layer.op("Equal", {count, like(count, 0)})
                        : pt::reduce("ReduceLogicalOr", nan, {last}, true);
  y = pt::where(bad, like(y, std::numeric_limits<double>::quiet_NaN()), y);
  // The quantiles lead.
  Ints order{last};
  for (int64_t i = 0; i < last; ++i) order.push_back(i);
  y = transpose(y, order);
  bool keep = c.flag("keepdim");
  if (keep) {
    if (all) y = reshape(y, [&] { Ints d(rank + 1, 1); d[0] = -1; return d; }());
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
    Value at = i < positions.size() && positions[i]
                   ? positions[i]
                   : convert(counting(dimension_of(x, a), DType::i64), x.type()) *
                         spacings[std::min(i, spacings.size() - 1)];
    at = reshape(convert(at, x.type()), dims);
    auto point = [&](int64_t from, int64_t to) { return build::slice(at, a, from, to); };
    Value h1 = point(1, -1) - point(0, -2), h2 = point(2, INT64_MAX) - point(1, -1);
    Value inner = (cut(2, INT64_MAX) * h1 * h1 + cut(1, -1) * (h2 * h2 - h1 * h1) - cut(0, -2) * h2 * h2) /
                  (h1 * h2 * (h1 + h2));
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

Definitions define_pytorch_reduce() {
  return {
      pt::rules({"aten::sum", "aten::nansum"}, import_pt_sum<pt_sum>),
      pt::rules({"aten::prod"}, import_pt_sum<pt_prod>),
      pt::rules({"aten::mean", "aten::nanmean"}, import_pt_mean),
      pt::rules({"aten::amax"}, import_pt_amax<true>),
      pt::rules({"aten::amin"}, import_pt_amax<false>),
      pt::rules({"aten::all"}, import_pt_all<true>),
      pt::rules({"aten::any"}, import_pt_all<false>),
      pt::rules({"aten::count_nonzero"}, import_pt_count_nonzero),
      pt::rules({"aten::max"}, import_pt_max<true>),
      pt::rules({"aten::min"}, import_pt_max<false>),
      pt::rules({"aten::argmax"}, import_pt_arg_max<true>),
      pt::rules({"aten::argmin"}, import_pt_arg_max<false>),
      pt::rules({"aten::aminmax"}, import_pt_aminmax),
      pt::rules({"aten::logsumexp", "aten::special_logsumexp"}, import_pt_logsumexp),
      pt::rules({"aten::var"}, import_pt_variance<false, false>),
      pt::rules({"aten::std"}, import_pt_variance<true, false>),
      pt::rules({"aten::var_mean"}, import_pt_variance<false, true>),
      pt::rules({"aten::std_mean"}, import_pt_variance<true, true>),
      pt::rules({"aten::linalg_vector_norm", "aten::norm"}, import_pt_vector_norm),
      pt::rules({"aten::dist"}, import_pt_dist),
      pt::rules({"aten::pairwise_distance"}, import_pt_pairwise_distance),
      pt::rules({"aten::cosine_similarity"}, import_pt_cosine_similarity),
      pt::rules({"aten::cdist", "aten::_cdist_forward", "aten::_euclidean_dist"}, import_pt_cdist, {"compute_mode"}),
      pt::rules({"aten::pdist", "aten::_pdist_forward"}, import_pt_pdist),
      pt::rules({"aten::renorm"}, import_pt_renorm),
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
