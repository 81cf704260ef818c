// Inverse and Det: Gaussian elimination with partial pivoting.
#include <graft/op.hpp>

namespace graft {
namespace {

struct Inverse {
  bool adjoint = false;
  static constexpr std::tuple schema{
      attr("adjoint", &Inverse::adjoint, "return the adjoint: transpose the matrices first")};
};

Dim square_side(const Shape& s) {
  if (s.rank() < 2) fail("expected matrices (rank 2 or more), got shape ", s);
  const Dim &rows = s[s.rank() - 2], &columns = s[s.rank() - 1];
  if (std::max(rows.min(), columns.min()) > std::min(rows.max(), columns.max()))
    fail("expected square matrices, got shape ", s);
  return merge(rows, columns);
}

void inverse_infer(Infer& ctx, const Inverse&) {
  Shape s = ctx.shape(0);
  if (s.ranked()) {
    Dim side = square_side(s);
    s[s.rank() - 2] = s[s.rank() - 1] = side;
  }
  ctx.output(0, ctx.type(0), s);
}
void det_infer(Infer& ctx, const NoAttributes&) {
  Shape s = ctx.shape(0);
  if (s.ranked()) {
    square_side(s);
    s.dims().resize(s.rank() - 2);
  }
  ctx.output(0, ctx.type(0), s);
}

// Eliminates below the diagonal of the n x n matrix `m`, or on both sides of it if there is `other`, whose rows undergo
// the same operations. Returns the determinant.
double eliminate(double* m, int64_t n, double* other) {
  double determinant = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i)
      if (std::fabs(m[i * n + k]) > std::fabs(m[pivot * n + k])) pivot = i;
    if (pivot != k) {
      std::swap_ranges(m + k * n, m + (k + 1) * n, m + pivot * n);
      if (other) std::swap_ranges(other + k * n, other + (k + 1) * n, other + pivot * n);
      determinant = -determinant;
    }
    double p = m[k * n + k];
    determinant *= p;
    if (p == 0 && !other) return 0;
    for (int64_t i = other ? 0 : k + 1; i < n; ++i) {
      if (i == k) continue;
      double factor = m[i * n + k] / p;
      for (int64_t j = k; j < n; ++j) m[i * n + j] -= factor * m[k * n + j];
      for (int64_t j = 0; other && j < n; ++j) other[i * n + j] -= factor * other[k * n + j];
    }
  }
  return determinant;
}

void inverse_run(Run& ctx, const Inverse& a) {
  TensorView x = ctx.input(0);
  int64_t n = x.dim(x.rank() - 1);
  std::vector<double> v = x.to<double>(), out(v.size());
  for (size_t base = 0; base < v.size(); base += static_cast<size_t>(n * n)) {
    double *m = v.data() + base, *y = out.data() + base;
    if (a.adjoint)
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < i; ++j) std::swap(m[i * n + j], m[j * n + i]);
    for (int64_t i = 0; i < n; ++i) y[i * n + i] = 1;
    eliminate(m, n, y);
    for (int64_t i = 0; i < n * n; ++i) y[i] /= m[i / n * (n + 1)];
  }
  ctx.output(0).assign(out);
}

void det_run(Run& ctx, const NoAttributes&) {
  TensorView x = ctx.input(0);
  int64_t n = x.dim(x.rank() - 1);
  std::vector<double> v = x.to<double>(), out(static_cast<size_t>(ctx.output(0).size()));
  for (size_t i = 0; i < out.size(); ++i) out[i] = eliminate(v.data() + static_cast<int64_t>(i) * n * n, n, nullptr);
  ctx.output(0).assign(out);
}

}  // namespace

Definitions define_inverse() {
  return {
      op<Inverse>("Inverse", 14)
          .doc("Inverse of square matrices; the result for a singular matrix is undefined")
          .inputs("data")
          .infer(inverse_infer)
          .reference(inverse_run)
          .import(onnx("Inverse").domain("com.microsoft")),
      op("Det", "graft")
          .doc("Determinant of square matrices")
          .inputs("data")
          .infer(det_infer)
          .reference(det_run)
          .import(onnx("Det")),
  };
}

}  // namespace graft
