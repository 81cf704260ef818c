// Activation functions that a fused operation applies to its result.
//
//   struct Fused : Activation {
//     static constexpr std::tuple schema{activation_attr, activation_a_attr, activation_b_attr};
//   };
//   y = activate(a, x);
#pragma once

#include <cmath>

#include "../attr.hpp"

namespace [[gnu::visibility("hidden")]] graft {

enum class ActivationKind { none, relu, clamp, leaky_relu, sigmoid, tanh, swish, hswish, hsigmoid, gelu, gelu_tanh };

// `a` and `b` are the bounds of clamp; `a` is the slope of leaky_relu and the factor of swish.
struct Activation {
  ActivationKind activation = ActivationKind::none;
  double a = 0, b = 0;
};

inline constexpr auto activation_attr = attr("activation", &Activation::activation, "function that is applied last")
                                            .one_of("none", "relu", "clamp", "leaky_relu", "sigmoid", "tanh", "swish",
                                                    "hswish", "hsigmoid", "gelu", "gelu_tanh");
inline constexpr auto activation_a_attr =
    attr("activation_a", &Activation::a, "lower bound of clamp, slope of leaky_relu, factor of swish");
inline constexpr auto activation_b_attr = attr("activation_b", &Activation::b, "upper bound of clamp");

inline double activate(const Activation& f, double x) {
  auto hsigmoid = [](double v) { return std::min(std::max(v + 3, 0.0), 6.0) / 6; };
  switch (f.activation) {
    case ActivationKind::none: return x;
    case ActivationKind::relu: return x < 0 ? 0 : x;
    case ActivationKind::clamp: return std::min(std::max(x, f.a), f.b);
    case ActivationKind::leaky_relu: return x < 0 ? f.a * x : x;
    case ActivationKind::sigmoid: return 1 / (1 + std::exp(-x));
    case ActivationKind::tanh: return std::tanh(x);
    case ActivationKind::swish: return x / (1 + std::exp(-f.a * x));
    case ActivationKind::hswish: return x * hsigmoid(x);
    case ActivationKind::hsigmoid: return hsigmoid(x);
    case ActivationKind::gelu: return 0.5 * x * (1 + std::erf(x * 0.70710678118654752440));
    case ActivationKind::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * x * (1 + 0.044715 * x * x)));
  }
  return x;
}

}  // namespace graft
