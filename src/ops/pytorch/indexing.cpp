// Gathering, scattering and searching elements.
#include "pytorch/call.hpp"

namespace graft {
namespace {

using pt::Call, pt::Ints;

// ---- gathering along an axis ----

Value import_pt_index_select(Builder& layer) {
  Call c(layer);
  Value x = c["self"], index = pt::flat(c["index"]);
  if (x.rank() == 0) return x;
  return build::gather(x, index, pt::axis_of(c.integer("dim"), x.rank()));
}
Value pt_gathered(const Value& x, const Value& index, int64_t dim) {
  if (x.rank() == 0 && index.rank() == 0) return x;
  Value v = pt::at_least_1d(x), i = pt::at_least_1d(index);
  int64_t axis = pt::axis_of(dim, v.rank());
  // The index may be smaller along the other axes.
  Shape vs = v.shape(), is = i.shape();
  for (size_t a = 0; a < v.rank(); ++a)
    if (static_cast<int64_t>(a) != axis && !vs[a].same(is[a]))
      v = build::slice(v, static_cast<int64_t>(a), v.in().ints({0}), build::dim(i, static_cast<int64_t>(a)));
  Value y = v.in().op("GatherElements", {v, convert(i, DType::i64)}, {{"axis", axis}});
  return index.rank() == 0 ? reshape(y, {}) : y;
}
Value import_pt_gather(Builder& layer) {
  Call c(layer);
  return pt_gathered(c["self"], c["index"], c.integer("dim"));
}
Value import_pt_take_along_dim(Builder& layer) {
  Call c(layer);
  Value x = c["self"], index = c["indices"];
  if (!c.given("dim")) return pt_gathered(pt::flat(x), pt::flat(index), 0);
  int64_t axis = pt::axis_of(c.integer("dim"), x.rank());
  Ints dims(x.rank(), 1), other(x.rank(), 1);
  // Both are broadcast along the other axes.
  std::vector<Value> a, b;
  for (int64_t i : pt::counting_to(x.rank())) {
    Value m = layer.op("Maximum", {build::dim(x, i), build::dim(index, i)});
    a.push_back(i == axis ? build::dim(x, i) : m), b.push_back(i == axis ? build::dim(index, i) : m);
  }
  return pt_gathered(pt::expanded(x, build::concat(a, 0)), pt::expanded(index, build::concat(b, 0)), axis);
}
Value import_pt_take(Builder& layer) {
  Call c(layer);
  return build::gather(pt::flat(c["self"]), c["index"], 0);
}

// ---- scattering along an axis ----

Value pt_scattered(const Value& x, const Value& index, const Value& src, int64_t dim, const std::string& reduction,
                   bool initial) {
  Builder& in = x.in();
  Value v = pt::at_least_1d(x), i = pt::at_least_1d(convert(index, DType::i64)),
        u = pt::at_least_1d(convert(src, x.type()));
  int64_t axis = pt::axis_of(dim, v.rank());
  Shape us = u.shape(), is = i.shape();
  for (size_t a = 0; a < v.rank() && us.rank() == is.rank(); ++a)
    if (!us[a].same(is[a]))
      u = build::slice(u, static_cast<int64_t>(a), in.ints({0}), build::dim(i, static_cast<int64_t>(a)));
  bool truth = v.type() == DType::boolean;
  Value w = truth && reduction != "none" ? convert(v, DType::u8) : v;
  if (w.type() != u.type()) u = convert(u, w.type());
  Value y = in.op("ScatterElementsUpdate", {w, i, u, in.scalar(axis)},
                  {{"reduction", truth && reduction == "sum" ? "max" : reduction}, {"use_init_val", initial}});
  return pt::same_shape(convert(y, x.type()), x);
}
std::string pt_reduction(const std::string& name) {
  if (name == "add" || name == "sum") return "sum";
  if (name == "multiply" || name == "prod") return "prod";
  if (name == "mean") return "mean";
  if (name == "amax") return "max";
  if (name == "amin") return "min";
  fail("expected a reduction add, multiply, sum, prod, mean, amax or amin, got '", name, "'");
}
Value import_pt_scatter(Builder& layer) {
  Call c(layer);
  Value x = c["self"], index = c["index"], src = c.find("src");
  if (!src) src = build::broadcast(as_scalar(c.number("value", x.type())), shape_of(index));
  bool add = layer.type() == "aten::scatter_add";
  std::string reduction = add ? "sum" : c.given("reduce") ? pt_reduction(c.word("reduce")) : "none";
  bool initial = layer.type() == "aten::scatter_reduce" ? c.flag("include_self") : true;
  return pt_scattered(x, index, src, c.integer("dim"), reduction, initial);
}
// Slices along an axis at places of a list.
Value pt_index_scattered(Call& c, const Value& source, const std::string& reduction, bool initial) {
  Value x = c["self"], v = pt::at_least_1d(x);
  int64_t axis = pt::axis_of(c.integer("dim"), v.rank());
  Value index = pt::flat(c["index"]), u = convert(source, x.type());
  if (u.rank() == 0 && v.rank() == 1) u = reshape(u, {1});
  Ints dims(v.rank(), 1);
  dims[static_cast<size_t>(axis)] = -1;
  if (u.rank() < v.rank()) u = reshape(u, Ints(v.rank(), 1));
  std::vector<Value> sizes;
  for (int64_t a : pt::counting_to(v.rank())) sizes.push_back(a == axis ? build::dim(index, 0) : build::dim(v, a));
  Value target = build::concat(sizes, 0);
  return pt::same_shape(
      pt_scattered(v, pt::expanded(reshape(index, dims), target), pt::expanded(u, target), axis, reduction, initial),
      x);
}
Value import_pt_index_add(Builder& layer) {
  Call c(layer);
  Value source = c["source"];
  if (c.given("alpha")) source = source * c.number("alpha", source.type());
  return pt_index_scattered(c, source, "sum", true);
}
Value import_pt_index_copy(Builder& layer) {
  Call c(layer);
  return pt_index_scattered(c, c["source"], "none", true);
}
Value import_pt_index_fill(Builder& layer) {
  Call c(layer);
  return pt_index_scattered(c, as_scalar(c.number("value", c["self"].type())), "none", true);
}
Value import_pt_index_reduce(Builder& layer) {
  Call c(layer);
  return pt_index_scattered(c, c["source"], pt_reduction(c.word("reduce")), c.flag("include_self"));
}

// ---- indexing with tensors ----

struct PtIndexed {
  std::vector<Value> at;  // broadcast to each other: one index per axis that is indexed
  Ints axes;
  bool together = true;  // the axes are next to each other
};
PtIndexed pt_indexed(const Value& x, const std::vector<Value>& given) {
  PtIndexed r;
  int64_t axis = 0;
  for (const Value& i : given) {
    if (!i) {
      ++axis;
      continue;
    }
    if (i.type() == DType::boolean || i.type() == DType::u8) {
      // As many axes as the mask has.
      std::vector<Value> columns;
      Value rows = i.in().op("NonZero", {i}, {{"output_type", DType::i64}});
      if (i.rank() == 0) unsupported("indexing with a mask of rank 0 is not supported");
      for (size_t k = 0; k < i.rank(); ++k)
        r.axes.push_back(axis++), columns.push_back(build::gather(rows, i.in().scalar(static_cast<int64_t>(k)), 0));
      r.at.insert(r.at.end(), columns.begin(), columns.end());
      continue;
    }
    r.axes.push_back(axis++);
    r.at.push_back(convert(i, DType::i64));
  }
  if (r.axes.empty()) return r;
  if (static_cast<size_t>(axis) > x.rank()) fail("expected at most ", x.rank(), " indices, got ", axis);
  for (size_t i = 1; i < r.axes.size(); ++i) r.together &= r.axes[i] == r.axes[i - 1] + 1;
  for (size_t i = 0; i < r.axes.size(); ++i) r.at[i] = pt::natural_index(r.at[i], dimension_of(x, r.axes[i]));
  if (r.at.size() == 1) return r;
  Value shape = r.at[0];
  for (size_t i = 1; i < r.at.size(); ++i) shape = shape + r.at[i];
  for (Value& v : r.at) v = pt::broadcast_to(v, shape);
  return r;
}
Ints pt_leading_order(const Ints& axes, size_t rank) {
  Ints order = axes;
  for (int64_t a : pt::counting_to(rank))
    if (std::find(axes.begin(), axes.end(), a) == axes.end()) order.push_back(a);
  return order;
}
Value pt_tuples(const PtIndexed& r) {
  std::vector<Value> parts;
  for (const Value& v : r.at) parts.push_back(unsqueeze(v, {-1}));
  return build::concat(parts, static_cast<int64_t>(r.at[0].rank()));
}
Value pt_index(const Value& x, const std::vector<Value>& given) {
  PtIndexed r = pt_indexed(x, given);
  if (r.axes.empty()) return x;
  if (r.axes.size() == 1) return build::gather(x, r.at[0], r.axes[0]);
  Value y = x.in().op("GatherND", {transpose(x, pt_leading_order(r.axes, x.rank())), pt_tuples(r)});
  // What was selected stands where the first index was, if they are together, otherwise in front.
  if (!r.together || r.axes[0] == 0) return y;
  auto lead = static_cast<int64_t>(r.at[0].rank()), before = r.axes[0];
  Ints order;
  for (int64_t i = 0; i < before; ++i) order.push_back(lead + i);
  for (int64_t i = 0; i < lead; ++i) order.push_back(i);
  for (auto i = lead + before; i < static_cast<int64_t>(y.rank()); ++i) order.push_back(i);
  return transpose(y, order);
}
Value import_pt_index(Builder& layer) {
  Call c(layer);
  return pt_index(c["self"], c.list("indices"));
}
Value pt_index_put(const Value& x, const std::vector<Value>& given, const Value& values, bool accumulate) {
  // Through the places of the selected elements: the values have the shape of what is selected.
  Builder& in = x.in();
  Value places = pt_index(pt::positions_of(x), given);
  Value updates = pt::flat(pt::expanded(convert(values, x.type()), shape_of(places)));
  Value v = pt::flat(x);
  bool truth = accumulate && x.type() == DType::boolean;
  if (truth) v = convert(v, DType::u8), updates = convert(updates, DType::u8);
  Value y = in.op("ScatterNDUpdate", {v, unsqueeze(pt::flat(places), {1}), updates},
                  {{"reduction", truth        ? "max"
                                 : accumulate ? "sum"
                                              : "none"}});
  return pt::same_shape(convert(y, x.type()), x);
}
Value import_pt_index_put(Builder& layer) {
  Call c(layer);
  return pt_index_put(c["self"], c.list("indices"), c["values"], c.flag("accumulate"));
}
Value import_pt_put(Builder& layer) {
  Call c(layer);
  Value x = c["self"], at = pt::flat(c["index"]);
  return pt::same_shape(pt_index_put(pt::flat(x), {at}, pt::flat(c["source"]), c.flag("accumulate")), x);
}
// Indices that are out of range where the mask is false.
std::vector<Value> pt_clamped(const Value& x, const std::vector<Value>& given) {
  std::vector<Value> out = given;
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i]) continue;
    Value n = dimension_of(x, static_cast<int64_t>(i)), at = pt::natural_index(out[i], n);
    out[i] = x.in().op("Maximum", {x.in().op("Minimum", {at, n - 1.0}), like(at, 0)});
  }
  return out;
}
Value import_pt_unsafe_masked_index(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  Value y = pt_index(x, pt_clamped(x, c.list("indices")));
  return pt::where(c["mask"], y, c.number("fill", x.type()));
}
Value import_pt_unsafe_masked_put(Builder& layer) {
  Call c(layer);
  Value x = c["self"], values = c["values"];
  return pt_index_put(x, pt_clamped(x, c.list("indices")), pt::where(c["mask"], values, like(values, 0)), true);
}

