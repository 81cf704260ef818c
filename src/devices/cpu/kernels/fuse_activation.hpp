// Activations that passes fuse into the operation before.
#pragma once

#include <graft/formula.hpp>
#include <optional>
#include <string>

namespace graft {

// As the attributes of a fused operation; none: its parameters are not known.
inline std::optional<std::vector<NamedAttr>> fused_activation(const NodeRef& f) {
  std::string kind;
  double a = 0, b = 0;
  if (f.is("Relu")) kind = "relu";
  if (f.is("Sigmoid")) kind = "sigmoid";
  if (f.is("Tanh")) kind = "tanh";
  if (f.is("HSwish")) kind = "hswish";
  if (f.is("HSigmoid")) kind = "hsigmoid";
  if (f.is("Gelu")) kind = f.get<std::string>("approximation_mode", "ERF") == "TANH" ? "gelu_tanh" : "gelu";
  if (f.is("Clamp")) kind = "clamp", a = f.get<double>("min"), b = f.get<double>("max");
  if (f.is("Swish")) {
    auto factor = f.inputs() > 1 && f.input(1) ? number(f.input(1)) : std::optional(1.0);
    if (!factor) return std::nullopt;
    kind = "swish", a = *factor;
  }
  if (f.is("PRelu")) {
    auto slope = number(f.input(1));
    if (!slope) return std::nullopt;
    kind = "leaky_relu", a = *slope;
  }
  return std::vector<NamedAttr>{{"activation", kind}, {"activation_a", a}, {"activation_b", b}};
}

}  // namespace graft
