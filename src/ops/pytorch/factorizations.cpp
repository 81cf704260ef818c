// Factorizations of small matrices, step by step, and what is made from them.
#include "pytorch/call.hpp"

namespace graft {
namespace {

using pt::Call, pt::Ints;

constexpr int64_t pt_most_columns = 64;  // each column is some nodes

Value pt_wide_matrix(Call& c) {
  for (const char* name : {"A", "self", "input"})
    if (Value v = c.find(name)) return convert(pt::as_float(v), DType::f64);
  fail("expected a matrix");
}
DType pt_matrix_type(Call& c) {
  for (const char* name : {"A", "self", "input"})
    if (Value v = c.find(name)) return pt::as_float(v).type();
  return DType::f32;
}
int64_t pt_columns(const Value& v) {
  int64_t n = std::min(pt::known_size(v, -1), pt::known_size(v, -2));
  if (n > pt_most_columns)
    unsupported("factorizations of more than ", pt_most_columns, " columns are not supported, got ", n);
  return n;
}
Value pt_flipped_axes(const Value& v) { return pt::swapped(v, -2, -1); }
Value pt_ones_on_diagonal(Builder& in, int64_t n) {
  return in.op("Eye", {in.scalar(n), in.scalar(n), in.scalar(int64_t{0})}, {{"output_type", DType::f64}});
}
Value pt_batched_identity(const Value& a, int64_t n) {
  Builder& in = a.in();
  Value one = pt_ones_on_diagonal(in, n);
  if (a.rank() == 2) return one;
  return build::broadcast(one, build::concat({build::dims(a, pt::counting_to(a.rank() - 2)), in.ints({n, n})}, 0));
}
int64_t pt_last(const Value& v) { return static_cast<int64_t>(v.rank()) - 1; }
Value pt_column(const Value& v, int64_t i) { return build::slice(v, pt_last(v), i, i + 1); }
Value pt_row(const Value& v, int64_t i) { return build::slice(v, pt_last(v) - 1, i, i + 1); }
// The elements for which a comparison of row and column numbers holds.
Value pt_part(const Value& v, std::string_view comparison) {
  Builder& in = v.in();
  Value rows = unsqueeze(counting(dimension_of(v, -2), DType::i64), {1}),
        columns = unsqueeze(counting(dimension_of(v, -1), DType::i64), {0});
  return pt::where(in.op(comparison, {columns, rows}), v, like(v, 0));
}

// ---- reflections ----

struct PtReflections {
  Value packed, tau;  // as LAPACK stores them: R and the vectors below it
};
PtReflections pt_reflections(const Value& a) {
  Builder& in = a.in();
  int64_t m = pt::known_size(a, -2), n = pt_columns(a);
  Value r = a, rows = unsqueeze(counting(in.scalar(m), DType::i64), {1});
  std::vector<Value> taus, vectors;
  for (int64_t k = 0; k < n; ++k) {
    Value x = pt_column(r, k), at = in.op("Equal", {rows, in.scalar(k)}),
          below = in.op("Greater", {rows, in.scalar(k)});
    Value first = pt::reduce("ReduceSum", pt::where(at, x, like(x, 0)), {-2}, true),
          tail = pt::where(below, x, like(x, 0));
    Value rest = pt::reduce("ReduceSum", tail * tail, {-2}, true), length = in.op("Sqrt", {first * first + rest});
    Value beta = pt::where(pt::less(first, 0), length, -length), none = pt::equals(rest, 0);
    Value safe = pt::where(none, like(beta, 1), beta);
    Value tau = pt::where(none, like(beta, 0), (safe - first) / safe);
    Value w = pt::where(at, like(x, 1), tail / pt::where(none, like(beta, 1), first - safe));
    r = r - build::matmul(w, build::matmul(w, r, true, false)) * tau;
    taus.push_back(squeeze(tau, {-1}));
    vectors.push_back(pt::where(below, w, like(w, 0)));
  }
  Value upper = pt_part(r, "GreaterEqual"), v = build::concat(vectors, pt_last(a));
  int64_t columns = pt::known_size(a, -1);
  if (columns > n) {
    Ints zero(a.rank(), 0), end(a.rank(), 0);
    end.back() = columns - n;
    v = in.op("Pad", {v, in.ints(zero), in.ints(end), like(v, 0)}, {{"pad_mode", "constant"}});
  }
  return {upper + v, build::concat(taus, pt_last(a) - 1)};
}
// The product of the reflections, as a square matrix.
Value pt_reflected(const Value& packed, const Value& tau) {
  Builder& in = packed.in();
  int64_t m = pt::known_size(packed, -2), k = pt::known_size(tau, -1);
  if (k > pt_most_columns) unsupported("more than ", pt_most_columns, " reflections are not supported, got ", k);
  Value rows = unsqueeze(counting(in.scalar(m), DType::i64), {1}), q = pt_batched_identity(packed, m);
  for (int64_t i = 0; i < k; ++i) {
    Value x = pt_column(packed, i);
    Value w = pt::where(in.op("Equal", {rows, in.scalar(i)}), like(x, 1),
                        pt::where(in.op("Greater", {rows, in.scalar(i)}), x, like(x, 0)));
    Value t = unsqueeze(pt_column(tau, i), {-1});
    q = q - build::matmul(build::matmul(q, w), w, false, true) * t;
  }
  return q;
}
std::vector<Value> import_pt_geqrf(Builder& layer) {
  Call c(layer);
  PtReflections r = pt_reflections(pt_wide_matrix(c));
  DType type = pt_matrix_type(c);
  return {convert(r.packed, type), convert(r.tau, type)};
}
std::vector<Value> import_pt_qr(Builder& layer) {
  Call c(layer);
  Value a = pt_wide_matrix(c);
  std::string mode = c.given("mode") ? c.word("mode") : layer.has("some") && !c.flag("some") ? "complete" : "reduced";
  PtReflections p = pt_reflections(a);
  int64_t m = pt::known_size(a, -2), n = pt::known_size(a, -1), k = mode == "complete" ? m : std::min(m, n);
  DType type = pt_matrix_type(c);
  Value r = build::slice(pt_part(p.packed, "GreaterEqual"), pt_last(a) - 1, 0, k);
  if (mode == "r") return {layer.constant<float>({}, {0}), convert(r, type)};
  return {convert(build::slice(pt_reflected(p.packed, p.tau), pt_last(a), 0, k), type), convert(r, type)};
}
Value import_pt_ormqr(Builder& layer) {
  Call c(layer);
  Value packed = pt_wide_matrix(c), tau = convert(c.find("input2") ? c["input2"] : c["tau"], DType::f64);
  Value other = convert(c.find("input3") ? c["input3"] : c["other"], DType::f64), q = pt_reflected(packed, tau);
  bool left = layer.has("left") ? c.flag("left") : true, turned = c.flag("transpose");
  Value y = left ? build::matmul(q, other, turned, false) : build::matmul(other, q, false, turned);
  return convert(y, pt_matrix_type(c));
}

// ---- triangular factors ----

struct PtFactors {
  Value lu, pivots;  // pivots count from 1
};
PtFactors pt_factors(const Value& a, bool pivot) {
  Builder& in = a.in();
  int64_t m = pt::known_size(a, -2), n = pt_columns(a);
  Value lu = a, rows = unsqueeze(counting(in.scalar(m), DType::i64), {1}),
        columns = unsqueeze(counting(in.scalar(pt::known_size(a, -1)), DType::i64), {0});
  std::vector<Value> pivots;
  for (int64_t k = 0; k < n; ++k) {
    Value x = pt::absolute(pt_column(lu, k)), open = in.op("GreaterEqual", {rows, in.scalar(k)});
    Value size = pt::where(open, x, like(x, -1)), best = pt::reduce("ReduceMax", size, {-2}, true);
    Value at = pt::reduce("ReduceMin", pt::where(in.op("Equal", {size, best}), rows, in.scalar(m)), {-2}, true);
    if (!pivot) at = at * 0.0 + static_cast<double>(k);
    // Rows k and `at` change places.
    Value here = in.op("Equal", {rows, in.scalar(k)}), there = in.op("Equal", {rows, at});
    Value chosen = pt::reduce("ReduceSum", pt::where(there, lu, like(lu, 0)), {-2}, true), mine = pt_row(lu, k);
    lu = pt::where(here, chosen, pt::where(there, mine, lu));
    Value below = in.op("Greater", {rows, in.scalar(k)}), head = pt_column(chosen, k);
    Value factors = pt::where(below, pt_column(lu, k) / head, like(head, 0));
    Value right = in.op("Greater", {columns, in.scalar(k)}), own = in.op("Equal", {columns, in.scalar(k)});
    lu = pt::where(in.op("LogicalAnd", {below, right}), lu - factors * chosen,
                   pt::where(in.op("LogicalAnd", {below, own}), factors, lu));
    pivots.push_back(squeeze(at, {-1}) + 1.0);
  }
  return {lu, convert(build::concat(pivots, pt_last(a) - 1), DType::i32)};
}
std::vector<Value> import_pt_lu_factor(Builder& layer) {
  Call c(layer);
  layer.has("check_errors");
  PtFactors f = pt_factors(pt_wide_matrix(c), c.flag("pivot"));
  std::vector<Value> out{convert(f.lu, pt_matrix_type(c)), f.pivots};
  if (layer.type().ends_with("_ex")) {
    Value one = build::slice(f.pivots, pt_last(f.pivots), 0, 1);
    out.push_back(squeeze(pt::filled_like(one, 0, DType::i32), {-1}));
  }
  return out;
}
Value pt_permutation(const Value& lu, const Value& pivots) {
  Builder& in = lu.in();
  int64_t m = pt::known_size(lu, -2), k = pt::known_size(pivots, -1);
  Value p = pt_batched_identity(lu, m), rows = unsqueeze(counting(in.scalar(m), DType::i64), {1});
  for (int64_t i = 0; i < k; ++i) {
    Value at = unsqueeze(convert(pt_column(pivots, i), DType::i64) - 1.0, {-1});
    Value here = in.op("Equal", {rows, in.scalar(i)}), there = in.op("Equal", {rows, at});
    Value chosen = pt::reduce("ReduceSum", pt::where(there, p, like(p, 0)), {-2}, true);
    p = pt::where(here, chosen, pt::where(there, pt_row(p, i), p));
  }
  return pt_flipped_axes(p);
}
struct PtUnpacked {
  Value p, l, u;
};
PtUnpacked pt_unpacked(const Value& lu, const Value& pivots) {
  int64_t m = pt::known_size(lu, -2), n = pt::known_size(lu, -1), k = std::min(m, n);
  Value strict = pt_part(lu, "Less"), diagonal = pt_part(pt::filled_like(lu, 1, lu.type()), "Equal");
  Value l = build::slice(strict + diagonal, pt_last(lu), 0, k),
        u = build::slice(pt_part(lu, "GreaterEqual"), pt_last(lu) - 1, 0, k);
  return {pt_permutation(lu, pivots), l, u};
}
std::vector<Value> import_pt_lu_unpack(Builder& layer) {
  Call c(layer);
  for (const char* n : {"unpack_data", "unpack_pivots"}) layer.has(n);
  Value lu = c["LU_data"];
  PtUnpacked f = pt_unpacked(convert(lu, DType::f64), c["LU_pivots"]);
  return {convert(f.p, lu.type()), convert(f.l, lu.type()), convert(f.u, lu.type())};
}
std::vector<Value> import_pt_lu(Builder& layer) {
  Call c(layer);
  Value a = pt_wide_matrix(c);
  PtFactors f = pt_factors(a, c.flag("pivot"));
  PtUnpacked u = pt_unpacked(f.lu, f.pivots);
  DType type = pt_matrix_type(c);
  return {convert(u.p, type), convert(u.l, type), convert(u.u, type)};
}
Value import_pt_lu_solve(Builder& layer) {
  Call c(layer);
  Value lu = convert(c.find("LU") ? c["LU"] : c["LU_data"], DType::f64),
        b = convert(c.find("B") ? c["B"] : c["self"], DType::f64);
  PtUnpacked f = pt_unpacked(lu, c.find("pivots") ? c["pivots"] : c["LU_pivots"]);
  Value a = build::matmul(build::matmul(f.p, f.l), f.u);
  if (c.flag("adjoint")) a = pt_flipped_axes(a);
  Value inverse = layer.op("Inverse", {a});
  bool left = layer.type() == "aten::lu_solve" || c.flag("left");
  return convert(left ? build::matmul(inverse, b) : build::matmul(b, inverse),
                 (c.find("B") ? c["B"] : c["self"]).type());
}

// ---- singular values ----

// U, S, V of the reduced form; the signs of columns are free.
struct PtSingular {
  Value u, s, v;
};
PtSingular pt_singular(const Value& a) {
  Builder& in = a.in();
  int64_t m = pt::known_size(a, -2), n = pt::known_size(a, -1);
  if (m < n) {
    PtSingular t = pt_singular(pt_flipped_axes(a));
    return {t.v, t.s, t.u};
  }
  std::vector<Value> e = in.ops("SelfAdjointEig@graft", {build::matmul(a, a, true, false)}, {{"compute_v", true}}, 2);
  auto reversed = [&](const Value& x) { return build::slice(x, pt_last(x), -1, INT64_MIN, -1); };
  Value s = in.op("Sqrt", {in.op("Maximum", {reversed(e[0]), like(e[0], 0)})}), v = reversed(e[1]);
  Value safe = pt::where(pt::equals(s, 0), like(s, 1), s);
  return {build::matmul(a, v) / unsqueeze(safe, {-2}), s, v};
}
std::vector<Value> import_pt_svd(Builder& layer) {
  Call c(layer);
  Value a = pt_wide_matrix(c);
  layer.has("compute_uv"), layer.has("driver");
  bool old = layer.type() == "aten::svd", whole = old ? layer.has("some") && !c.flag("some") : c.flag("full_matrices");
  if (whole && pt::known_size(a, -1) != pt::known_size(a, -2) && (layer.output_used(0) || layer.output_used(2)))
    unsupported("the full matrices of singular vectors are supported for square matrices alone");
  PtSingular f = pt_singular(a);
  DType type = pt_matrix_type(c);
  return {convert(f.u, type), convert(f.s, type), convert(old ? f.v : pt_flipped_axes(f.v), type)};
}
// The symmetric square root, and A = U P.
Value import_pt_matrix_sqrt(Builder& layer) {
  Call c(layer);
  std::vector<Value> e = layer.ops("SelfAdjointEig@graft", {pt_wide_matrix(c)}, {{"compute_v", true}}, 2);
  Value root = layer.op("Sqrt", {layer.op("Maximum", {e[0], like(e[0], 0)})});
  return convert(build::matmul(e[1] * unsqueeze(root, {-2}), e[1], false, true), pt_matrix_type(c));
}

// A = U P with U orthogonal and P symmetric.
std::vector<Value> import_pt_polar(Builder& layer) {
  Call c(layer);
  Value a = pt_wide_matrix(c);
  if (pt::known_size(a, -2) < pt::known_size(a, -1)) unsupported("the polar form of a wide matrix is not supported");
  PtSingular f = pt_singular(a);
  DType type = pt_matrix_type(c);
  return {convert(build::matmul(f.u, f.v, false, true), type),
          convert(build::matmul(f.v * unsqueeze(f.s, {-2}), f.v, false, true), type)};
}

// ---- statistics ----

Value import_pt_histc(Builder& layer) {
  Call c(layer);
  Value x = pt::flat(c["self"]);
  int64_t bins = c.integer("bins");
  double low = c.real("min"), high = c.real("max");
  if (bins < 1 || bins > 1 << 24) fail("expected 1 to ", 1 << 24, " bins, got ", bins);
  Value a = like(x, low), b = like(x, high);
  if (low == high) a = pt::reduce("ReduceMin", x, {0}, false), b = pt::reduce("ReduceMax", x, {0}, false);
  Value width = b - a;
  width = pt::where(pt::equals(width, 0), like(width, 1), width);
  Value at = convert(layer.op("Floor", {(x - a) / width * static_cast<double>(bins)}), DType::i64);
  at = layer.op("Minimum", {at, like(at, static_cast<double>(bins - 1))});
  Value inside = layer.op("LogicalAnd", {layer.op("GreaterEqual", {x, a}), layer.op("LessEqual", {x, b})});
  at = layer.op("Maximum", {at, like(at, 0)});
  Value zeros = build::fill(layer, 0, x.type(), layer.ints({bins}));
  return layer.op("ScatterElementsUpdate", {zeros, at, convert(inside, x.type()), layer.scalar(int64_t{0})},
                  {{"reduction", "sum"}});
}
// Counts between bounds, all but the last of which belong to the bin above them.
std::vector<Value> import_pt_histogram(Builder& layer) {
  Call c(layer);
  Value x = pt::flat(c["self"]), bounds = c.find("bins"), w = c.find("weight");
  int64_t n = 0;
  if (bounds) {
    n = pt::known_size(bounds, 0) - 1;
  } else {
    n = c.integer("bins");
    if (n < 1 || n > 1 << 24) fail("expected 1 to ", 1 << 24, " bins, got ", n);
    Value low, high;
    if (layer.has("range")) {
      auto range = layer.get<std::vector<double>>("range");
      if (range.size() != 2) fail("expected two bounds of the range, got ", range.size());
      low = like(x, range[0]), high = like(x, range[1]);
    } else {
      low = pt::reduce("ReduceMin", x, {0}, false), high = pt::reduce("ReduceMax", x, {0}, false);
      Value same = layer.op("Equal", {low, high});
      low = pt::where(same, low - 0.5, low), high = pt::where(same, high + 0.5, high);
    }
    Value at = convert(counting(layer.scalar(n + 1), DType::i64), x.type());
    bounds = low + at * ((high - low) / static_cast<double>(n));
    bounds = build::concat({build::slice(bounds, 0, 0, -1), reshape(high, {1})}, 0);
  }
  Value at = layer.op("SearchSorted", {bounds, x}, {{"right_mode", true}}) - 1.0;
  Value last = build::slice(bounds, 0, -1, INT64_MAX), first = build::slice(bounds, 0, 0, 1);
  Value inside = layer.op("LogicalAnd", {layer.op("GreaterEqual", {x, first}), layer.op("LessEqual", {x, last})});
  at = layer.op("Minimum", {layer.op("Maximum", {at, like(at, 0)}), like(at, static_cast<double>(n - 1))});
  Value each = w ? pt::flat(w) : pt::filled_like(x, 1, x.type());
  each = pt::where(inside, each, like(each, 0));
  Value zeros = build::fill(layer, 0, x.type(), layer.ints({n}));
  Value y = layer.op("ScatterElementsUpdate", {zeros, at, each, layer.scalar(int64_t{0})}, {{"reduction", "sum"}});
  if (c.flag("density"))
    y = y / (pt::reduce("ReduceSum", y, {0}, false) *
             (build::slice(bounds, 0, 1, INT64_MAX) - build::slice(bounds, 0, 0, -1)));
  return {y, bounds};
}
Value import_pt_block_diag(Builder& layer) {
  Call c(layer);
  std::vector<Value> parts = c.tensors("tensors"), rows;
  int64_t width = 0, before = 0;
  for (Value& v : parts) {
    while (v.rank() < 2) v = unsqueeze(v, {0});
    width += pt::known_size(v, 1);
  }
  for (const Value& v : parts) {
    int64_t n = pt::known_size(v, 1);
    rows.push_back(layer.op("Pad", {v, layer.ints({0, before}), layer.ints({0, width - before - n}), like(v, 0)},
                            {{"pad_mode", "constant"}}));
    before += n;
  }
  return build::concat(rows, 0);
}
Value import_pt_multi_margin_loss(Builder& layer) {
  Call c(layer);
  Value x = c["self"], t = convert(c["target"], DType::i64), w = c.find("weight");
  bool single = x.rank() < 2;
  if (single) x = reshape(x, {1, -1}), t = reshape(t, {1});
  double p = c.given("p") ? c.real("p") : 1;
  Value own = layer.op("GatherElements", {x, unsqueeze(t, {1})}, {{"axis", 1}}), d = c.real("margin") - own + x;
  Value each = layer.op("Maximum", {d, like(d, 0)});
  if (p == 2) each = each * each;
  if (w) each = each * unsqueeze(build::gather(w, t, 0), {1});
  Value others = layer.op("NotEqual", {counting(dimension_of(x, 1), DType::i64), unsqueeze(t, {1})});
  Value loss = pt::reduce("ReduceSum", pt::where(others, each, like(each, 0)), {1}, false) /
               convert(dimension_of(x, 1), x.type());
  int64_t how = c.integer("reduction");
  if (how == 0) return single ? reshape(loss, {}) : loss;
  return pt::reduce(how == 1 ? "ReduceMean" : "ReduceSum", loss, {0}, false);
}

}  // namespace

Definitions define_pytorch_factorizations() {
  return {
      pt::rules({"aten::geqrf"}, import_pt_geqrf),
      pt::rules({"aten::linalg_qr", "aten::qr"}, import_pt_qr),
      pt::rules({"aten::ormqr"}, import_pt_ormqr),
      pt::rules({"aten::linalg_lu_factor", "aten::linalg_lu_factor_ex"}, import_pt_lu_factor),
      pt::rules({"aten::lu_unpack"}, import_pt_lu_unpack),
      pt::rules({"aten::linalg_lu"}, import_pt_lu),
      pt::rules({"aten::linalg_lu_solve", "aten::lu_solve"}, import_pt_lu_solve),
      pt::rules({"aten::linalg_svd", "aten::svd", "aten::_linalg_svd"}, import_pt_svd),
      pt::rules({"aten::linalg_polar"}, import_pt_polar),
      pt::rules({"aten::linalg_matrix_sqrth"}, import_pt_matrix_sqrt),
      pt::rules({"aten::histc"}, import_pt_histc),
      pt::rules({"aten::histogram"}, import_pt_histogram),
      pt::rules({"aten::block_diag"}, import_pt_block_diag),
      pt::rules({"aten::multi_margin_loss"}, import_pt_multi_margin_loss),
  };
}

}  // namespace graft