// ---- masks ----

Value import_pt_masked_fill(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  return pt::where(pt::truth_of(c["mask"]), as_scalar(c.number("value", x.type())), x);
}
Value pt_nonzero(const Value& x) {
  Value rows = x.in().op("NonZero", {x}, {{"output_type", DType::i64}});
  return transpose(rows, {1, 0});
}
std::vector<Value> import_pt_nonzero(Builder& layer) {
  Call c(layer);
  Value x = c.find("condition") ? c["condition"] : c["self"];
  if (layer.type() != "aten::where" && layer.type() != "aten::nonzero_numpy")
    return {x.rank() == 0 ? build::slice(pt_nonzero(reshape(x, {1})), 1, 0, 0) : pt_nonzero(x)};
  std::vector<Value> out;
  Value rows = layer.op("NonZero", {pt::at_least_1d(x)}, {{"output_type", DType::i64}});
  for (size_t i = 0; i < std::max<size_t>(x.rank(), 1); ++i)
    out.push_back(build::gather(rows, layer.scalar(static_cast<int64_t>(i)), 0));
  return out;
}
Value import_pt_nonzero_static(Builder& layer) {
  Call c(layer);
  Value x = c["self"], rows = pt_nonzero(x);
  int64_t n = c.integer("size");
  Value more = build::fill(layer, static_cast<double>(c.integer("fill_value")), DType::i64,
                           layer.ints({n, static_cast<int64_t>(x.rank())}));
  return build::slice(build::concat({rows, more}, 0), 0, 0, n);
}
Value import_pt_masked_select(Builder& layer) {
  Call c(layer);
  Value x = c["self"], mask = c["mask"];
  Value both = layer.op("LogicalOr", {pt::filled_like(x, 0, DType::boolean), mask});
  mask = pt::broadcast_to(mask, both), x = pt::broadcast_to(x, both);
  Value at = pt::flat(layer.op("NonZero", {pt::flat(mask)}, {{"output_type", DType::i64}}));
  return build::gather(pt::flat(x), at, 0);
}
Value import_pt_masked_scatter(Builder& layer) {
  Call c(layer);
  Value x = c["self"], mask = pt::broadcast_to(c["mask"], x), source = pt::flat(c["source"]);
  Value at = layer.op("CumSum", {convert(pt::flat(mask), DType::i64), layer.scalar(int64_t{0})}) - 1.0;
  at = layer.op("Maximum", {at, like(at, 0)});
  Value n = dimension_of(source, 0);
  at = layer.op("Minimum", {at, n - 1.0});
  return pt::where(mask, pt::same_shape(build::gather(source, at, 0), x), x);
}

