// Eigenvalues and eigenvectors of symmetric matrices: Golub and Van Loan, "Matrix Computations", 8.3: reduction to a
// tridiagonal matrix by reflections, then implicit QR steps with Wilkinson's shift.
#include <cmath>
#include <graft/op.hpp>

namespace graft {
namespace {

struct SelfAdjointEig {
  bool compute_v = true;
  static constexpr std::tuple schema{attr("compute_v", &SelfAdjointEig::compute_v, "compute eigenvectors, too")};
};

void self_adjoint_infer(Infer& ctx, const SelfAdjointEig& a) {
  Shape s = ctx.shape(0), values = s;
  if (!is_real(ctx.type(0)) && ctx.type(0) != DType::undefined)
    fail("expected floating-point matrices, got ", ctx.type(0));
  if (s.ranked()) {
    if (s.rank() < 2) fail("expected matrices, got shape ", s);
    Dim &rows = s[s.rank() - 2], &columns = s[s.rank() - 1];
    if (std::max(rows.min(), columns.min()) > std::min(rows.max(), columns.max()))
      fail("expected square matrices, got shape ", s);
    rows = columns = merge(rows, columns);
    values = Shape();
    for (size_t i = 0; i + 1 < s.rank(); ++i) values.push_back(s[i]);
  }
  ctx.output(0, ctx.type(0), values);
  ctx.output(1, ctx.type(0), a.compute_v ? s : Shape{Dim(0)});
}

// A = Q T Q^T of one symmetric matrix, of which the lower triangle is read; T is made diagonal. In the precision of the
// matrix, on which the signs of the vectors depend, so that they are those of TensorFlow.
template <class T>
class SymmetricMatrix {
 public:
  SymmetricMatrix(const T* matrix, int64_t n)
      : n_(n), a_(matrix, matrix + n * n), q_(a_.size(), 0), d_(size(n)), e_(size(n)) {
    for (T v : a_) scale_ = std::isfinite(v) ? std::max(scale_, std::abs(v)) : std::numeric_limits<T>::quiet_NaN();
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) at(i, j) = at(j, i) = at(i, j) / (scale_ == 0 ? 1 : scale_);
      q_[size(i * n + i)] = 1;
    }
    if (std::isnan(scale_)) fail("expected finite matrices, got values that are not");
    reduce();
    diagonalize();
  }
  // In ascending order; vector j is column j.
  void store(T* values, T* vectors) const {
    std::vector<int64_t> order(size(n_));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return d_[size(i)] < d_[size(j)]; });
    for (int64_t j = 0; j < n_; ++j) {
      values[j] = d_[size(order[size(j)])] * scale_;
      for (int64_t i = 0; vectors && i < n_; ++i) vectors[i * n_ + j] = q_[size(i * n_ + order[size(j)])];
    }
  }

 private:
  static size_t size(int64_t i) { return static_cast<size_t>(i); }
  T& at(int64_t i, int64_t j) { return a_[size(i * n_ + j)]; }

  // Column k below the diagonal becomes a multiple of the first unit vector, by a reflection I - t v v^T from both
  // sides.
  void reduce() {
    for (int64_t k = 0; k + 1 < n_; ++k) {
      int64_t m = n_ - k - 1;
      std::vector<T> v(size(m)), p(size(m), 0);
      T rest = 0, head = at(k + 1, k);
      for (int64_t i = 0; i < m; ++i) v[size(i)] = at(k + 1 + i, k), rest += i == 0 ? 0 : v[size(i)] * v[size(i)];
      d_[size(k)] = at(k, k), e_[size(k)] = head;
      if (rest <= std::numeric_limits<T>::min()) continue;
      T norm = std::sqrt(head * head + rest), beta = head >= 0 ? -norm : norm, t = (beta - head) / beta;
      for (int64_t i = 1; i < m; ++i) v[size(i)] /= head - beta;
      v[0] = 1, e_[size(k)] = beta;
      T along = 0;
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < m; ++j) p[size(i)] += t * at(k + 1 + i, k + 1 + j) * v[size(j)];
        along += p[size(i)] * v[size(i)];
      }
      for (int64_t i = 0; i < m; ++i) p[size(i)] -= t / 2 * along * v[size(i)];
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < m; ++j) at(k + 1 + i, k + 1 + j) -= v[size(i)] * p[size(j)] + p[size(i)] * v[size(j)];
      for (int64_t i = 0; i < n_; ++i) {
        T* row = q_.data() + i * n_ + k + 1;
        T dot = 0;
        for (int64_t j = 0; j < m; ++j) dot += row[j] * v[size(j)];
        for (int64_t j = 0; j < m; ++j) row[j] -= t * dot * v[size(j)];
      }
    }
    if (n_ > 0) d_[size(n_ - 1)] = at(n_ - 1, n_ - 1);
  }

  // One step on rows first..last, which are not reducible: rotations chase the element that the shifted one creates
  // down.
  void step(int64_t first, int64_t last) {
    T half = (d_[size(last - 1)] - d_[size(last)]) / 2, e = e_[size(last - 1)], shift = d_[size(last)];
    T h = std::hypot(half, e);
    shift -= half == 0 ? std::abs(e) : e / (half + (half > 0 ? h : -h)) * e;
    T x = d_[size(first)] - shift, z = e_[size(first)];
    for (int64_t k = first; k < last && z != 0; ++k) {
      T r = std::hypot(x, z), c = x / r, s = z / r;
      T &dk = d_[size(k)], &ek = e_[size(k)], &dn = d_[size(k + 1)], a = dk, b = ek, g = dn;
      if (k > first) e_[size(k - 1)] = r;
      dk = c * c * a + 2 * c * s * b + s * s * g;
      dn = s * s * a - 2 * c * s * b + c * c * g;
      ek = c * s * (g - a) + (c * c - s * s) * b;
      x = ek;
      if (k + 1 < last) z = s * e_[size(k + 1)], e_[size(k + 1)] *= c;
      for (int64_t i = 0; i < n_; ++i) {
        T &left = q_[size(i * n_ + k)], &right = q_[size(i * n_ + k + 1)], l = left;
        left = c * l + s * right, right = c * right - s * l;
      }
    }
  }
  void diagonalize() {
    constexpr T eps = std::numeric_limits<T>::epsilon();
    int64_t last = n_ - 1;
    for (int64_t steps = 0; last > 0; ++steps) {
      for (int64_t i = 0; i < last; ++i)
        if (T& e = e_[size(i)]; std::abs(e) <= eps * std::sqrt(std::abs(d_[size(i)]) + std::abs(d_[size(i + 1)])) ||
                                std::abs(e) < std::numeric_limits<T>::min())
          e = 0;
      while (last > 0 && e_[size(last - 1)] == 0) --last;
      if (last == 0) return;
      if (steps > 30 * n_) fail("the eigenvalues of a matrix of ", n_, " rows did not converge");
      int64_t first = last - 1;
      while (first > 0 && e_[size(first - 1)] != 0) --first;
      step(first, last);
    }
  }

  int64_t n_;
  std::vector<T> a_, q_, d_, e_;
  T scale_ = 0;
};

