// Reductions, and the largest and smallest elements.
#include "mxnet/building.hpp"

namespace graft {
namespace {

struct MxnetReduction {
  Value x;
  std::vector<int64_t> axes;
  bool keep;
};

// 'axis' may be absent, a number or a list; 'exclude' means all others. Over all elements, the data is a vector.
MxnetReduction mxnet_reduction(Builder& layer) {
  MxnetReduction r{layer.input(0), mx::ints(layer, "axis"), mx::bool_or(layer, "keepdims", false)};
  bool exclude = mx::bool_or(layer, "exclude", false);
  if (exclude && !r.axes.empty()) {
    size_t rank = r.x.rank();
    std::vector<size_t> named = normalize_axes(r.axes, rank);
    r.axes.clear();
    for (size_t i = 0; i < rank; ++i)
      if (std::find(named.begin(), named.end(), i) == named.end()) r.axes.push_back(static_cast<int64_t>(i));
    return r;
  }
  if (!r.axes.empty()) return r;
  if (r.keep) {
    r.axes = mx::axes_from(0, r.x.rank());
  } else {
    r.x = reshape(r.x, {-1}), r.axes = {0}, r.keep = true;  // MXNet has no scalars
  }
  return r;
}

template <const char* const& operation>
Value import_mxnet_reduce(Builder& layer) {
  MxnetReduction r = mxnet_reduction(layer);
  return mx::at_least_1d(layer.op(operation, {r.x, layer.ints(r.axes)}, {{"keep_dims", r.keep}}));
}
constexpr const char *reduce_sum_op = "ReduceSum", *reduce_mean_op = "ReduceMean", *reduce_prod_op = "ReduceProd",
                     *reduce_max_op = "ReduceMax", *reduce_min_op = "ReduceMin";

// NaN counts as the neutral element.
template <const char* const& operation>
Value import_mxnet_nan_reduce(Builder& layer) {
  MxnetReduction r = mxnet_reduction(layer);
  double neutral = layer.type() == "nanprod" ? 1 : 0;
  Value x = build::select(layer.op("IsNaN", {r.x}), like(r.x, neutral), r.x);
  return mx::at_least_1d(layer.op(operation, {x, layer.ints(r.axes)}, {{"keep_dims", r.keep}}));
}

Value import_mxnet_norm(Builder& layer) {
  MxnetReduction r = mxnet_reduction(layer);
  auto order = mx::int_or(layer, "ord", 2);
  if (order != 1 && order != 2) unsupported("norm of order ", order, " is not supported, only 1 and 2");
  return mx::at_least_1d(
      layer.op(order == 1 ? "ReduceL1" : "ReduceL2", {r.x, layer.ints(r.axes)}, {{"keep_dims", r.keep}}));
}

// ---- largest and smallest ----

Value mxnet_position(Builder& layer, bool largest) {
  Value x = layer.input(0);
  auto axis = mx::optional_int(layer, "axis");
  if (layer.type() == "argmax_channel") axis = 1;
  bool keep = mx::bool_or(layer, "keepdims", false);
  if (!axis) {
    size_t rank = keep ? x.rank() : 0;
    Value index = mx::top_k(reshape(x, {-1}), layer.scalar(int64_t{1}), 0, largest)[1];
    return convert(keep ? reshape(index, std::vector<int64_t>(rank, 1)) : index, x.type());
  }
  Value index = mx::top_k(x, layer.scalar(int64_t{1}), *axis, largest)[1];
  return convert(keep ? index : mx::at_least_1d(squeeze(index, {*axis})), x.type());
}
Value import_mxnet_argmax(Builder& layer) { return mxnet_position(layer, true); }
Value import_mxnet_argmin(Builder& layer) { return mxnet_position(layer, false); }

// Where the chosen elements are, as 0 and 1.
Value mxnet_mask_of(Builder& layer, const Value& x, const Value& indices, int64_t axis) {
  size_t rank = x.rank(), at = normalize_axis(axis, rank);
  std::vector<int64_t> order = mx::axes_from(0, rank), back(rank);
  std::rotate(order.begin() + static_cast<ptrdiff_t>(at), order.begin() + static_cast<ptrdiff_t>(at) + 1, order.end());
  for (size_t i = 0; i < rank; ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  Value hot =
      layer.op("OneHot@1", {transpose(indices, order), dimension_of(x, axis), like(x, 1), like(x, 0)}, {{"axis", -1}});
  return transpose(layer.op("ReduceMax", {hot, layer.ints({-2})}, {{"keep_dims", false}}), back);
}

std::vector<Value> import_mxnet_topk(Builder& layer) {
  Value x = layer.input(0);
  std::string kind = mx::word_or(layer, "ret_typ", "indices");
  bool flat = layer.has("axis") && mx::is_none(layer, "axis");
  auto axis = flat ? 0 : mx::int_or(layer, "axis", -1);
  Value data = flat ? reshape(x, {-1}) : x;
  auto k = mx::int_or(layer, "k", 1);
  DType type = mx::element_type(layer, "dtype", DType::f32);
  std::vector<Value> best = mx::top_k(data, k < 1 ? dimension_of(data, axis) : layer.scalar(k), axis,
                                      !mx::bool_or(layer, "is_ascend", false));
  if (kind == "value") return {best[0]};
  if (kind == "mask") {
    Value mask = mxnet_mask_of(layer, data, best[1], axis);
    return {flat ? mx::same_shape(mask, x) : mask};
  }
  Value indices = convert(best[1], type);
  if (kind == "indices") return {indices};
  if (kind == "both") return {best[0], indices};
  fail("expected 'ret_typ' value, indices, mask or both, got '", kind, "'");
}

Value mxnet_sorted(Builder& layer, size_t output) {
  Value x = layer.input(0);
  bool flat = layer.has("axis") && mx::is_none(layer, "axis");
  auto axis = flat ? 0 : mx::int_or(layer, "axis", -1);
  if (flat) x = reshape(x, {-1});
  DType type = mx::element_type(layer, "dtype", DType::f32);
  Value out = mx::top_k(x, dimension_of(x, axis), axis, !mx::bool_or(layer, "is_ascend", true))[output];
  return output ? convert(out, type) : out;
}
Value import_mxnet_sort(Builder& layer) { return mxnet_sorted(layer, 0); }
Value import_mxnet_argsort(Builder& layer) { return mxnet_sorted(layer, 1); }

Value import_mxnet_cumsum(Builder& layer) {
  Value x = layer.input(0);
  auto axis = mx::optional_int(layer, "axis");
  x = convert(x, mx::element_type(layer, "dtype", x.type()));
  return layer.op("CumSum", {axis ? x : reshape(x, {-1}), layer.scalar(axis.value_or(0))});
}

}  // namespace

Definitions define_mxnet_reduce() {
  return {
      mx::rules({"sum", "sum_axis", "_np_sum"}, import_mxnet_reduce<reduce_sum_op>, {"dtype", "initial"}),
      mx::rules({"mean", "_npi_mean"}, import_mxnet_reduce<reduce_mean_op>, {"dtype", "initial"}),
      mx::rules({"prod", "_np_prod"}, import_mxnet_reduce<reduce_prod_op>, {"dtype", "initial"}),
      mx::rules({"max", "max_axis", "_np_max"}, import_mxnet_reduce<reduce_max_op>, {"initial"}),
      mx::rules({"min", "min_axis", "_np_min"}, import_mxnet_reduce<reduce_min_op>, {"initial"}),
      mx::rules({"nansum"}, import_mxnet_nan_reduce<reduce_sum_op>),
      mx::rules({"nanprod"}, import_mxnet_nan_reduce<reduce_prod_op>),
      mx::rules({"norm"}, import_mxnet_norm, {"out_dtype"}),
      mx::rules({"argmax", "argmax_channel"}, import_mxnet_argmax),
      mx::rules({"argmin"}, import_mxnet_argmin),
      mx::rules({"topk"}, import_mxnet_topk),
      mx::rules({"sort"}, import_mxnet_sort),
      mx::rules({"argsort"}, import_mxnet_argsort),
      mx::rules({"cumsum", "_np_cumsum"}, import_mxnet_cumsum),
  };
}

}  // namespace graft
