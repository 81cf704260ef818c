// Element-wise unary operations that a formula describes completely.
#include <graft/numeric.hpp>
#include <graft/op.hpp>

#include "gamma_functions.hpp"
#include "intervals.hpp"

namespace graft {
namespace {

// Formulas shared by several rows or versions.
struct RoundAttributes {
  enum Mode { half_to_even, half_away_from_zero } mode = half_to_even;
  static constexpr std::tuple schema{
      attr("mode", &RoundAttributes::mode, "rounding of values halfway between two integers")
          .one_of("half_to_even", "half_away_from_zero")};
};

struct EluAttributes {
  float alpha = 1.0f;
  static constexpr std::tuple schema{attr("alpha", &EluAttributes::alpha, "scale of the negative branch").at_least(0)};
};

struct ClampAttributes {
  double min = 0, max = 0;
  static constexpr std::tuple schema{attr("min", &ClampAttributes::min, "lower bound").required(),
                                     attr("max", &ClampAttributes::max, "upper bound").required()};
};

struct GeluAttributes {
  enum Mode { erf, tanh } approximation_mode = erf;
  static constexpr std::tuple schema{
      attr("approximation_mode", &GeluAttributes::approximation_mode, "formula: exact (erf) or tanh approximation")
          .one_of("ERF", "TANH")};
};

// Without differences of nearly equal numbers: 1 + erf(u) is erfc(-u), 1 + tanh(u) is 2 / (1 + e^-2u), and
// tanh(ln(1 + e)) is (e^2 + 2e) / (e^2 + 2e + 2).
constexpr double sqrt_half = 0.70710678118654752440, sqrt_2_over_pi = 0.79788456080286535588;
constexpr auto erf_gelu = [](auto x) { return 0.5 * x * std::erfc(x * -sqrt_half); };
constexpr auto tanh_gelu = [](auto x) { return x / (1 + std::exp(-2 * sqrt_2_over_pi * x * (1 + 0.044715 * x * x))); };
constexpr auto mish = [](auto x) {
  auto e = std::exp(std::min(x, 20.0)), p = e * (e + 2);
  return x * (p / (p + 2));
};
// From e^-|x|, which neither overflows nor loses small results.
constexpr auto sigmoid = [](auto x) {
  auto e = std::exp(-std::fabs(x));
  return select(x < 0, e, 1.0) / (1 + e);
};
constexpr auto softplus = [](auto x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); };

// lgamma() writes a global variable; lgamma_r() does not.
double log_gamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}
// The modified Bessel function of the first kind, of order 0 or 1, times e^-|x|.
double scaled_bessel_i(int order, double x) {
  double size = std::fabs(x), sign = order == 1 && x < 0 ? -1 : 1;
  if (size > 600) {
    constexpr double two_pi = 6.28318530717958647693;
    double m = 4.0 * order * order, term = 1, sum = 1;
    for (int k = 1; k < 12; ++k) {
      term *= -(m - (2 * k - 1) * (2 * k - 1)) / (k * 8 * size);
      sum += term;
    }
    return sign * sum / std::sqrt(two_pi * size);
  }
  double term = order == 1 ? size / 2 : 1, sum = term, q = size * size / 4;
  for (int k = 1; term > sum * 1e-18 && k < 4000; ++k) {
    term *= q / (static_cast<double>(k) * (k + order));
    sum += term;
  }
  return sign * sum * std::exp(-size);
}
double bessel_i(int order, double x) { return scaled_bessel_i(order, x) * std::exp(std::fabs(x)); }

// Integers are returned unchanged: a double cannot represent all of them.
template <class T>
T rounded_up(const T& x) {
  if constexpr (std::is_floating_point_v<T>) return std::ceil(x);
  else return x;
}
template <class T>
T rounded_down(const T& x) {
  if constexpr (std::is_floating_point_v<T>) return std::floor(x);
  else return x;
}
template <class T>
T rounded_to_nearest(const T& x, RoundAttributes::Mode mode) {
  if constexpr (!std::is_floating_point_v<T>) return x;
  else if (mode == RoundAttributes::half_to_even) return std::nearbyint(x);
  else return std::round(x);
}
// Converts a bound to the integer type, saturating it.
template <class T>
T unary_bound(double v) {
  using Limits = std::numeric_limits<T>;
  if (!(v > static_cast<double>(Limits::min()))) return Limits::min();
  return v < static_cast<double>(Limits::max()) ? static_cast<T>(v) : Limits::max();
}

Value import_clip_attributes(Builder& layer) {
  double low = layer.get<float>("min", std::numeric_limits<float>::lowest()),
         high = layer.get<float>("max", std::numeric_limits<float>::max());
  return layer.op("Clamp", {layer.input(0)}, {{"min", low}, {"max", high}});
}

