// Reductions and norms of ATen.
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
  if (a.x.type() == DType::boolean) return pt_reduced(largest ? "ReduceLogicalOr" : "ReduceLogicalAnd", a, a.x);
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
  double correction = c.in.has("unbiased")    ? c.flag("unbiased") ? 1 : 0
                      : c.given("correction") ? c.real("correction")
                                              : 1;
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

Value import_pt_vector_norm(Builder& layer) {
  Call c(layer);
  PtAxes a = pt_axes(c);
  if (auto t = c.dtype()) a.x = convert(a.x, *t);
  std::string_view name = layer.type() == "aten::linalg_vector_norm" ? "ord" : "p";
  double p = c.given(name) || name == "ord" ? c.real(name) : 2;
  return pt_result(a, pt::norm_over(pt::as_float(a.x), p, a.axes, a.keep));
}
Value import_pt_dist(Builder& layer) {
  Call c(layer);
  Value d = pt::as_float(c["self"] - c["other"]);
  return pt::norm_over(d, c.real("p"), pt::counting_to(d.rank()), false);
}
Value import_pt_pairwise_distance(Builder& layer) {
  Call c(layer);
  Value d = pt::as_float(c["x1"]) - pt::as_float(c["x2"]) + c.real("eps");
  return pt::norm_over(d, c.real("p"), {static_cast<int64_t>(d.rank()) - 1}, c.flag("keepdim"));
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
    Value n = pt::norm_over(v, 2, axis, true);
    return v / layer.op("Maximum", {n, like(n, c.real("eps"))});
  };
  return pt::reduce("ReduceSum", unit(a) * unit(b), axis, false);
}
Value import_pt_cdist(Builder& layer) {
  Call c(layer);
  Value d = unsqueeze(c["x1"], {-2}) - unsqueeze(c["x2"], {-3});
  return pt::norm_over(d, c.real("p"), {static_cast<int64_t>(d.rank()) - 1}, false);
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
  return build::gather(pt::flat(pt::norm_over(d, c.real("p"), {2}, false)), layer.ints(at), 0);
}
Value import_pt_renorm(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  Ints axes = pt::counting_to(x.rank());
  axes.erase(axes.begin() + static_cast<ptrdiff_t>(pt::axis_of(c.integer("dim"), x.rank())));
  Value n = pt::norm_over(x, c.real("p"), axes, true);
  double most = c.real("maxnorm");
  return pt::where(pt::greater(n, most), x * (like(n, most) / (n + 1e-7)), x);
}

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
  };
}

}  // namespace graft
