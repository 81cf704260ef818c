// Views, joins and splits of tensors, and tensors made from sizes.
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
  if (first > 0) parts.push_back(build::dims(x, [&] {
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
Value pt_at_least(const Value& x, size_t rank) {
  size_t r = x.rank();
  if (r >= rank) return x;
  if (rank == 1) return reshape(x, {1});
  if (rank == 2) return r == 0 ? reshape(x, {1, 1}) : unsqueeze(x, {0});
  if (r == 0) return reshape(x, {1, 1, 1});
  return r == 1 ? unsqueeze(x, {0, 2}) : unsqueeze(x, {2});
}
template <size_t rank>
std::vector<Value> import_pt_at_least(Builder& layer) {
  Call c(layer);
  std::vector<Value> all = c.list("tensors"), out;
  if (all.empty()) all = {c["self"]};
  for (const Value& v : all) out.push_back(pt_at_least(v, rank));
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
    return convert(layer.op("SearchSorted", {ends, counting(total, DType::i64)}, {{"right_mode", true}}), repeats.type());
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

// ---- joins and splits ----

Value pt_joined(Call& c, std::vector<Value> parts, int64_t axis) {
  pt::Promotion p;
  std::vector<Value> used;
  size_t rank = 0;
  for (const Value& v : parts) p.add(v), rank = std::max(rank, v.rank());
  // Empty lists without a shape are skipped.
  for (const Value& v : parts) {
    Shape s = v.shape();
    bool nothing = s.rank() == 1 && s[0].known() && s[0].value() == 0 && rank > 1;
    if (!nothing) used.push_back(convert(v, p.type()));
  }
  if (used.empty()) return parts.at(0);
  (void)c;
  return build::concat(used, pt::axis_of(axis, rank));
}
Value import_pt_cat(Builder& layer) {
  Call c(layer);
  return pt_joined(c, c.tensors("tensors"), c.integer("dim"));
}
Value import_pt_stack(Builder& layer) {
  Call c(layer);
  std::vector<Value> parts = c.tensors("tensors");
  int64_t axis = pt::axis_of(c.integer("dim"), parts[0].rank() + 1);
  for (Value& v : parts) v = unsqueeze(v, {axis});
  return pt_joined(c, parts, axis);
}
template <size_t rank>
Value import_pt_stacked(Builder& layer) {
  Call c(layer);
  std::vector<Value> parts = c.tensors("tensors");
  for (Value& v : parts) v = pt_at_least(v, rank == 0 ? 1 : rank);
  // hstack joins vectors along their only axis.
  int64_t axis = rank == 0 ? parts[0].rank() == 1 ? 0 : 1 : static_cast<int64_t>(rank == 2 ? 0 : 2);
  return pt_joined(c, parts, axis);
}
Value import_pt_column_stack(Builder& layer) {
  Call c(layer);
  std::vector<Value> parts = c.tensors("tensors");
  for (Value& v : parts) v = v.rank() == 0 ? reshape(v, {1, 1}) : v.rank() == 1 ? unsqueeze(v, {1}) : v;
  return pt_joined(c, parts, 1);
}

// As many pieces as the file lists outputs.
std::vector<Value> pt_pieces(const Value& x, int64_t axis, const Ints& lengths) { return build::split(x, axis, lengths); }
int64_t pt_known_size(const Value& x, int64_t axis) {
  Shape s = x.shape();
  const Dim& d = s[static_cast<size_t>(axis)];
  if (!d.known()) needs_shape("a tensor is split along an axis of unknown size");
  return d.value();
}
// All of one length, the last one shorter.
std::vector<Value> pt_even_pieces(Builder& layer, const Value& x, int64_t axis, int64_t length) {
  if (length < 0) fail("expected pieces of at least 0, got ", length);
  size_t n = std::max<size_t>(layer.outputs(), 1);
  Shape s = x.shape();
  if (n > 65'536) unsupported("expected at most 65536 pieces, got ", n);
  if (!s[static_cast<size_t>(axis)].known() || length == 0) {
    std::vector<Value> out;
    for (size_t i = 0; i < n; ++i) {
      auto at = static_cast<int64_t>(i) * length;
      out.push_back(build::slice(x, axis, at, i + 1 == n ? INT64_MAX : at + length));
    }
    return out;
  }
  Ints lengths;
  for (int64_t left = pt_known_size(x, axis); left > 0 && lengths.size() < n; left -= length)
    lengths.push_back(std::min(left, length));
  if (lengths.empty()) return {x};
  return pt_pieces(x, axis, lengths);
}
std::vector<Value> import_pt_split(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  int64_t axis = pt::axis_of(c.integer("dim"), x.rank());
  std::string_view name = c.given("split_size") ? "split_size" : "split_sizes";
  bool several = layer.has(name) && layer.field(name)->kind == GRAFT_INTS;
  std::vector<Value> symbolic = c.list(name);
  if (!symbolic.empty())
    return layer.make("VariadicSplit", {x, layer.scalar(axis), c.sizes(name)}, {}, layer.outputs(), {});
  if (several) return pt_pieces(x, axis, c.ints(name));
  return pt_even_pieces(layer, x, axis, c.integer(name));
}
std::vector<Value> import_pt_chunk(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  int64_t axis = pt::axis_of(c.integer("dim"), x.rank()), n = c.integer("chunks"), size = pt_known_size(x, axis);
  if (n < 1) fail("expected at least one chunk, got ", n);
  return pt_even_pieces(layer, x, axis, (size + n - 1) / n);
}
std::vector<Value> import_pt_unbind(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  int64_t axis = pt::axis_of(c.integer("dim"), x.rank());
  std::vector<Value> out = build::split(x, axis, static_cast<int64_t>(std::max<size_t>(layer.outputs(), 1)));
  for (Value& v : out) v = squeeze(v, {axis});
  return out;
}
// Where pieces begin, or how many there are.
std::vector<Value> pt_at_sections(const Value& x, int64_t axis, const Ints& at, bool positions) {
  int64_t size = pt_known_size(x, axis);
  Ints lengths;
  if (positions) {
    std::vector<Value> out;
    int64_t before = 0;
    for (size_t i = 0; i <= at.size(); ++i) {
      int64_t end = i < at.size() ? at[i] < 0 ? at[i] + size : std::min(at[i], size) : size;
      out.push_back(build::slice(x, axis, before, std::max(before, end)));
      before = end;
    }
    return out;
  }
  int64_t n = at.at(0);
  if (n < 1 || n > 65'536) fail("expected 1 to 65536 pieces, got ", n);
  for (int64_t i = 0; i < n; ++i) lengths.push_back(size / n + (i < size % n ? 1 : 0));
  return pt_pieces(x, axis, lengths);
}
std::vector<Value> import_pt_tensor_split(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  std::string type(layer.type());
  int64_t axis = type == "aten::hsplit"   ? x.rank() == 1 ? 0 : 1
                 : type == "aten::vsplit" ? 0
                 : type == "aten::dsplit" ? 2
                                          : pt::axis_of(c.integer("dim"), x.rank());
  if (Value t = c.find("tensor_indices_or_sections")) {
    auto at = t.values<int64_t>();
    if (!at) unsupported("where a tensor is split must be known when the model is read");
    return pt_at_sections(x, axis, *at, t.rank() == 1);
  }
  if (c.given("sections")) return pt_at_sections(x, axis, {c.integer("sections")}, false);
  return pt_at_sections(x, axis, c.ints("indices"), true);
}
std::vector<Value> import_pt_broadcast_tensors(Builder& layer) {
  Call c(layer);
  std::vector<Value> all = c.tensors("tensors");
  // The shape of their sum.
  Value zero = convert(all[0], DType::i64) * 0.0, shape = zero;
  for (size_t i = 1; i < all.size(); ++i) shape = shape + convert(all[i], DType::i64) * 0.0;
  Shape s = shape.shape();
  Value target = s.is_static() ? layer.ints(s.values()) : shape_of(shape);
  for (Value& v : all) v = pt::expanded(v, target);
  return all;
}
std::vector<Value> import_pt_meshgrid(Builder& layer) {
  Call c(layer);
  std::vector<Value> all = c.tensors("tensors"), out, sizes;
  bool columns = c.word("indexing") == "xy" && all.size() >= 2;
  for (Value& v : all) v = pt::flat(v);
  if (columns) std::swap(all[0], all[1]);
  for (const Value& v : all) sizes.push_back(build::dim(v, 0));
  Value target = build::concat(sizes, 0);
  for (size_t i = 0; i < all.size(); ++i) {
    Ints dims(all.size(), 1);
    dims[i] = -1;
    Value y = pt::expanded(reshape(all[i], dims), target);
    out.push_back(columns ? pt::swapped(y, 0, 1) : y);
  }
  if (columns) std::swap(out[0], out[1]);
  return out;
}
Value import_pt_cartesian_prod(Builder& layer) {
  Call c(layer);
  std::vector<Value> all = c.tensors("tensors"), sizes, columns;
  if (all.size() == 1) return all[0];
  for (const Value& v : all) sizes.push_back(build::dim(v, 0));
  Value target = build::concat(sizes, 0);
  for (size_t i = 0; i < all.size(); ++i) {
    Ints dims(all.size(), 1);
    dims[i] = -1;
    columns.push_back(unsqueeze(pt::flat(pt::expanded(reshape(all[i], dims), target)), {1}));
  }
  return build::concat(columns, 1);
}
Value import_pt_combinations(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  int64_t n = pt_known_size(x, 0), r = c.integer("r");
  bool again = c.flag("with_replacement");
  Ints at;
  Ints tuple(static_cast<size_t>(std::max<int64_t>(r, 0)), 0);
  if (r < 1 || r > 16 || n > 4096) unsupported("combinations of ", r, " of ", n, " are not supported");
  for (int64_t i = 0; !again && i < r; ++i) tuple[static_cast<size_t>(i)] = i;
  int64_t rows = 0;
  while ((again || r <= n) && n > 0) {
    at.insert(at.end(), tuple.begin(), tuple.end());
    if (++rows > 1 << 22) unsupported("more than 4194304 combinations are not supported");
    size_t k = tuple.size();
    while (k > 0 && tuple[k - 1] == (again ? n - 1 : n - r + static_cast<int64_t>(k) - 1)) --k;
    if (k == 0) break;
    int64_t next = tuple[k - 1] + 1;
    for (size_t i = k - 1; i < tuple.size(); ++i) tuple[i] = next + (again ? 0 : static_cast<int64_t>(i - k + 1));
  }
  return build::gather(x, layer.constant<int64_t>(at, {rows, r}), 0);
}

// ---- element types ----

Value import_pt_to(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  if (Value other = c.find("other")) return convert(x, other.type());
  auto type = c.dtype();
  return type ? convert(x, *type) : x;
}
Value import_pt_type_as(Builder& layer) {
  Call c(layer);
  return convert(c["self"], c["other"].type());
}
Value import_pt_copy(Builder& layer) {
  Call c(layer);
  Value self = c["self"], src = convert(c["src"], self.type());
  Shape a = self.shape(), b = src.shape();
  bool same = a.ranked() && b.ranked() && a.rank() == b.rank();
  for (size_t i = 0; same && i < a.rank(); ++i) same = a[i].same(b[i]);
  return same ? src : pt::expanded(src, shape_of(self));
}

// ---- tensors from sizes ----

Value pt_created(Builder& layer, Call& c, const Value& sizes, const Value& number) {
  auto n = sizes.values<int64_t>();
  (void)layer, (void)c;
  if (n && n->empty()) return number;
  return build::broadcast(number, sizes);
}
template <int number>
Value import_pt_constant(Builder& layer) {
  Call c(layer);
  DType type = c.dtype().value_or(DType::f32);
  return pt_created(layer, c, c.sizes("size"), layer.scalar(static_cast<double>(number), type));
}
template <int number>
Value import_pt_constant_like(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  return pt::filled_like(x, number, c.dtype().value_or(x.type()));
}
template <int number>
Value import_pt_new_constant(Builder& layer) {
  Call c(layer);
  return pt_created(layer, c, c.sizes("size"),
                    layer.scalar(static_cast<double>(number), c.dtype().value_or(c["self"].type())));
}
DType pt_type_of(Call& c, std::string_view name) {
  const graft_value* f = c.in.field(name);
  if (!f) {
    Value v = c.find(name);
    return v && !pt::is_float(v.type()) ? v.type() : DType::f32;
  }
  return f->kind == GRAFT_BOOL ? DType::boolean : f->kind == GRAFT_INT ? DType::i64 : DType::f32;
}
Value import_pt_full(Builder& layer) {
  Call c(layer);
  DType type = c.dtype().value_or(pt_type_of(c, "fill_value"));
  return pt_created(layer, c, c.sizes("size"), as_scalar(c.number("fill_value", type)));
}
Value import_pt_full_like(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  return pt_created(layer, c, shape_of(x), as_scalar(c.number("fill_value", c.dtype().value_or(x.type()))));
}
Value import_pt_new_full(Builder& layer) {
  Call c(layer);
  return pt_created(layer, c, c.sizes("size"),
                    as_scalar(c.number("fill_value", c.dtype().value_or(c["self"].type()))));
}
Value import_pt_fill(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  Value v = as_scalar(c.number("value", x.type()));
  return x.rank() == 0 ? v : build::broadcast(v, shape_of(x));
}
Value import_pt_zero(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  return pt::filled_like(x, 0, x.type());
}
Value import_pt_scalar_tensor(Builder& layer) {
  Call c(layer);
  return as_scalar(c.number("s", c.dtype().value_or(DType::f32)));
}
Value import_pt_arange(Builder& layer) {
  Call c(layer);
  bool whole = true, plain = true;
  for (std::string_view name : {"start", "end", "step"}) {
    const graft_value* f = layer.field(name);
    if (f) whole &= f->kind != GRAFT_FLOAT;
    if (Value v = c.find(name)) whole &= !pt::is_float(v.type()), plain = false;
  }
  DType type = c.dtype().value_or(whole ? DType::i64 : DType::f32);
  if (whole) {
    Value end = c.whole("end"), start = c.whole("start"), step = c.whole("step");
    return convert(layer.op("Range", {start, end, step}, {{"output_type", DType::i64}}), type);
  }
  if (plain) {
    double start = c.real("start"), end = c.real("end"), step = c.real("step");
    if (step == 0) fail("expected a step other than 0");
    double n = std::ceil((end - start) / step);
    if (!(n >= 0 && n <= 1 << 28)) fail("expected a range of 0 to ", 1 << 28, " numbers");
    Value at = layer.op("Range", {layer.scalar(int64_t{0}), layer.scalar(static_cast<int64_t>(n)), layer.scalar(int64_t{1})},
                        {{"output_type", DType::i64}});
    return convert(convert(at, DType::f64) * step + start, type);
  }
  return convert(layer.op("Range", {c.number("start", DType::f64), c.number("end", DType::f64), c.number("step", DType::f64)},
                          {{"output_type", DType::f64}}),
                 type);
}
// Numbers from both ends towards the middle, as torch computes them.
Value pt_line(Call& c, const Value& start, const Value& end, int64_t steps) {
  Builder& in = c.in;
  if (steps < 0 || steps > 1 << 28) fail("expected 0 to ", 1 << 28, " steps, got ", steps);
  if (steps == 1) return reshape(start, {1});
  Value at = convert(counting(in.scalar(steps), DType::i64), DType::f64);
  Value step = (end - start) / static_cast<double>(std::max<int64_t>(steps - 1, 1));
  Value low = start + at * step, high = end - (static_cast<double>(steps - 1) - at) * step;
  return pt::where(pt::less(at, static_cast<double>(steps / 2)), low, high);
}
Value import_pt_linspace(Builder& layer) {
  Call c(layer);
  DType type = c.dtype().value_or(DType::f32);
  Value start = as_scalar(c.number("start", DType::f64)), end = as_scalar(c.number("end", DType::f64));
  Value y = pt_line(c, start, end, c.integer("steps"));
  if (layer.type() == "aten::logspace") y = layer.op("Power", {like(y, c.real("base")), y});
  return pt::is_float(type) ? convert(y, type) : convert(pt::truncated(y), type);
}
Value import_pt_eye(Builder& layer) {
  Call c(layer);
  Value rows = c.whole("n"), columns = c.given("m") ? c.whole("m") : rows;
  DType type = c.dtype().value_or(DType::f32);
  Value y = layer.op("Eye", {rows, columns, layer.scalar(int64_t{0})},
                     {{"output_type", type == DType::boolean ? DType::u8 : type}});
  return convert(y, type);
}
std::vector<Value> import_pt_vander(Builder& layer) {
  Call c(layer);
  Value x = c.find("x");
  int64_t n = c.given("N") ? c.integer("N") : pt_known_size(x, static_cast<int64_t>(x.rank()) - 1);
  if (n < 0 || n > 1 << 20) fail("expected 0 to ", 1 << 20, " columns, got ", n);
  Value e = convert(counting(layer.scalar(n), DType::i64), x.type());
  return {layer.op("Power", {unsqueeze(x, {-1}), e})};
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
      pt::rules({"aten::cat", "aten::concat", "aten::concatenate"}, import_pt_cat),
      pt::rules({"aten::stack"}, import_pt_stack),
      pt::rules({"aten::hstack"}, import_pt_stacked<0>),
      pt::rules({"aten::vstack", "aten::row_stack"}, import_pt_stacked<2>),
      pt::rules({"aten::dstack"}, import_pt_stacked<3>),
      pt::rules({"aten::column_stack"}, import_pt_column_stack),
      pt::rules({"aten::split", "aten::split_with_sizes", "aten::unsafe_split", "aten::unsafe_split_with_sizes",
                 "aten::split_copy", "aten::split_with_sizes_copy"},
                import_pt_split),
      pt::rules({"aten::chunk", "aten::unsafe_chunk"}, import_pt_chunk),
      pt::rules({"aten::unbind", "aten::unbind_copy"}, import_pt_unbind),
      pt::rules({"aten::tensor_split", "aten::hsplit", "aten::vsplit", "aten::dsplit"}, import_pt_tensor_split),
      pt::rules({"aten::broadcast_tensors"}, import_pt_broadcast_tensors),
      pt::rules({"aten::meshgrid"}, import_pt_meshgrid),
      pt::rules({"aten::cartesian_prod"}, import_pt_cartesian_prod),
      pt::rules({"aten::combinations"}, import_pt_combinations),
      pt::rules({"aten::to", "aten::_to_copy"}, import_pt_to, {"copy"}),
      pt::rules({"aten::type_as"}, import_pt_type_as),
      pt::rules({"aten::copy"}, import_pt_copy),
      pt::rules({"aten::zeros", "aten::empty", "aten::empty_strided", "aten::empty_permuted"}, import_pt_constant<0>,
                {"stride", "physical_layout"}),
      pt::rules({"aten::ones"}, import_pt_constant<1>),
      pt::rules({"aten::zeros_like", "aten::empty_like"}, import_pt_constant_like<0>),
      pt::rules({"aten::ones_like"}, import_pt_constant_like<1>),
      pt::rules({"aten::new_zeros", "aten::new_empty", "aten::new_empty_strided"}, import_pt_new_constant<0>, {"stride"}),
      pt::rules({"aten::new_ones"}, import_pt_new_constant<1>),
      pt::rules({"aten::full"}, import_pt_full),
      pt::rules({"aten::full_like"}, import_pt_full_like),
      pt::rules({"aten::new_full"}, import_pt_new_full),
      pt::rules({"aten::fill"}, import_pt_fill),
      pt::rules({"aten::zero"}, import_pt_zero),
      pt::rules({"aten::scalar_tensor"}, import_pt_scalar_tensor),
      pt::rules({"aten::arange"}, import_pt_arange),
      pt::rules({"aten::linspace", "aten::logspace"}, import_pt_linspace),
      pt::rules({"aten::eye"}, import_pt_eye),
      pt::rules({"aten::linalg_vander"}, import_pt_vander),
  };
}

}  // namespace graft