// ---- searching ----

std::vector<Value> import_pt_unique(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  bool by_axis = c.given("dim");
  Value v = x.type() == DType::boolean ? convert(x, DType::u8) : x;
  std::vector<Value> inputs{by_axis ? v : pt::flat(v)};
  if (by_axis) inputs.push_back(layer.scalar(pt::axis_of(c.integer("dim"), x.rank())));
  std::vector<Value> u = layer.make("Unique", inputs, {{"sorted", true}}, 4, {});
  return {convert(u[0], x.type()), by_axis ? u[2] : pt::same_shape(u[2], x), u[3]};
}
// Runs of equal elements or slices.
std::vector<Value> import_pt_unique_consecutive(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  bool by_axis = c.given("dim");
  int64_t axis = by_axis ? pt::axis_of(c.integer("dim"), x.rank()) : 0;
  Value v = by_axis ? x : pt::flat(x);
  Value differs = layer.op("NotEqual", {build::slice(v, axis, 1, INT64_MAX), build::slice(v, axis, 0, -1)});
  Ints others;
  for (int64_t a : pt::counting_to(v.rank()))
    if (a != axis) others.push_back(a);
  differs = pt::flat(pt::reduce("ReduceLogicalOr", differs, others, false));
  Value first = build::concat({layer.typed({1}, {1}, DType::boolean), differs}, 0);
  Value at = pt::flat(layer.op("NonZero", {first}, {{"output_type", DType::i64}}));
  Value group = layer.op("CumSum", {convert(first, DType::i64), layer.scalar(int64_t{0})}) - 1.0;
  Value ends = build::concat({build::slice(at, 0, 1, INT64_MAX), build::dim(v, axis)}, 0);
  return {build::gather(v, at, axis), by_axis ? group : pt::same_shape(group, x), ends - at};
}
Value pt_searched(Builder& layer, const Value& sorted, const Value& values, bool right, bool i32) {
  DType type = pt::Promotion().add(sorted).add(values).type();
  Value s = convert(sorted, type), v = convert(values, type), at;
  if (s.rank() == 1) {
    at = layer.op("SearchSorted", {s, pt::flat(v)}, {{"right_mode", right}});
    at = pt::same_shape(at, v);
  } else {
    at = layer.op("SearchSorted", {s, v}, {{"right_mode", right}});
  }
  return i32 ? convert(at, DType::i32) : at;
}
Value import_pt_searchsorted(Builder& layer) {
  Call c(layer);
  Value sorted = c["sorted_sequence"], values = c.find("self");
  if (!values)
    values = c.number("self", layer.has("self") && layer.field("self")->kind == GRAFT_INT ? DType::i64 : DType::f32);
  if (Value order = c.find("sorter")) sorted = pt_gathered(sorted, order, -1);
  bool right = c.flag("right") || c.word("side") == "right";
  return pt_searched(layer, sorted, values, right, c.flag("out_int32"));
}
Value import_pt_bucketize(Builder& layer) {
  Call c(layer);
  Value values = c.find("self");
  if (!values)
    values = c.number("self", layer.field("self") && layer.field("self")->kind == GRAFT_INT ? DType::i64 : DType::f32);
  return pt_searched(layer, c["boundaries"], values, c.flag("right"), c.flag("out_int32"));
}
Value import_pt_isin(Builder& layer) {
  Call c(layer);
  auto operand = [&](const char* tensor, const char* number) {
    if (Value v = c.find(tensor)) return v;
    return c.number(number, layer.field(number) && layer.field(number)->kind == GRAFT_FLOAT ? DType::f32 : DType::i64);
  };
  Value x = operand("elements", "element"), set = pt::flat(operand("test_elements", "test_element"));
  DType type = pt::Promotion().add(x).add(set).type();
  Value y = layer.op("Equal", {unsqueeze(convert(x, type), {-1}), convert(set, type)});
  y = pt::reduce("ReduceLogicalOr", y, {static_cast<int64_t>(x.rank())}, false);
  return c.flag("invert") ? pt::sign_not(y) : y;
}
Value import_pt_bincount(Builder& layer) {
  Call c(layer);
  Value x = convert(c["self"], DType::i64), w = c.find("weights");
  Value least = layer.scalar(c.given("minlength") ? c.integer("minlength") : int64_t{0});
  Shape s = x.shape();
  Value n = least;
  if (!(s[0].known() && s[0].value() == 0))
    n = layer.op("Maximum", {pt::reduce("ReduceMax", x, {0}, false) + 1.0, least});
  DType type = w ? pt::is_float(w.type()) ? w.type() : DType::f64 : DType::i64;
  Value zeros = build::fill(layer, 0, type, reshape(n, {1}));
  Value updates = w ? convert(w, type) : pt::filled_like(x, 1, type);
  return layer.op("ScatterElementsUpdate", {zeros, x, updates, layer.scalar(int64_t{0})},
                  {{"reduction", "sum"}, {"use_init_val", true}});
}
Value import_pt_one_hot(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  int64_t n = c.integer("num_classes");
  Value depth = n >= 0 ? layer.scalar(n) : as_scalar(pt::reduce("ReduceMax", pt::flat(x), {0}, false)) + 1.0;
  return convert(layer.op("Equal", {unsqueeze(x, {-1}), counting(depth, DType::i64)}), DType::i64);
}
Value import_pt_embedding(Builder& layer) {
  Call c(layer);
  return build::gather(c["weight"], c["indices"], 0);
}

}  // namespace

