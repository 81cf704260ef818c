// Discrete Fourier transforms along one axis, shared by several operations.
#pragma once

#include <complex>
#include <graft/op.hpp>

namespace graft {

using Complex = std::complex<double>;

// y[k] = sum of x[j * stride] * e^(sign * 2 pi i j k / n), by recursion over the smallest prime factor of n
// (mixed-radix Cooley-Tukey).
inline void fourier(const Complex* x, size_t stride, size_t n, double sign, Complex* y) {
  if (n == 0) return;
  if (n == 1) {
    y[0] = x[0];
    return;
  }
  size_t p = 2;
  while (p * p <= n && n % p != 0) ++p;
  if (n % p != 0) p = n;
  size_t m = n / p;
  std::vector<Complex> parts(n);
  for (size_t q = 0; q < p; ++q) fourier(x + q * stride, stride * p, m, sign, parts.data() + q * m);
  constexpr double pi = 3.14159265358979323846;
  for (size_t k = 0; k < n; ++k) {
    Complex sum = 0;
    for (size_t q = 0; q < p; ++q)
      sum += parts[q * m + k % m] *
             std::polar(1.0, sign * 2 * pi * static_cast<double>(q * k % n) / static_cast<double>(n));
    y[k] = sum;
  }
}

struct ComplexTensor {
  std::vector<int64_t> dims;
  std::vector<Complex> values;

  // Replaces every line along `axis` by f(line), which returns `length` elements.
  template <class F>
  void replace_lines(size_t axis, int64_t length, F f) {
    int64_t old = dims[axis], outer = count_of(std::span(dims).first(axis)),
            inner = count_of(std::span(dims).subspan(axis + 1));
    std::vector<Complex> out(static_cast<size_t>(outer * length * inner)), line(static_cast<size_t>(old));
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i) {
        for (int64_t k = 0; k < old; ++k)
          line[static_cast<size_t>(k)] = values[static_cast<size_t>((o * old + k) * inner + i)];
        std::vector<Complex> made = f(line);
        for (int64_t k = 0; k < length; ++k)
          out[static_cast<size_t>((o * length + k) * inner + i)] = made[static_cast<size_t>(k)];
      }
    dims[axis] = length;
    values = std::move(out);
  }

  // Lines are truncated or zero-padded to `size` first. The inverse divides by it.
  void transform(size_t axis, int64_t size, bool inverse) {
    auto n = static_cast<size_t>(size);
    replace_lines(axis, size, [&](std::vector<Complex> line) {
      line.resize(n);
      std::vector<Complex> y(n);
      fourier(line.data(), 1, n, inverse ? 1 : -1, y.data());
      if (inverse)
        for (Complex& v : y) v /= static_cast<double>(n);
      return y;
    });
  }
  void cut(size_t axis, int64_t length) {
    replace_lines(axis, length, [&](std::vector<Complex> line) {
      line.resize(static_cast<size_t>(length));
      return line;
    });
  }
  // Restores the full spectrum from its first half: the second half is the complex conjugate in reverse order.
  void mirror(size_t axis, int64_t size) {
    auto n = static_cast<size_t>(size);
    replace_lines(axis, size, [&](std::vector<Complex> line) {
      line.resize(n / 2 + 1);
      std::vector<Complex> whole(n);
      for (size_t k = 0; k < n; ++k) whole[k] = k <= n / 2 ? line[k] : std::conj(line[n - k]);
      return whole;
    });
  }
};

}  // namespace graft