// Applies f to the known values.
template <class A, class F>
void follow_each(Infer& ctx, const A& a, F f) {
  detail::broadcast_infer<A>(ctx, a);
  auto known = ctx.known(0);
  if (!known || ctx.type(0) == DType::boolean) return;
  for (Dim& d : *known) d = f(d);
  ctx.known_output(0, *known);
}
template <Dim (*f)(const Dim&)>
void followed_infer(Infer& ctx, const NoAttributes& a) {
  follow_each(ctx, a, f);
}
Dim followed_relu(const Dim& d) { return intervals::maximum(d, exact_number(0)); }
void clamp_infer(Infer& ctx, const ClampAttributes& a) {
  int64_t low = unary_bound<int64_t>(std::ceil(a.min)), high = unary_bound<int64_t>(std::floor(a.max));
  follow_each(ctx, a, [&](const Dim& d) {
    return intervals::minimum(intervals::maximum(d, exact_number(low)), exact_number(high));
  });
}

}  // namespace

Definitions define_unary() {
  auto row = [](std::string_view name, int version, std::string_view doc, auto formula) {
    return op(name, version).doc(doc).elementwise(formula);
  };
  auto own = [](std::string_view name, std::string_view doc, auto formula) {
    return op(name, "graft").doc(doc).elementwise(scalar(formula));
  };
  return {
      own("BesselI0", "Modified Bessel function of the first kind, order 0",
          [](auto x) { return bessel_i(0, static_cast<double>(x)); })
          .import(tensorflow("BesselI0")),
      own("BesselI0e", "Modified Bessel function of the first kind, order 0, times e^-|x|",
          [](auto x) { return scaled_bessel_i(0, static_cast<double>(x)); })
          .import(tensorflow("BesselI0e")),
      own("BesselI1", "Modified Bessel function of the first kind, order 1",
          [](auto x) { return bessel_i(1, static_cast<double>(x)); })
          .import(tensorflow("BesselI1")),
      own("BesselI1e", "Modified Bessel function of the first kind, order 1, times e^-|x|",
          [](auto x) { return scaled_bessel_i(1, static_cast<double>(x)); })
          .import(tensorflow("BesselI1e")),
      own("Digamma", "Digamma function: the derivative of log(|gamma(x)|)",
          [](auto x) { return digamma(static_cast<double>(x)); })
          .import(tensorflow("Digamma")),
      own("LogGamma", "Logarithm of the absolute value of the gamma function",
          [](auto x) { return log_gamma(static_cast<double>(x)); })
          .import(tensorflow("Lgamma")),
      row("Abs", 1, "|x|",
          [](auto x) {
            if constexpr (std::is_integral_v<decltype(x)>) return x < 0 ? wrap_neg(x) : x;
            else return std::fabs(x);
          })
          .infer(followed_infer<intervals::absolute>)
          .import(onnx("Abs")),
      row("Acos", 1, "Arc cosine", [](auto x) { return std::acos(x); }).import(onnx("Acos")),
      row("Acosh", 4, "Inverse hyperbolic cosine", [](auto x) { return std::acosh(x); }).import(onnx("Acosh")),
      row("Asin", 1, "Arc sine", [](auto x) { return std::asin(x); }).import(onnx("Asin")),
      row("Asinh", 4, "Inverse hyperbolic sine", [](auto x) { return std::asinh(x); }).import(onnx("Asinh")),
      row("Atan", 1, "Arc tangent", [](auto x) { return std::atan(x); }).import(onnx("Atan")),
      row("Atanh", 4, "Inverse hyperbolic tangent", [](auto x) { return std::atanh(x); }).import(onnx("Atanh")),
      row("Ceiling", 1, "Smallest integer not less than x", [](auto x) { return rounded_up(x); })
          .traits(Trait::rounds)
          .import(onnx("Ceil")),
      row("Cos", 1, "Cosine", [](auto x) { return std::cos(x); }).import(onnx("Cos")),
      row("Cosh", 1, "Hyperbolic cosine", [](auto x) { return std::cosh(x); }).import(onnx("Cosh")),
      row("Erf", 1, "Error function", [](auto x) { return std::erf(x); }).import(onnx("Erf")),
      row("Exp", 1, "Exponential function e^x", [](auto x) { return std::exp(x); }).import(onnx("Exp")),
      row("Floor", 1, "Largest integer not greater than x", [](auto x) { return rounded_down(x); })
          .traits(Trait::rounds)
          .import(onnx("Floor")),
      row("HSigmoid", 5, "min(max(x + 3, 0), 6) / 6",
          [](auto x) { return std::min(std::max(x + 3.0, 0.0), 6.0) / 6.0; }),
      row("HSwish", 4, "x * min(max(x + 3, 0), 6) / 6",
          [](auto x) { return x * (std::min(std::max(x + 3.0, 0.0), 6.0) / 6.0); })
          .import(onnx("HardSwish")),
      row("Log", 1, "Natural logarithm", [](auto x) { return std::log(x); }).import(onnx("Log")),
      row("Mish", 4, "x * tanh(ln(1 + e^x))", mish).import(onnx("Mish")),
      row("Negative", 1, "-x",
          [](auto x) {
            if constexpr (std::is_integral_v<decltype(x)>) return wrap_neg(x);
            else return -x;
          })
          .infer(followed_infer<intervals::negate>)
          .import(onnx("Neg")),
      row("Relu", 1, "max(x, 0)", [](auto x) { return select(x < 0, decltype(x)(0), x); })
          .infer(followed_infer<followed_relu>)
          .ir_name("ReLU")
          .import(onnx("Relu")),
      row("Sigmoid", 1, "1 / (1 + e^-x)", sigmoid).import(onnx("Sigmoid")),
      row("Sign", 1, "Sign of x: -1, 0 or 1",
          [](auto x) { return select(x > 0, decltype(x)(1), select(x < 0, decltype(x)(-1), x)); })
          .import(onnx("Sign")),
      row("Sin", 1, "Sine", [](auto x) { return std::sin(x); }).import(onnx("Sin")),
      row("Sinh", 1, "Hyperbolic sine", [](auto x) { return std::sinh(x); }).import(onnx("Sinh")),
      row("SoftPlus", 4, "ln(1 + e^x)", softplus).import(onnx("Softplus")),
      row("SoftSign", 9, "x / (1 + |x|)", [](auto x) { return x / (1.0 + std::fabs(x)); }).import(onnx("Softsign")),
      row("Sqrt", 1, "Square root", [](auto x) { return std::sqrt(x); }).import(onnx("Sqrt")),
      row("Tan", 1, "Tangent", [](auto x) { return std::tan(x); }).import(onnx("Tan")),
      row("Tanh", 1, "Hyperbolic tangent", [](auto x) { return std::tanh(x); }).import(onnx("Tanh")),
      row("Gelu", 2, "0.5 * x * (1 + erf(x / sqrt(2)))", erf_gelu),
      op<GeluAttributes>("Gelu", 7)
          .doc("0.5 * x * (1 + erf(x / sqrt(2))), or its tanh approximation")
          .elementwise([](auto x, const GeluAttributes& a) {
            return a.approximation_mode == GeluAttributes::tanh ? tanh_gelu(x) : erf_gelu(x);
          })
          .import(onnx("Gelu").expand(+[](Builder& layer) {
            bool tanh = layer.get<std::string>("approximate", "none") == "tanh";
            return layer.op("Gelu@7", {layer.input(0)}, {{"approximation_mode", tanh ? "TANH" : "ERF"}});
          }))
          .earlier(2, {{"approximation_mode", "ERF"}}),
      op<EluAttributes>("Elu", 1)
          .doc("x where x > 0, alpha * (e^x - 1) elsewhere")
          .elementwise([](auto x, const EluAttributes& a) { return select(x > 0, x, a.alpha * std::expm1(x)); })
          .import(onnx("Elu"))
          .import(caffe("ELU").attr("alpha", "elu_param.alpha"))
          .import(tensorflow("Elu"))
          .import(mxnet("LeakyReLU").when("act_type", "elu").attr("alpha", "slope", 0.25)),
      op<RoundAttributes>("Round", 5)
          .doc("Nearest integer")
          .traits(Trait::rounds)
          .elementwise([](auto x, const RoundAttributes& a) { return rounded_to_nearest(x, a.mode); })
          .import(onnx("Round")),
      op<ClampAttributes>("Clamp", 1)
          .doc("min(max(x, min), max)")
          .elementwise([](auto x, const ClampAttributes& a) {
            using T = decltype(x);
            if constexpr (std::is_floating_point_v<T>) {
              return std::min(std::max(x, a.min), a.max);
            } else {
              // Integers are computed exactly, and bounds may be outside the range of the type.
              T low = unary_bound<T>(std::ceil(a.min)), high = unary_bound<T>(std::floor(a.max));
              return std::min(std::max(x, low), high);
            }
          })
          .infer(clamp_infer)
          .import(onnx("Clip").until(11).expand(import_clip_attributes)),
  };
}

}  // namespace graft