Definitions define_pytorch_indexing() {
  return {
      pt::rules({"aten::index_select"}, import_pt_index_select),
      pt::rules({"aten::gather"}, import_pt_gather, {"sparse_grad"}),
      pt::rules({"aten::take_along_dim"}, import_pt_take_along_dim),
      pt::rules({"aten::take"}, import_pt_take),
      pt::rules({"aten::scatter", "aten::scatter_add", "aten::scatter_reduce"}, import_pt_scatter),
      pt::rules({"aten::index_add"}, import_pt_index_add),
      pt::rules({"aten::index_copy"}, import_pt_index_copy),
      pt::rules({"aten::index_fill"}, import_pt_index_fill),
      pt::rules({"aten::index_reduce"}, import_pt_index_reduce),
      pt::rules({"aten::index", "aten::_unsafe_index"}, import_pt_index),
      pt::rules({"aten::index_put", "aten::_unsafe_index_put", "aten::_index_put_impl"}, import_pt_index_put,
                {"unsafe"}),
      pt::rules({"aten::put"}, import_pt_put),
      pt::rules({"aten::_unsafe_masked_index"}, import_pt_unsafe_masked_index),
      pt::rules({"aten::_unsafe_masked_index_put_accumulate"}, import_pt_unsafe_masked_put),
      pt::rules({"aten::masked_fill"}, import_pt_masked_fill),
      pt::rules({"aten::nonzero", "aten::argwhere", "aten::nonzero_numpy", "aten::where.default"}, import_pt_nonzero),
      pt::rules({"aten::nonzero_static"}, import_pt_nonzero_static),
      pt::rules({"aten::masked_select"}, import_pt_masked_select),
      pt::rules({"aten::masked_scatter"}, import_pt_masked_scatter),
      pt::rules({"aten::_unique", "aten::_unique2", "aten::unique_dim"}, import_pt_unique,
                {"sorted", "return_inverse", "return_counts"}),
      pt::rules({"aten::unique_consecutive"}, import_pt_unique_consecutive, {"return_inverse", "return_counts"}),
      pt::rules({"aten::searchsorted"}, import_pt_searchsorted),
      pt::rules({"aten::bucketize"}, import_pt_bucketize),
      pt::rules({"aten::isin"}, import_pt_isin, {"assume_unique"}),
      pt::rules({"aten::bincount"}, import_pt_bincount),
      pt::rules({"aten::one_hot"}, import_pt_one_hot),
      pt::rules({"aten::embedding"}, import_pt_embedding, {"padding_idx", "scale_grad_by_freq", "sparse"}),
  };
}

}  // namespace graft
