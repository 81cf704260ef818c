// Systems of linear equations.
#include <graft/op.hpp>

namespace graft {
namespace {

struct MatrixSolve {
  bool adjoint = false;
  static constexpr std::tuple schema{attr("adjoint", &MatrixSolve::adjoint, "transpose the matrices first")};
};
struct TriangularSolve {
  bool lower = true, adjoint = false;
  static constexpr std::tuple schema{
      attr("lower", &TriangularSolve::lower,
           "use the lower triangle of the matrices, otherwise the upper; the other one is ignored"),
      attr("adjoint", &TriangularSolve::adjoint, "transpose the matrices first")};
};

// Matrices [..., n, n] and right-hand sides [..., n, k]; leading axes are broadcast.
template <class A>
void solve_infer(Infer& ctx, const A&) {
  DType type = common_type(ctx);
  if (!is_real(type)) fail("expected floating-point matrices, got ", type);
  Shape m = ctx.shape(0), b = ctx.shape(1);
  if (!m.ranked() || !b.ranked()) return ctx.output(0, type, Shape::unknown());
  if (m.rank() < 2 || b.rank() < 2) fail("expected matrices, got shapes ", m, " and ", b);
  Dim side = merge(merge(m[m.rank() - 2], m[m.rank() - 1]), b[b.rank() - 2]), columns = b[b.rank() - 1];
  m.dims().resize(m.rank() - 2), b.dims().resize(b.rank() - 2);
  Shape out = broadcast(m, b);
  out.push_back(side), out.push_back(columns);
  ctx.output(0, type, out);
}

// Calls solve(matrix, right-hand side, n, k) for each pair; the matrix may be overwritten, the result
// replaces the right-hand side.
template <class F>
void solve_each(Run& ctx, bool adjoint, F solve) {
  TensorView m = ctx.input(0), b = ctx.input(1);
  OutputView y = ctx.output(0);
  int64_t n = y.dim(y.rank() - 2), k = y.dim(y.rank() - 1);
  auto batch = [](TensorView t) { return t.dims().first(t.rank() - 2); };
  std::vector<double> matrices = m.to<double>(), sides = b.to<double>(), out(static_cast<size_t>(y.size()));
  Walk walk(batch(y), {broadcast_strides(batch(m), batch(y)), broadcast_strides(batch(b), batch(y))});
  if (walk.empty() || out.empty()) return;
  double* to = out.data();
  std::vector<double> matrix(static_cast<size_t>(n * n));
  do {
    const double* from = matrices.data() + static_cast<int64_t>(walk[0]) * n * n;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        matrix[static_cast<size_t>(i * n + j)] = adjoint ? from[j * n + i] : from[i * n + j];
    const double* side = sides.data() + static_cast<int64_t>(walk[1]) * n * k;
    std::copy(side, side + n * k, to);
    solve(matrix.data(), to, n, k);
    to += n * k;
  } while (walk.next());
  y.assign(out);
}

void triangular(const double* m, double* x, int64_t n, int64_t k, bool lower) {
  for (int64_t step = 0; step < n; ++step) {
    int64_t i = lower ? step : n - 1 - step;
    for (int64_t c = 0; c < k; ++c) {
      double sum = x[i * k + c];
      for (int64_t j = lower ? 0 : i + 1; j < (lower ? i : n); ++j) sum -= m[i * n + j] * x[j * k + c];
      x[i * k + c] = sum / m[i * n + i];
    }
  }
}

// Gaussian elimination with partial pivoting, then back substitution.
void eliminated(double* m, double* x, int64_t n, int64_t k) {
  for (int64_t p = 0; p < n; ++p) {
    int64_t best = p;
    for (int64_t i = p + 1; i < n; ++i)
      if (std::fabs(m[i * n + p]) > std::fabs(m[best * n + p])) best = i;
    if (m[best * n + p] == 0) fail("expected an invertible matrix, got a singular one");
    std::swap_ranges(m + p * n, m + (p + 1) * n, m + best * n);
    std::swap_ranges(x + p * k, x + (p + 1) * k, x + best * k);
    for (int64_t i = p + 1; i < n; ++i) {
      double factor = m[i * n + p] / m[p * n + p];
      for (int64_t j = p; j < n; ++j) m[i * n + j] -= factor * m[p * n + j];
      for (int64_t c = 0; c < k; ++c) x[i * k + c] -= factor * x[p * k + c];
    }
  }
  triangular(m, x, n, k, false);
}

void matrix_solve_run(Run& ctx, const MatrixSolve& a) { solve_each(ctx, a.adjoint, eliminated); }
void triangular_solve_run(Run& ctx, const TriangularSolve& a) {
  bool lower = a.lower != a.adjoint;
  solve_each(ctx, a.adjoint, [&](const double* m, double* x, int64_t n, int64_t k) { triangular(m, x, n, k, lower); });
}

}  // namespace

Definitions define_solve() {
  return {
      op<MatrixSolve>("MatrixSolve", "graft")
          .doc("Solve systems of linear equations with square matrices")
          .inputs("matrix, rhs")
          .infer(solve_infer<MatrixSolve>)
          .reference(matrix_solve_run)
          .import(tensorflow("MatrixSolve").attr("adjoint", "adjoint")),
      op<TriangularSolve>("TriangularSolve", "graft")
          .doc("Solve systems of linear equations with triangular matrices")
          .inputs("matrix, rhs")
          .infer(solve_infer<TriangularSolve>)
          .reference(triangular_solve_run)
          .import(tensorflow("MatrixTriangularSolve").attr("lower", "lower").attr("adjoint", "adjoint")),
  };
}

}  // namespace graft
