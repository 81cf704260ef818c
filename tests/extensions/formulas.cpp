// Element-wise operations from formulas of all kinds: with and without conditions, of one to three inputs.
#include <graft/extension.hpp>

namespace {

struct Leaky {
  float slope = 0.25f;
  static constexpr std::tuple schema{graft::attr("slope", &Leaky::slope, "factor below 0")};
};

double series(double x) { return x * (1 + x * (1 + x)); }

}  // namespace

GRAFT_EXTENSION("formulas", "1.0") {
  using graft::op;
  return graft::Definitions{
      op<Leaky>("Leaky", "formulas").doc("with a condition").elementwise([](auto x, const Leaky& a) {
        return x > 0 ? x : a.slope * x;
      }),
      op<Leaky>("LeakySelect", "formulas").doc("without").elementwise([](auto x, const Leaky& a) {
        return graft::select(x > 0, x, a.slope * x);
      }),
      op("Series", "formulas").doc("calls a function of doubles").elementwise([](auto x) { return series(x); }),
      // With floats, 1 + e^x is 1 for x below -17; the literal makes it a double.
      op("SoftPlusInDouble", "formulas").doc("must not be computed with floats").elementwise([](auto x) {
        return std::log(1.0 + std::exp(static_cast<double>(x)));
      }),
      op("HalfInDouble", "formulas").doc("floats with vectors, doubles without").elementwise([](auto x) {
        return std::log(1.0 + std::exp(x));
      }),
      op("Whole", "formulas").doc("takes floats only").elementwise(graft::scalar([](auto x) {
        return std::fmod(static_cast<double>(x), 2.0);
      })),
      op("Gate", "formulas").doc("a * sigmoid(b)").elementwise<2>([](auto a, auto b) {
        return a / (1 + std::exp(-b));
      }),
      op("Blend", "formulas").doc("a + c * (b - a)").elementwise<3>([](auto a, auto b, auto c) {
        return a + c * (b - a);
      }),
      op("Bent", "formulas").doc("conditions inside of conditions").elementwise([](auto x) {
        auto y = 1.0f * x;
        if (x < -1.0f || x > 2.0f) return 0.5f * y;
        for (int i = 0; i < 3; ++i) y = y * x + 1.5f;
        if (y > 4) y /= 3;
        return std::tanh(y);
      }),
      op("Larger", "formulas").doc("functions of two numbers").elementwise<2>([](auto a, auto b) {
        return std::max(a, b) + std::pow(std::fabs(a), 1.5f) * std::atan2(a, b);
      }),
      op("Positive", "formulas").doc("a number on one side of a condition").elementwise([](auto x) {
        return x > 0 ? x : 0.0f;
      }),
      op("Truncated", "formulas").doc("uses elements as numbers").elementwise([](auto x) {
        return 0.5f * static_cast<float>(static_cast<int>(x));
      }),
      op("Outside", "formulas").doc("a comparison").comparison<1>([](auto x) { return x < -1.0f || x > 1.0f; }),
  };
}
