// The gamma function's relatives, in double: incomplete gamma and beta functions, zeta and polygamma.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace graft {

// Shifts the argument up to where the asymptotic series is accurate; negative numbers use the reflection formula.
inline double digamma(double x) {
  constexpr double pi = 3.14159265358979323846;
  if (x <= 0) return std::floor(x) == x ? std::nan("") : digamma(1 - x) - pi / std::tan(pi * x);
  double shift = 0;
  for (; x < 10; x += 1) shift += 1 / x;
  double q = 1 / (x * x);
  double series = q * (1.0 / 12 - q * (1.0 / 120 - q * (1.0 / 252 - q * (1.0 / 240 - q * (1.0 / 132)))));
  return std::log(x) - 0.5 / x - series - shift;
}

// Q(a, x) for large a: Temme's expansion around x = a, whose error is about 1 / a.
inline double large_incomplete_gamma(double a, double x) {
  constexpr double two_pi = 6.28318530717958647693;
  double over = (x - a) / a, half = over - std::log1p(over);  // half the square of eta
  double eta = std::copysign(std::sqrt(2 * std::max(half, 0.0)), over);
  double correction = std::fabs(over) < 1e-4 ? eta / 12 - 1.0 / 3 : 1 / over - 1 / eta;
  return 0.5 * std::erfc(eta * std::sqrt(a / 2)) + std::exp(-a * half) / std::sqrt(two_pi * a) * correction;
}
// P(a, x) and Q(a, x) = 1 - P: the regularized incomplete gamma functions. A series below a + 1, a continued fraction
// above.
inline double incomplete_gamma(double a, double x, bool upper) {
  if (!(a >= 0) || !(x >= 0) || (a == 0 && x == 0)) return std::nan("");
  if (x == 0 || std::isinf(a)) return std::isinf(a) && std::isinf(x) ? std::nan("") : upper ? 1 : 0;
  if (a == 0 || std::isinf(x)) return upper ? 0 : 1;
  constexpr double tiny = 1e-300, close = 1e-17;
  constexpr int most = 40000;  // below 10^7 the sums need about 3 * 10^4 terms at most
  if (a > 1e7) return upper ? large_incomplete_gamma(a, x) : 1 - large_incomplete_gamma(a, x);
  int sign = 0;
  double scale = std::exp(a * std::log(x) - x - lgamma_r(a, &sign));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (int n = 1; n < most && term > sum * close; ++n) sum += term *= x / (a + n);
    return upper ? 1 - sum * scale : sum * scale;
  }
  double b = x + 1 - a, c = 1 / tiny, d = 1 / b, f = d;
  for (int n = 1; n < most; ++n) {
    double an = -n * (n - a);
    b += 2;
    d = an * d + b, c = b + an / c;
    if (std::fabs(d) < tiny) d = tiny;
    if (std::fabs(c) < tiny) c = tiny;
    d = 1 / d;
    f *= d * c;
    if (std::fabs(d * c - 1) < close) break;
  }
  return upper ? scale * f : 1 - scale * f;
}

// The continued fraction of the incomplete beta function, which converges for x < (a + 1) / (a + b + 2).
inline double beta_fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  auto nonzero = [&](double v) { return std::fabs(v) < tiny ? tiny : v; };
  double c = 1, d = 1 / nonzero(1 - (a + b) * x / (a + 1)), f = d;
  for (int m = 1; m < 20000; ++m) {
    double step = 1;
    for (double t : {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                     -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))}) {
      d = 1 / nonzero(1 + t * d), c = nonzero(1 + t / c);
      step *= d * c;
    }
    f *= step;
    if (std::fabs(step - 1) < 1e-16) break;
  }
  return f;
}
// The regularized incomplete beta function.
inline double incomplete_beta(double a, double b, double x) {
  if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1)) return std::nan("");
  if (x == 0 || x == 1) return x;
  int sign = 0;
  double scale =
      std::exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) + a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? scale * beta_fraction(a, b, x) / a : 1 - scale * beta_fraction(b, a, 1 - x) / b;
}

// The zeta function of Hurwitz for q > 0: twelve terms, the rest by the formula of Euler and Maclaurin.
inline double positive_zeta(double x, double q) {
  // Bernoulli's numbers over the factorials of their indices, from the second on.
  constexpr double terms[] = {1.0 / 12,
                              -1.0 / 720,
                              1.0 / 30240,
                              -1.0 / 1209600,
                              1.0 / 47900160,
                              -691.0 / 1307674368000.0,
                              1.0 / 74724249600.0,
                              -3617.0 / 10670622842880000.0};
  double sum = 0;
  for (int k = 0; k < 12; ++k) sum += std::pow(q + k, -x);
  double w = q + 12, power = std::pow(w, -x), factor = x;
  sum += power * w / (x - 1) + power / 2;
  double scaled = power / w;
  for (int j = 0; j < 8; ++j) {
    sum += terms[j] * factor * scaled;
    factor *= (x + 2 * j + 1) * (x + 2 * j + 2);
    scaled /= w * w;
  }
  return sum;
}
inline double hurwitz_zeta(double x, double q) {
  if (x == 1) return INFINITY;
  if (!(x > 1) || std::isnan(q)) return std::nan("");
  if (q > 0) return std::isinf(q) ? 0 : positive_zeta(x, q);
  if (std::floor(q) == q) return INFINITY;
  if (std::floor(x) != x) return std::nan("");
  // The terms below zero are those of two series with positive arguments.
  double f = -q - std::floor(-q), sign = std::fmod(x, 2) == 0 ? 1 : -1;
  return sign * (positive_zeta(x, f) - positive_zeta(x, 1 - q)) + positive_zeta(x, 1 - f);
}

inline double polygamma(double n, double x) {
  if (!(n >= 0) || std::floor(n) != n) return std::nan("");
  if (n == 0) return digamma(x);
  double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  return sign * std::tgamma(n + 1) * hurwitz_zeta(n + 1, x);
}

}  // namespace graft
