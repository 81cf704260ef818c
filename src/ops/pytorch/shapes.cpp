// Views of tensors.
#include "pytorch/call.hpp"

namespace graft {
namespace {

using pt::Call, pt::Ints;

// ---- shapes ----

Value import_pt_same(Builder& layer) { return layer.input(0); }
Value import_pt_self(Builder& layer) {
  Call c(layer);
  return c["self"];
}
Value import_pt_view(Builder& layer) {
  Call c(layer);
  if (c.dtype()) unsupported("viewing a tensor as another element type is not supported");
  return pt::reshape_to(c["self"], c.sizes(layer.type() == "aten::reshape" ? "shape" : "size"));
}
Value import_pt_view_as(Builder& layer) {
  Call c(layer);
  return pt::same_shape(c["self"], c["other"]);
}
Value import_pt_permute(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  return x.rank() == 0 ? x : transpose(x, pt::axes_of(c.ints("dims"), x.rank()));
}
Value import_pt_transpose(Builder& layer) {
  Call c(layer);
  std::string_view a = c.given("axis0") ? "axis0" : "dim0", b = c.given("axis1") ? "axis1" : "dim1";
  return pt::swapped(c["self"], c.integer(a), c.integer(b));
}
Value import_pt_matrix_transpose(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  return x.rank() < 2 ? x : pt::swapped(x, -2, -1);
}
Value import_pt_reversed_axes(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  Ints order = pt::counting_to(x.rank());
  std::reverse(order.begin(), order.end());
  return order.empty() ? x : transpose(x, order);
}
Value import_pt_unsqueeze(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  return unsqueeze(x, {pt::axis_of(c.integer("dim"), x.rank() + 1)});
}
// Axes of other sizes stay.
Value import_pt_squeeze(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  Shape s = x.shape();
  Ints axes = c.given("dim") ? pt::axes_of(c.ints("dim"), x.rank()) : pt::counting_to(x.rank()), ones;
  for (int64_t a : axes) {
    if (static_cast<size_t>(a) >= s.rank()) continue;
    const Dim& d = s[static_cast<size_t>(a)];
    if (d.known() && d.value() == 1) ones.push_back(a);
  }
  return ones.empty() ? x : squeeze(x, ones);
}
Value import_pt_expand(Builder& layer) {
  Call c(layer);
  return pt::expanded(c["self"], c.sizes("size", 1));  // -1 keeps a dimension
}
Value import_pt_expand_as(Builder& layer) {
  Call c(layer);
  return pt::expanded(c["self"], shape_of(c["other"]));
}
Value import_pt_sum_to_size(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  Ints target = c.ints("size"), axes;
  Shape s = x.shape();
  size_t lead = s.rank() - std::min(target.size(), s.rank());
  for (size_t i = 0; i < s.rank(); ++i)
    if (i < lead || (target[i - lead] == 1 && !(s[i].known() && s[i].value() == 1)))
      axes.push_back(static_cast<int64_t>(i));
  return reshape(pt::reduce("ReduceSum", x, axes, true), target);
}
Value pt_flattened(const Value& x, int64_t first, int64_t last) {
  if (x.rank() == 0) return reshape(x, {1});
  size_t r = x.rank();
  first = pt::axis_of(first, r), last = pt::axis_of(last, r);
  if (first > last) fail("expected a first axis before the last, got ", first, " and ", last);
  if (first == last) return x;
  std::vector<Value> parts;
  if (first > 0)
    parts.push_back(build::dims(x, [&] {
      Ints axes = pt::counting_to(static_cast<size_t>(first));
      return axes;
    }()));
  Ints middle, rest;
  for (int64_t i = first; i <= last; ++i) middle.push_back(i);
  for (int64_t i = last + 1; i < static_cast<int64_t>(r); ++i) rest.push_back(i);
  Builder& in = x.in();
  Value n = in.op("ReduceProd", {build::dims(x, middle), in.ints({0})}, {{"keep_dims", true}});
  parts.push_back(n);
  if (!rest.empty()) parts.push_back(build::dims(x, rest));
  return build::reshape(x, parts);
}
Value import_pt_flatten(Builder& layer) {
  Call c(layer);
  return pt_flattened(c["self"], c.integer("start_dim"), c.integer("end_dim"));
}
Value import_pt_ravel(Builder& layer) {
  Call c(layer);
  return pt::flat(c["self"]);
}
Value import_pt_unflatten(Builder& layer) {
  Call c(layer);
  Value x = c["self"], sizes = c.sizes("sizes");
  int64_t at = pt::axis_of(c.integer("dim"), x.rank());
  std::vector<Value> parts;
  if (at > 0) parts.push_back(build::dims(x, pt::counting_to(static_cast<size_t>(at))));
  // One of the sizes may be -1, next to dimensions that the model computes.
  auto known = sizes.values<int64_t>();
  auto open = known ? std::find(known->begin(), known->end(), -1) : std::vector<int64_t>::iterator();
  if (known && open != known->end()) {
    int64_t others = 1;
    for (int64_t d : *known)
      if (d > 0) others *= d;
    Shape s = x.shape();
    const Dim& d = s[static_cast<size_t>(at)];
    if (d.known() && others > 0) *open = d.value() / others;
    sizes = layer.ints(*known);
  }
  parts.push_back(sizes);
  Ints rest;
  for (int64_t i = at + 1; i < static_cast<int64_t>(x.rank()); ++i) rest.push_back(i);
  if (!rest.empty()) parts.push_back(build::dims(x, rest));
  return build::reshape(x, parts);
}
template <size_t rank>
std::vector<Value> import_pt_at_least(Builder& layer) {
  Call c(layer);
  std::vector<Value> all = c.list("tensors"), out;
  if (all.empty()) all = {c["self"]};
  for (const Value& v : all) out.push_back(pt::with_rank_of_at_least(v, rank));
  return out;
}
Value import_pt_movedim(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  Ints from = pt::axes_of(c.ints("source"), x.rank()), to = pt::axes_of(c.ints("destination"), x.rank());
  if (from.size() != to.size()) fail("expected as many sources as destinations");
  if (x.rank() == 0) return x;
  Ints order(x.rank(), -1), rest;
  for (size_t i = 0; i < from.size(); ++i) order[static_cast<size_t>(to[i])] = from[i];
  for (int64_t a : pt::counting_to(x.rank()))
    if (std::find(from.begin(), from.end(), a) == from.end()) rest.push_back(a);
  size_t next = 0;
  for (int64_t& a : order)
    if (a < 0 && next < rest.size()) a = rest[next++];
  return transpose(x, order);
}
Value import_pt_flip(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  Ints axes = layer.type() == "aten::fliplr"   ? Ints{1}
              : layer.type() == "aten::flipud" ? Ints{0}
                                               : pt::axes_of(c.ints("dims"), x.rank());
  if (x.rank() == 0) return x;
  for (int64_t a : axes) x = build::slice(x, a, -1, INT64_MIN, -1);
  return x;
}
Value import_pt_rot90(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  Ints axes = pt::axes_of(c.ints("dims"), x.rank());
  if (axes.size() != 2) fail("expected two axes, got ", axes.size());
  int64_t k = ((c.integer("k") % 4) + 4) % 4;
  auto flipped = [&](const Value& v, int64_t a) { return build::slice(v, a, -1, INT64_MIN, -1); };
  if (k == 1) return pt::swapped(flipped(x, axes[1]), axes[0], axes[1]);
  if (k == 2) return flipped(flipped(x, axes[0]), axes[1]);
  if (k == 3) return flipped(pt::swapped(x, axes[0], axes[1]), axes[1]);
  return x;
}
Value import_pt_roll(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  Ints dims = c.ints("dims"), shifts = c.ints("shifts");
  if (x.rank() == 0) return x;
  if (!dims.empty()) return layer.op("Roll", {x, layer.ints(shifts), layer.ints(pt::axes_of(dims, x.rank()))});
  return pt::same_shape(layer.op("Roll", {pt::flat(x), layer.ints(shifts), layer.ints({0})}), x);
}
Value pt_tiled(const Value& x, const Value& repeats) {
  Shape n = repeats.shape();
  size_t r = x.rank(), wanted = n.ranked() && n[0].known() ? static_cast<size_t>(n[0].value()) : r;
  Value v = x;
  for (; r < wanted; ++r) v = unsqueeze(v, {0});
  return v.in().op("Tile", {v, repeats});
}
Value import_pt_repeat(Builder& layer) {
  Call c(layer);
  return pt_tiled(c["self"], c.sizes("repeats"));
}
Value import_pt_tile(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  Ints dims = c.ints("dims");
  while (dims.size() < x.rank()) dims.insert(dims.begin(), 1);
  return pt_tiled(x, layer.ints(dims));
}
Value import_pt_repeat_interleave(Builder& layer) {
  Call c(layer);
  Value x = c.find("self"), repeats = c.find("repeats");
  if (!x) {  // positions alone
    Value n = convert(repeats, DType::i64), ends = layer.op("CumSum", {n, layer.scalar(int64_t{0})});
    Value total = as_scalar(layer.op("ReduceSum", {n, layer.ints({0})}, {{"keep_dims", false}}));
    return convert(layer.op("SearchSorted", {ends, counting(total, DType::i64)}, {{"right_mode", true}}),
                   repeats.type());
  }
  int64_t axis = 0;
  if (c.given("dim")) axis = pt::axis_of(c.integer("dim"), x.rank());
  else x = pt::flat(x);
  x = pt::at_least_1d(x);
  if (repeats && repeats.rank() > 0) {
    Value n = convert(repeats, DType::i64);
    Shape s = n.shape();
    if (s[0].known() && s[0].value() == 1) n = build::broadcast(n, build::dim(x, axis));
    Value ends = layer.op("CumSum", {n, layer.scalar(int64_t{0})});
    Value total = as_scalar(layer.op("ReduceSum", {n, layer.ints({0})}, {{"keep_dims", false}}));
    Value from = layer.op("SearchSorted", {ends, counting(total, DType::i64)}, {{"right_mode", true}});
    return build::gather(x, from, axis);
  }
  Value times = c.whole("repeats"), length = dimension_of(x, axis);
  Value from = counting(length * times, DType::i64) / times;
  return build::gather(x, from, axis);
}
Value import_pt_unfold(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  bool scalar = x.rank() == 0;
  x = pt::at_least_1d(x);
  int64_t axis = pt::axis_of(c.integer("dimension"), x.rank()), size = c.integer("size"), step = c.integer("step");
  Shape s = x.shape();
  const Dim& d = s[static_cast<size_t>(axis)];
  if (!d.known()) needs_shape("the axis that windows move along has an unknown size");
  if (size < 0 || size > d.value() || step < 1) fail("expected a window of 0 to ", d, ", got ", size);
  int64_t n = (d.value() - size) / step + 1;
  if (n * std::max<int64_t>(size, 1) > 1 << 24) unsupported("windows of more than 16777216 elements are not supported");
  Ints at;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < size; ++k) at.push_back(i * step + k);
  Value y = build::gather(x, layer.constant<int64_t>(at, {n, size}), axis);
  if (scalar) return reshape(y, {size});
  Ints order = pt::counting_to(y.rank());
  order.erase(order.begin() + static_cast<ptrdiff_t>(axis) + 1);
  order.push_back(axis + 1);
  return transpose(y, order);
}

}  // namespace

