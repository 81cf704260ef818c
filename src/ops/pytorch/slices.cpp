// Slices, diagonals, and writing through views.
#include "pytorch/call.hpp"

namespace graft {
namespace {

using pt::Call, pt::Ints;

// ---- slices ----

Value import_pt_select(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  return build::gather(x, pt::natural_index(c.whole("index"), dimension_of(x, c.integer("dim"))),
                       pt::axis_of(c.integer("dim"), x.rank()));
}
struct PtRange {
  Value start, end, step;
  int64_t axis;
};
PtRange pt_range(Call& c, const Value& x) {
  Builder& in = c.in;
  auto one = [&](std::string_view name, int64_t open) {
    return c.given(name) ? reshape(c.whole(name), {1}) : in.ints({open});
  };
  return {one("start", 0), one("end", INT64_MAX), in.ints({c.integer("step")}),
          pt::axis_of(c.integer("dim"), x.rank())};
}
Value import_pt_slice(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  PtRange r = pt_range(c, x);
  return layer.op("Slice", {x, r.start, r.end, r.step, layer.ints({r.axis})});
}
Value import_pt_slice_scatter(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  PtRange r = pt_range(c, x);
  Value part = layer.op("Slice", {x, r.start, r.end, r.step, layer.ints({r.axis})});
  Value src = pt::broadcast_to(convert(c["src"], x.type()), part);
  return layer.op("SliceScatter", {x, src, r.start, r.end, r.step, layer.ints({r.axis})});
}
Value import_pt_select_scatter(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  int64_t axis = pt::axis_of(c.integer("dim"), x.rank());
  Value at = pt::natural_index(c.whole("index"), dimension_of(x, axis));
  Value part = build::gather(x, at, axis), src = convert(c["src"], x.type());
  src = pt::expanded(src, shape_of(part));
  return layer.op("ScatterUpdate", {x, reshape(at, {1}), unsqueeze(src, {axis}), layer.scalar(axis)});
}
Value import_pt_narrow(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  int64_t axis = pt::axis_of(c.integer("dim"), x.rank());
  Value start = reshape(pt::natural_index(c.whole("start"), dimension_of(x, axis)), {1});
  return build::slice(x, axis, start, start + reshape(c.whole("length"), {1}));
}

// ---- positions, for writing through views ----

Value import_pt_positions(Builder& layer) { return pt::positions_of(layer.input(0)); }
Value pt_replaced(const Value& x, const Value& places, const Value& values) {
  Builder& in = x.in();
  Value at = pt::flat(places);
  Value updates = pt::flat(pt::expanded(convert(values, x.type()), shape_of(places)));
  return pt::same_shape(in.op("ScatterUpdate", {pt::flat(x), at, updates, in.scalar(int64_t{0})}), x);
}
Value import_pt_replace(Builder& layer) { return pt_replaced(layer.input(0), layer.input(1), layer.input(2)); }

Value pt_strided_places(Call& c, const Value& x) {
  Ints size = c.ints("size"), stride = c.ints("stride");
  int64_t offset = c.given("storage_offset") ? c.integer("storage_offset") : 0, n = 1;
  if (size.size() != stride.size()) fail("expected as many strides as sizes");
  for (int64_t d : size) {
    if (d < 0 || (d > 0 && n > (1 << 26) / d))
      unsupported("as_strided of more than 67108864 elements is not supported");
    n *= d;
  }
  Value at = c.in.scalar(offset);
  for (size_t i = 0; i < size.size(); ++i) {
    Ints dims(size.size(), 1);
    dims[i] = size[i];
    at = at + reshape(counting(c.in.scalar(size[i]), DType::i64), dims) * static_cast<double>(stride[i]);
  }
  (void)x;
  return size.empty() ? reshape(at, {}) : build::broadcast(at, c.in.ints(size));
}
Value import_pt_as_strided(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  return build::gather(pt::flat(x), pt_strided_places(c, x), 0);
}
Value import_pt_as_strided_scatter(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  return pt_replaced(x, pt_strided_places(c, x), c["src"]);
}

// ---- diagonals ----

Value pt_diagonal(const Value& x, int64_t offset, int64_t a, int64_t b) {
  Builder& in = x.in();
  a = pt::axis_of(a, x.rank()), b = pt::axis_of(b, x.rank());
  Ints order;
  for (int64_t i : pt::counting_to(x.rank()))
    if (i != a && i != b) order.push_back(i);
  order.push_back(a), order.push_back(b);
  Value v = transpose(x, order);
  Shape s = v.shape();
  const Dim &rows = s[s.rank() - 2], &columns = s[s.rank() - 1];
  if (!rows.known() || !columns.known()) needs_shape("the sizes of a matrix whose diagonal is taken are unknown");
  int64_t row = offset < 0 ? -offset : 0, column = offset > 0 ? offset : 0;
  int64_t n = std::max<int64_t>(0, std::min(rows.value() - row, columns.value() - column));
  Ints at;
  for (int64_t i = 0; i < n; ++i) at.push_back((row + i) * columns.value() + column + i);
  Ints lead = pt::counting_to(s.rank() - 2);
  Value joined = lead.empty() ? pt::flat(v) : build::reshape(v, {build::dims(v, lead), in.ints({-1})});
  return build::gather(joined, in.ints(at), -1);
}
Value import_pt_diagonal(Builder& layer) {
  Call c(layer);
  Value x = c.find("self") ? c["self"] : c["A"];
  return pt_diagonal(x, c.integer("offset"), c.integer("dim1"), c.integer("dim2"));
}
Value import_pt_diagonal_scatter(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  return pt_replaced(x, pt_diagonal(pt::positions_of(x), c.integer("offset"), c.integer("dim1"), c.integer("dim2")),
                     c["src"]);
}
// A matrix with these values on a diagonal.
Value pt_diagonal_matrix(const Value& x, int64_t offset) {
  Builder& in = x.in();
  Shape s = x.shape();
  const Dim& d = s[s.rank() - 1];
  if (!d.known()) needs_shape("the size of a diagonal is unknown");
  int64_t n = d.value() + std::abs(offset);
  Value rows = reshape(counting(in.scalar(n), DType::i64), {n, 1}),
        columns = reshape(counting(in.scalar(n), DType::i64), {1, n});
  Value on = in.op("Equal", {columns - rows, in.scalar(offset)});
  // Row i holds value i, or i - |offset| below the diagonal.
  Value shifted = x;
  if (offset != 0) {
    Ints begin(x.rank(), 0), end(x.rank(), 0);
    (offset < 0 ? begin : end).back() = std::abs(offset);
    shifted = in.op("Pad", {x, in.ints(begin), in.ints(end), like(x, 0)}, {{"pad_mode", "constant"}});
  }
  return pt::where(on, unsqueeze(shifted, {-1}), like(x, 0));
}
Value import_pt_diag_embed(Builder& layer) {
  Call c(layer);
  Value x = pt_diagonal_matrix(c["self"], c.integer("offset"));
  int64_t a = pt::axis_of(c.integer("dim1"), x.rank()), b = pt::axis_of(c.integer("dim2"), x.rank());
  auto r = static_cast<int64_t>(x.rank());
  Ints order(x.rank(), -1);
  order[static_cast<size_t>(a)] = r - 2, order[static_cast<size_t>(b)] = r - 1;
  int64_t next = 0;
  for (int64_t& o : order)
    if (o < 0) o = next++;
  return transpose(x, order);
}
Value import_pt_diag(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  int64_t offset = c.given("diagonal") ? c.integer("diagonal") : c.integer("offset");
  if (layer.type() == "aten::diagflat") return pt_diagonal_matrix(pt::flat(x), offset);
  return x.rank() == 1 ? pt_diagonal_matrix(x, offset) : pt_diagonal(x, offset, 0, 1);
}
Value import_pt_trace(Builder& layer) {
  Call c(layer);
  Value d = pt_diagonal(c["self"], 0, 0, 1);
  if (!pt::is_float(d.type())) d = convert(d, DType::i64);
  return pt::reduce("ReduceSum", d, {0}, false);
}
template <bool lower>
Value import_pt_triangle(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  int64_t k = c.integer("diagonal");
  Value rows = unsqueeze(counting(dimension_of(x, -2), DType::i64), {1}),
        columns = unsqueeze(counting(dimension_of(x, -1), DType::i64), {0});
  Value inside = layer.op(lower ? "LessEqual" : "GreaterEqual", {columns - rows, layer.scalar(k)});
  return pt::where(inside, x, like(x, 0));
}
template <bool lower>
Value import_pt_triangle_indices(Builder& layer) {
  Call c(layer);
  int64_t rows = c.integer("row"), columns = c.integer("col"), k = c.given("offset") ? c.integer("offset") : 0;
  Ints at, other;
  if (rows < 0 || columns < 0 || rows > 4096 || columns > 4096)
    unsupported("more than 4096 rows or columns are not supported");
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (lower ? j - i <= k : j - i >= k) at.push_back(i), other.push_back(j);
  auto n = static_cast<int64_t>(at.size());
  at.insert(at.end(), other.begin(), other.end());
  return convert(layer.constant<int64_t>(at, {2, n}), c.dtype().value_or(DType::i64));
}

}  // namespace

Definitions define_pytorch_slices() {
  return {
      pt::rule_of("graft::positions").expand(import_pt_positions),
      pt::rule_of("graft::replace").expand(import_pt_replace),
      pt::rules({"aten::select", "aten::select_copy"}, import_pt_select),
      pt::rules({"aten::slice", "aten::slice_copy"}, import_pt_slice),
      pt::rules({"aten::slice_scatter"}, import_pt_slice_scatter),
      pt::rules({"aten::select_scatter"}, import_pt_select_scatter),
      pt::rules({"aten::narrow", "aten::narrow_copy"}, import_pt_narrow),
      pt::rules({"aten::as_strided", "aten::as_strided_copy"}, import_pt_as_strided),
      pt::rules({"aten::as_strided_scatter"}, import_pt_as_strided_scatter),
      pt::rules({"aten::diagonal", "aten::diagonal_copy", "aten::linalg_diagonal"}, import_pt_diagonal),
      pt::rules({"aten::diagonal_scatter"}, import_pt_diagonal_scatter),
      pt::rules({"aten::diag_embed"}, import_pt_diag_embed),
      pt::rules({"aten::diag", "aten::diagflat"}, import_pt_diag),
      pt::rules({"aten::trace"}, import_pt_trace),
      pt::rules({"aten::tril"}, import_pt_triangle<true>),
      pt::rules({"aten::triu"}, import_pt_triangle<false>),
      pt::rules({"aten::tril_indices"}, import_pt_triangle_indices<true>),
      pt::rules({"aten::triu_indices"}, import_pt_triangle_indices<false>),
  };
}

}  // namespace graft
