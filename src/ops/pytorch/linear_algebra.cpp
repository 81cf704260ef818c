// Linear algebra of ATen.
#include "pytorch/call.hpp"

namespace graft {
namespace {

using pt::Call, pt::Ints;

Value pt_matrix_argument(Call& c) {
  for (const char* name : {"A", "self", "input"})
    if (Value v = c.find(name)) return pt::as_float(v);
  fail("expected a matrix");
}
Value pt_transposed(const Value& v) { return pt::swapped(v, -2, -1); }
Value pt_identity(Builder& in, int64_t n, DType type) {
  return convert(in.op("Eye", {in.scalar(n), in.scalar(n), in.scalar(int64_t{0})}, {{"output_type", DType::f32}}),
                 type);
}
// Zero status of a factorization: one per matrix.
Value pt_no_errors(const Value& a) {
  Value one = build::slice(build::slice(a, -1, 0, 1), -2, 0, 1);
  return convert(squeeze(pt::filled_like(one, 0, DType::i32), {-2, -1}), DType::i32);
}

// In 64 bits: the tolerance is that of the result.
Value pt_in_f64(const Value& v) { return convert(v, DType::f64); }
Value pt_inverse(const Value& a) { return convert(a.in().op("Inverse", {pt_in_f64(a)}), a.type()); }
Value pt_determinant(const Value& a) { return convert(a.in().op("Det@graft", {pt_in_f64(a)}), a.type()); }
Value pt_solution(const Value& a, const Value& b) {
  return convert(a.in().op("MatrixSolve@graft", {pt_in_f64(a), pt_in_f64(b)}), a.type());
}

Value import_pt_det(Builder& layer) {
  Call c(layer);
  return pt_determinant(pt_matrix_argument(c));
}
std::vector<Value> import_pt_slogdet(Builder& layer) {
  Call c(layer);
  Value d = layer.op("Det@graft", {pt_in_f64(pt_matrix_argument(c))});
  DType type = pt_matrix_argument(c).type();
  return {convert(layer.op("Sign", {d}), type), convert(layer.op("Log", {pt::absolute(d)}), type)};
}
Value import_pt_logdet(Builder& layer) {
  Call c(layer);
  return layer.op("Log", {pt_determinant(pt_matrix_argument(c))});
}
std::vector<Value> import_pt_inv(Builder& layer) {
  Call c(layer);
  Value a = pt_matrix_argument(c);
  layer.has("check_errors");
  std::vector<Value> out{pt_inverse(a)};
  if (layer.type().ends_with("_ex")) out.push_back(pt_no_errors(a));
  return out;
}
Value pt_solved(Call& c, const Value& a, const Value& b, bool left) {
  // A vector, or a batch of them, where the right side has one axis less.
  Shape sa = a.shape(), sb = b.shape();
  bool vector = sb.rank() == 1;
  if (!vector && sb.rank() + 1 == sa.rank()) {
    vector = true;
    for (size_t i = 0; i < sb.rank(); ++i) vector &= sb[i].same(sa[i]);
  }
  if (vector) return squeeze(pt_solved(c, a, unsqueeze(b, {-1}), true), {-1});
  if (!left) return pt_transposed(pt_solved(c, pt_transposed(a), pt_transposed(b), true));
  // Batches are broadcast.
  Value x = a, y = b;
  if (sa.rank() > 2 || sb.rank() > 2) return build::matmul(pt_inverse(x), y);
  return pt_solution(x, y);
}
std::vector<Value> import_pt_solve(Builder& layer) {
  Call c(layer);
  Value a = c["A"];
  layer.has("check_errors");
  std::vector<Value> out{pt_solved(c, a, c["B"], c.flag("left"))};
  if (layer.type().ends_with("_ex")) out.push_back(pt_no_errors(a));
  return out;
}
Value import_pt_solve_triangular(Builder& layer) {
  Call c(layer);
  Value a = c["self"], b = c["B"];
  bool upper = c.flag("upper"), left = c.flag("left");
  Value rows = unsqueeze(counting(dimension_of(a, -2), DType::i64), {1}),
        columns = unsqueeze(counting(dimension_of(a, -1), DType::i64), {0});
  Value inside = layer.op(upper ? "GreaterEqual" : "LessEqual", {columns, rows});
  Value t = pt::where(inside, a, like(a, 0));
  if (c.flag("unitriangular")) t = pt::where(layer.op("Equal", {columns, rows}), like(a, 1), t);
  Value inverse = pt_inverse(t);
  return left ? build::matmul(inverse, b) : build::matmul(b, inverse);
}
Value import_pt_tensorsolve(Builder& layer) {
  Call c(layer);
  Value a = c["self"], b = c["other"];
  auto dims = c.given("dims") ? c.ints("dims") : Ints();
  if (!dims.empty()) {
    dims = pt::axes_of(dims, a.rank());
    Ints order;
    for (int64_t i : pt::counting_to(a.rank()))
      if (std::find(dims.begin(), dims.end(), i) == dims.end()) order.push_back(i);
    order.insert(order.end(), dims.begin(), dims.end());
    a = transpose(a, order);
  }
  Shape s = a.shape();
  Ints result;
  for (size_t i = b.rank(); i < s.rank(); ++i) result.push_back(pt::known_size(a, static_cast<int64_t>(i)));
  int64_t n = 1;
  for (int64_t d : result) n *= d;
  return reshape(pt_solution(reshape(a, {n, n}), reshape(b, {n, 1})), result);
}
std::vector<Value> import_pt_cholesky(Builder& layer) {
  Call c(layer);
  Value a = pt_matrix_argument(c);
  layer.has("check_errors");
  bool upper = c.flag("upper");
  Value l = convert(layer.op("Cholesky@graft", {pt_in_f64(upper ? pt_transposed(a) : a)}), a.type());
  std::vector<Value> out{upper ? pt_transposed(l) : l};
  if (layer.type().ends_with("_ex")) out.push_back(pt_no_errors(a));
  return out;
}
// Of a matrix that is given by its Cholesky factor.
Value import_pt_cholesky_use(Builder& layer) {
  Call c(layer);
  bool upper = c.flag("upper"), solve = layer.type() == "aten::cholesky_solve";
  Value f = solve ? c["input2"] : c["self"];
  Value rows = unsqueeze(counting(dimension_of(f, -2), DType::i64), {1}),
        columns = unsqueeze(counting(dimension_of(f, -1), DType::i64), {0});
  f = pt::where(layer.op(upper ? "GreaterEqual" : "LessEqual", {columns, rows}), f, like(f, 0));
  Value t = pt_transposed(f), inverse = pt_inverse(upper ? build::matmul(t, f) : build::matmul(f, t));
  return solve ? build::matmul(inverse, c["self"]) : inverse;
}
std::pair<Value, Value> pt_eigen(const Value& symmetric) {
  std::vector<Value> e = symmetric.in().ops("SelfAdjointEig@graft", {pt_in_f64(symmetric)}, {{"compute_v", true}}, 2);
  return {e[0], e[1]};
}
std::vector<Value> import_pt_eigh(Builder& layer) {
  Call c(layer);
  Value a = pt_matrix_argument(c);
  if (c.word("UPLO") == "U") a = pt_transposed(a);
  auto [values, vectors] = pt_eigen(a);
  if (layer.type() == "aten::linalg_eigvalsh") return {convert(values, a.type())};
  return {convert(values, a.type()), convert(vectors, a.type())};
}
// Singular values in falling order: the eigenvalues of [[0, A], [A^T, 0]] are they, their negatives and zeros.
Value pt_singular_values(const Value& a) {
  Builder& in = a.in();
  Value v = pt_in_f64(a), t = pt_transposed(v);
  int64_t m = pt::known_size(a, -2), n = pt::known_size(a, -1), k = std::min(m, n);
  auto padded = [&](const Value& x, int64_t before, int64_t after) {
    Ints b(x.rank(), 0), e(x.rank(), 0);
    b.back() = before, e.back() = after;
    return in.op("Pad", {x, in.ints(b), in.ints(e), like(x, 0)}, {{"pad_mode", "constant"}});
  };
  Value both = build::concat({padded(v, m, 0), padded(t, 0, n)}, static_cast<int64_t>(a.rank()) - 2);
  Value values = pt_eigen(both).first;
  Value best = build::slice(values, -1, m + n - k, INT64_MAX);
  best = build::slice(best, static_cast<int64_t>(best.rank()) - 1, -1, INT64_MIN, -1);
  return in.op("Maximum", {best, like(best, 0)});
}
Value import_pt_svdvals(Builder& layer) {
  Call c(layer);
  Value a = pt_matrix_argument(c);
  return convert(pt_singular_values(a), a.type());
}
// What singular values must exceed to count.
Value pt_singular_limit(Call& c, const Value& a, const Value& largest) {
  double eps = a.type() == DType::f64 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
  std::string_view relative = c.given("rcond") ? "rcond" : "rtol";
  Value atol = c.given("atol") ? pt_in_f64(c.number("atol", DType::f64)) : c.in.scalar(0.0, DType::f64);
  double standard =
      c.given("atol") ? 0 : eps * static_cast<double>(std::max(pt::known_size(a, -1), pt::known_size(a, -2)));
  Value rtol = c.given(relative) ? pt_in_f64(c.number(relative, DType::f64)) : c.in.scalar(standard, DType::f64);
  if (rtol.rank() > 0) rtol = unsqueeze(rtol, {-1});
  if (atol.rank() > 0) atol = unsqueeze(atol, {-1});
  return c.in.op("Maximum", {atol, rtol * largest});
}
// V diag(1 / s^2) V^T A^T, without singular values that are too small.
Value import_pt_pinv(Builder& layer) {
  Call c(layer);
  Value given = c["self"], a = pt_in_f64(given);
  if (c.flag("hermitian")) {  // the lower triangle counts
    Value rows = unsqueeze(counting(dimension_of(a, -2), DType::i64), {1}),
          columns = unsqueeze(counting(dimension_of(a, -1), DType::i64), {0});
    a = pt::where(layer.op("LessEqual", {columns, rows}), a, pt_transposed(a));
  }
  Value t = pt_transposed(a);
  auto [squares, v] = pt_eigen(build::matmul(t, a));
  Value s = layer.op("Sqrt", {layer.op("Maximum", {squares, like(squares, 0)})});
  Value keep = layer.op("Greater", {s, pt_singular_limit(c, given, build::slice(s, -1, -1, INT64_MAX))});
  Value inverse = pt::where(keep, 1.0 / pt::where(keep, squares, like(squares, 1)), like(squares, 0));
  Value y = build::matmul(build::matmul(v * unsqueeze(inverse, {-2}), v, false, true), t);
  return convert(y, given.type());
}
Value import_pt_matrix_rank(Builder& layer) {
  Call c(layer);
  Value a = c.find("self") ? c["self"] : c["input"], s = pt_singular_values(a);
  Value limit = pt_singular_limit(c, a, build::slice(s, -1, 0, 1));
  return pt::reduce("ReduceSum", convert(layer.op("Greater", {s, limit}), DType::i64),
                    {static_cast<int64_t>(s.rank()) - 1}, false);
}

// ---- norms ----

// Over two axes, which become the last.
Value pt_matrix_norm(Call& c, const Value& x, const std::string& word, double p, Ints axes, bool keep) {
  (void)c;
  axes = pt::axes_of(axes, x.rank());
  if (axes.size() != 2 || axes[0] == axes[1]) fail("expected two axes of a matrix norm, got ", axes);
  Value y;
  if (word == "fro") {
    y = pt::unary_op("Sqrt", pt::reduce("ReduceSum", x * x, axes, true));
  } else if (word == "nuc" || std::fabs(p) == 2) {
    Ints order;
    for (int64_t i : pt::counting_to(x.rank()))
      if (i != axes[0] && i != axes[1]) order.push_back(i);
    order.insert(order.end(), axes.begin(), axes.end());
    Value s = convert(pt_singular_values(transpose(x, order)), x.type());
    Ints last{static_cast<int64_t>(s.rank()) - 1};
    y = word == "nuc" ? pt::reduce("ReduceSum", s, last, false)
                      : pt::reduce(p > 0 ? "ReduceMax" : "ReduceMin", s, last, false);
    if (!keep) return y;
    std::sort(axes.begin(), axes.end());
    return unsqueeze(y, axes);
  } else {
    bool columns = std::fabs(p) == 1;
    if (!columns && !std::isinf(p)) fail("expected a matrix norm of order 1, 2, inf, fro or nuc, got ", p);
    Value sums = pt::reduce("ReduceSum", pt::absolute(x), {columns ? axes[0] : axes[1]}, true);
    y = pt::reduce(p > 0 ? "ReduceMax" : "ReduceMin", sums, {columns ? axes[1] : axes[0]}, true);
  }
  if (keep) return y;
  std::sort(axes.begin(), axes.end());
  return squeeze(y, axes);
}
Value import_pt_linalg_norm(Builder& layer) {
  Call c(layer);
  Value x = pt_matrix_argument(c);
  if (auto t = c.dtype()) x = convert(x, *t);
  bool matrix = layer.type() == "aten::linalg_matrix_norm";
  const graft_value* f = layer.field("ord");
  std::string word = f && f->kind == GRAFT_TEXT ? c.word("ord") : !f && matrix ? "fro" : "";
  double p = f && f->kind != GRAFT_TEXT ? c.real("ord") : 2;
  Ints axes = layer.has("dim") ? c.ints("dim") : matrix ? Ints{-2, -1} : Ints();
  bool keep = c.flag("keepdim");
  if (!f && !matrix) {
    Ints all = axes.empty() ? pt::counting_to(x.rank()) : pt::axes_of(axes, x.rank());
    return pt::norm_over(x, 2, all, keep);
  }
  if (axes.empty()) axes = pt::counting_to(x.rank());
  if (axes.size() == 2) return pt_matrix_norm(c, x, word, p, axes, keep);
  return pt::norm_over(x, p, pt::axes_of(axes, x.rank()), keep);
}
Value import_pt_cond(Builder& layer) {
  Call c(layer);
  Value x = pt_matrix_argument(c);
  const graft_value* f = layer.field("p");
  std::string word = f && f->kind == GRAFT_TEXT ? c.word("p") : "";
  double p = f && f->kind != GRAFT_TEXT ? c.real("p") : 2;
  if (word.empty() && std::fabs(p) == 2) {
    Value s = pt_singular_values(x), high = build::slice(s, -1, 0, 1), low = build::slice(s, -1, -1, INT64_MAX);
    return convert(squeeze(p > 0 ? high / low : low / high, {-1}), x.type());
  }
  return pt_matrix_norm(c, x, word, p, {-2, -1}, false) * pt_matrix_norm(c, pt_inverse(x), word, p, {-2, -1}, false);
}
Value import_pt_matrix_power(Builder& layer) {
  Call c(layer);
  Value a = c["self"];
  int64_t n = c.integer("n");
  if (std::abs(n) > 1 << 20) fail("expected a power of at most ", 1 << 20, ", got ", n);
  if (n < 0) a = pt_inverse(a), n = -n;
  Value y;
  for (; n > 0; n /= 2) {
    if (n % 2) y = y ? build::matmul(y, a) : a;
    if (n > 1) a = build::matmul(a, a);
  }
  return y ? y : pt::expanded(pt_identity(layer, pt::known_size(a, -1), a.type()), shape_of(a));
}
// A series for a matrix that is made small, squared as often.
Value import_pt_matrix_exp(Builder& layer) {
  Call c(layer);
  constexpr int halvings = 12, terms = 12;
  Value a = pt_in_f64(c["self"]) * std::pow(0.5, halvings);
  Value one = pt_identity(layer, pt::known_size(a, -1), DType::f64), y = one;
  for (int k = terms; k > 0; --k) y = one + build::matmul(a, y) / static_cast<double>(k);
  for (int i = 0; i < halvings; ++i) y = build::matmul(y, y);
  return convert(pt::same_shape(y, a), c["self"].type());
}
// The first columns of the product of reflections.
Value import_pt_householder_product(Builder& layer) {
  Call c(layer);
  Value v = c["input"], tau = c["tau"];
  int64_t m = pt::known_size(v, -2), n = pt::known_size(v, -1), k = pt::known_size(tau, -1);
  if (k > 1024) unsupported("more than 1024 reflections are not supported");
  Value rows = counting(layer.scalar(m), DType::i64), one = pt_identity(layer, m, v.type()), q;
  for (int64_t i = 0; i < k; ++i) {
    Value column = build::slice(v, -1, i, i + 1), at = unsqueeze(rows, {1});
    Value here = layer.op("Equal", {at, layer.scalar(i)}), below = layer.op("Greater", {at, layer.scalar(i)});
    Value w = pt::where(here, like(v, 1), pt::where(below, column, like(v, 0)));
    Value t = unsqueeze(build::slice(tau, -1, i, i + 1), {-1});
    Value h = one - build::matmul(w, w, false, true) * t;
    q = q ? build::matmul(q, h) : h;
  }
  if (!q) q = pt::expanded(one, build::concat({build::dims(v, pt::counting_to(v.rank() - 2)), layer.ints({m, m})}, 0));
  return build::slice(q, static_cast<int64_t>(q.rank()) - 1, 0, n);
}

}  // namespace

Definitions define_pytorch_linear_algebra() {
  return {
      pt::rules({"aten::linalg_det", "aten::det"}, import_pt_det),
      pt::rules({"aten::linalg_slogdet", "aten::slogdet"}, import_pt_slogdet),
      pt::rules({"aten::logdet"}, import_pt_logdet),
      pt::rules({"aten::linalg_inv", "aten::inverse", "aten::linalg_inv_ex"}, import_pt_inv),
      pt::rules({"aten::linalg_solve", "aten::linalg_solve_ex"}, import_pt_solve),
      pt::rules({"aten::linalg_solve_triangular"}, import_pt_solve_triangular),
      pt::rules({"aten::linalg_tensorsolve"}, import_pt_tensorsolve),
      pt::rules({"aten::linalg_cholesky", "aten::cholesky", "aten::linalg_cholesky_ex"}, import_pt_cholesky),
      pt::rules({"aten::cholesky_solve", "aten::cholesky_inverse"}, import_pt_cholesky_use),
      pt::rules({"aten::linalg_eigh", "aten::linalg_eigvalsh"}, import_pt_eigh),
      pt::rules({"aten::linalg_svdvals"}, import_pt_svdvals),
      pt::rules({"aten::linalg_matrix_rank"}, import_pt_matrix_rank, {"hermitian"}),
      pt::rules({"aten::linalg_norm", "aten::linalg_matrix_norm"}, import_pt_linalg_norm),
      pt::rules({"aten::linalg_cond"}, import_pt_cond),
      pt::rules({"aten::linalg_matrix_power", "aten::matrix_power"}, import_pt_matrix_power),
      pt::rules({"aten::matrix_exp", "aten::linalg_matrix_exp"}, import_pt_matrix_exp),
      pt::rules({"aten::linalg_householder_product", "aten::orgqr"}, import_pt_householder_product),
      pt::rules({"aten::linalg_pinv", "aten::pinverse"}, import_pt_pinv, {"hermitian"}),
  };
}

}  // namespace graft
