// Element-wise operations from formulas of all kinds: with and without conditions, of one to three inputs.
#include <graft/extension.hpp>

namespace {

struct Leaky {
  float slope = 0.25f;
  static constexpr std::tuple schema{graft::attr("slope", &Leaky::slope, "factor below 0")};
};

struct Range {
  float low = -0.5f;
  bool flip = false;
  static constexpr std::tuple schema{graft::attr("low", &Range::low, "the least result"),
                                     graft::attr("flip", &Range::flip, "change the sign")};
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
      op("Absolute", "formulas").doc("std::abs").elementwise([](auto x) { return std::abs(x); }),
      op("PlainAbsolute", "formulas").doc("abs without std::").elementwise([](auto x) { return abs(x); }),
      op("AtLeast", "formulas").doc("std::max with a number").elementwise([](auto x) { return std::max(x, 0.5f); }),
      op("AtMost", "formulas").doc("std::min with a number in front").elementwise([](auto x) {
        return std::min(2, x);
      }),
      op<Range>("Between", "formulas").doc("std::clamp of three types").elementwise([](auto x, const Range& a) {
        return std::clamp(x, a.low, 2.25);
      }),
      op<Range>("Flipped", "formulas").doc("select by an attribute").elementwise([](auto x, const Range& a) {
        return graft::select(a.flip, 0 - x, x) + graft::select(x > 1 && x <= 3, 1, 0);
      }),
      op("Steps", "formulas").doc("comparisons, and numbers on both sides").elementwise([](auto x) {
        return x != 0 ? graft::select(x >= 2, 3.0f, x < 1 ? 1 : 2) : 0.5f;
      }),
      // The number of inputs is that of the parameters.
      op("WithNumbers", "formulas").doc("vectors and numbers as operands").elementwise([](auto a, auto b) {
        return std::max(a, 1) - std::min(b, 0.5) + std::fmax(2, a) + std::fmin(b, 3) + std::fma(a, 2, b) +
               std::copysign(1.5f, b);
      }),
      op<Range>("Above", "formulas").doc("two inputs and attributes").elementwise([](auto a, auto b, const Range& r) {
        return std::max(a - b, r.low);
      }),
      op("Outside", "formulas").doc("a comparison").comparison([](auto x) { return x < -1.0f || x > 1.0f; }),
  };
}
