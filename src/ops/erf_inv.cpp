#include <graft/op.hpp>

namespace graft {
namespace {

// Winitzki's approximation refined by Newton's method; near 1 on erfc, which keeps its precision there.
double inverse_erf(double x) {
  constexpr double two_over_sqrt_pi = 1.12837916709551257390, a = 0.147, b = 4.33074675;
  double size = std::fabs(x), rest = 1 - size;
  if (!(rest > 0)) return rest == 0 ? std::copysign(INFINITY, x) : std::nan("");
  double l = std::log(rest * (1 + size)), t = b + l / 2, y = std::sqrt(std::sqrt(t * t - l / a) - t);
  if (!(y >= 0)) y = 0;
  for (int round = 0; round < 4; ++round) {
    double over = size < 0.5 ? std::erf(y) - size : rest - std::erfc(y);
    y -= over / (two_over_sqrt_pi * std::exp(-y * y));
  }
  return std::copysign(y, x);
}

}  // namespace

Definitions define_erf_inv() {
  return op("ErfInv", 17)
      .doc("Inverse error function")
      .elementwise(scalar([](auto x) { return inverse_erf(static_cast<double>(x)); }))
      .import(tensorflow("Erfinv"));
}

}  // namespace graft