template <class T>
void self_adjoint(Run& ctx, const SelfAdjointEig& a) {
  TensorView x = ctx.input(0);
  int64_t n = x.dim(x.rank() - 1), size = n * n;
  std::vector<T> in = x.to<T>(), values(static_cast<size_t>(ctx.output(0).size())), vectors(in.size());
  int64_t count = size > 0 ? x.size() / size : 0;
  for (int64_t m = 0; m < count; ++m)
    SymmetricMatrix<T>(in.data() + m * size, n)
        .store(values.data() + m * n, a.compute_v ? vectors.data() + m * size : nullptr);
  ctx.output(0).assign(values);
  if (a.compute_v) ctx.output(1).assign(vectors);
}
void self_adjoint_run(Run& ctx, const SelfAdjointEig& a) {
  if (ctx.input(0).type() == DType::f64) self_adjoint<double>(ctx, a);
  else self_adjoint<float>(ctx, a);
}

}  // namespace

Definitions define_self_adjoint_eig() {
  return op<SelfAdjointEig>("SelfAdjointEig", "graft")
      .doc(
          "Eigenvalues of symmetric matrices in ascending order, and eigenvectors in columns; the lower triangles are "
          "read")
      .inputs("data")
      .outputs("eigenvalues, eigenvectors")
      .infer(self_adjoint_infer)
      .reference(self_adjoint_run)
      .import(tensorflow("SelfAdjointEigV2"));
}

}  // namespace graft
