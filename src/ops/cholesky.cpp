#include <graft/op.hpp>

namespace graft {
namespace {

void cholesky_infer(Infer& ctx, const NoAttributes&) {
  Shape s = ctx.shape(0);
  if (!is_real(ctx.type(0))) fail("expected floating-point matrices, got ", ctx.type(0));
  if (s.ranked()) {
    if (s.rank() < 2) fail("expected matrices, got shape ", s);
    Dim &rows = s[s.rank() - 2], &columns = s[s.rank() - 1];
    if (std::max(rows.min(), columns.min()) > std::min(rows.max(), columns.max()))
      fail("expected square matrices, got shape ", s);
    rows = columns = merge(rows, columns);
  }
  ctx.output(0, ctx.type(0), s);
}

// Row by row; only the lower triangle is read. Returns false if the matrix is not positive definite.
bool factorize(double* m, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double& e = m[i * n + j];
      if (j > i) {
        e = 0;
        continue;
      }
      for (int64_t k = 0; k < j; ++k) e -= m[i * n + k] * m[j * n + k];
      if (j < i) e /= m[j * n + j];
      else if (!(e > 0)) return false;
      else e = std::sqrt(e);
    }
  return true;
}

void cholesky_run(Run& ctx, const NoAttributes&) {
  TensorView x = ctx.input(0);
  int64_t n = x.dim(x.rank() - 1), size = n * n;
  std::vector<double> v = x.to<double>();
  for (int64_t at = 0; size > 0 && at < x.size(); at += size)
    if (!factorize(v.data() + at, n)) fail("matrix ", at / size, " is not positive definite");
  ctx.output(0).assign(v);
}

}  // namespace

Definitions define_cholesky() {
  return op("Cholesky", "graft")
      .doc("Cholesky decomposition: lower triangular L with L * L^T equal to a symmetric positive definite matrix")
      .inputs("data")
      .infer(cholesky_infer)
      .reference(cholesky_run)
      .import(tensorflow("Cholesky"));
}

}  // namespace graft
