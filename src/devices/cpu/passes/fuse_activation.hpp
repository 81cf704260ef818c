// Activations that passes fuse into the operation before: those that `finish` (finish-inl.hpp) computes.
#pragma once

#include <graft/formula.hpp>
#include <optional>
#include <string>

namespace graft {

// The attributes `activation`, `activation_a` and `activation_b` of the fused operation.
struct FusedActivation {
  std::string_view kind;
  double a = 0, b = 0;
};
inline std::optional<FusedActivation> clamp_of(const NodeRef& f) {
  return FusedActivation{"clamp", f.get<double>("min"), f.get<double>("max")};
}
inline std::optional<FusedActivation> gelu_of(const NodeRef& f) {
  return FusedActivation{f.get<std::string>("approximation_mode", "ERF") == "TANH" ? "gelu_tanh" : "gelu"};
}
inline std::optional<FusedActivation> swish_of(const NodeRef& f) {
  auto factor = f.inputs() > 1 && f.input(1) ? number(f.input(1)) : std::optional(1.0);
  return factor ? std::optional(FusedActivation{"swish", *factor}) : std::nullopt;
}
inline std::optional<FusedActivation> leaky_relu_of(const NodeRef& f) {
  auto slope = number(f.input(1));
  return slope ? std::optional(FusedActivation{"leaky_relu", *slope}) : std::nullopt;
}

// A type that has no parameters is always the same activation; others may have some that are not known.
struct ActivationRow {
  std::string_view type, kind;
  std::optional<FusedActivation> (*with_parameters)(const NodeRef&) = nullptr;
};
inline constexpr ActivationRow fusable_activations[] = {
    {"Clamp", {}, clamp_of}, {"Gelu", {}, gelu_of},        {"HSigmoid", "hsigmoid"},
    {"HSwish", "hswish"},    {"PRelu", {}, leaky_relu_of}, {"Relu", "relu"},
    {"Sigmoid", "sigmoid"},  {"Swish", {}, swish_of},      {"Tanh", "tanh"},
};

// The attributes that fuse a node into an operation; none: it cannot be fused.
inline std::optional<std::vector<NamedAttr>> fused_activation(const NodeRef& f) {
  for (const ActivationRow& row : fusable_activations)
    if (f.is(row.type))
      if (auto how = row.with_parameters ? row.with_parameters(f) : FusedActivation{row.kind})
        return std::vector<NamedAttr>{
            {"activation", std::string(how->kind)}, {"activation_a", how->a}, {"activation_b", how->b}};
  return std::nullopt;
}

}  // namespace graft
