// The end of a computation: an activation.
#pragma once

#include <graft/kit/activation.hpp>
#include <limits>

namespace graft {

// The function that is applied to each result.
struct Finish {
  ActivationKind kind = ActivationKind::none;
  float a = 0, b = 0;
};
inline Finish finish_of(const Activation& a) {
  return {a.activation, static_cast<float>(a.a), static_cast<float>(a.b)};
}

// Activations that are nothing but bounds of the result; `finish` does the others, after these bounds.
struct Bounds {
  bool enough = false;
  float low = -std::numeric_limits<float>::infinity(), high = -low;
};
inline Bounds bounds_of(const Activation& a) {
  Bounds b;
  b.enough = a.activation == ActivationKind::none || a.activation == ActivationKind::relu ||
             a.activation == ActivationKind::clamp;
  if (a.activation == ActivationKind::relu) b.low = 0;
  if (a.activation == ActivationKind::clamp) b.low = static_cast<float>(a.a), b.high = static_cast<float>(a.b);
  return b;
}

}  // namespace graft