Definitions define_pytorch_shapes() {
  return {
      pt::rule_of("graft::same").expand(import_pt_same),
      pt::rules({"aten::clone", "aten::alias", "aten::alias_copy", "aten::detach", "aten::detach_copy",
                 "aten::contiguous", "aten::lift_fresh", "aten::lift_fresh_copy", "aten::lift", "aten::positive",
                 "aten::resolve_conj", "aten::resolve_neg", "aten::real", "aten::conj_physical", "aten::_conj",
                 "aten::conj", "aten::requires_grad", "aten::_autocast_to_reduced_precision"},
                import_pt_self),
      pt::rules({"aten::view", "aten::reshape", "aten::_unsafe_view", "aten::view_copy", "aten::_reshape_alias"},
                import_pt_view),
      pt::rules({"aten::view_as", "aten::reshape_as"}, import_pt_view_as),
      pt::rules({"aten::permute", "aten::permute_copy"}, import_pt_permute),
      pt::rules({"aten::transpose", "aten::swapaxes", "aten::swapdims", "aten::transpose_copy"}, import_pt_transpose),
      pt::rules({"aten::t", "aten::t_copy", "aten::mT", "aten::mH", "aten::matrix_H", "aten::adjoint"},
                import_pt_matrix_transpose),
      pt::rules({"aten::numpy_T"}, import_pt_reversed_axes),
      pt::rules({"aten::unsqueeze", "aten::unsqueeze_copy"}, import_pt_unsqueeze),
      pt::rules({"aten::squeeze", "aten::squeeze_copy"}, import_pt_squeeze),
      pt::rules({"aten::expand", "aten::broadcast_to", "aten::expand_copy"}, import_pt_expand, {"implicit"}),
      pt::rules({"aten::expand_as"}, import_pt_expand_as),
      pt::rules({"aten::sum_to_size"}, import_pt_sum_to_size),
      pt::rules({"aten::flatten"}, import_pt_flatten),
      pt::rules({"aten::ravel"}, import_pt_ravel),
      pt::rules({"aten::unflatten"}, import_pt_unflatten),
      pt::rules({"aten::atleast_1d"}, import_pt_at_least<1>),
      pt::rules({"aten::atleast_2d"}, import_pt_at_least<2>),
      pt::rules({"aten::atleast_3d"}, import_pt_at_least<3>),
      pt::rules({"aten::movedim", "aten::moveaxis"}, import_pt_movedim),
      pt::rules({"aten::flip", "aten::fliplr", "aten::flipud"}, import_pt_flip),
      pt::rules({"aten::rot90"}, import_pt_rot90),
      pt::rules({"aten::roll"}, import_pt_roll),
      pt::rules({"aten::repeat"}, import_pt_repeat),
      pt::rules({"aten::tile"}, import_pt_tile),
      pt::rules({"aten::repeat_interleave"}, import_pt_repeat_interleave, {"output_size"}),
      pt::rules({"aten::unfold", "aten::unfold_copy"}, import_pt_unfold),
  };
}

}  // namespace graft
