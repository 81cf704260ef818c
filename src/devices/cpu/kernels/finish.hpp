// The end of a computation: an activation.
#pragma once

#include <graft/activation.hpp>

namespace graft {

// The function that is applied to each result.
struct Finish {
  ActivationKind kind = ActivationKind::none;
  float a = 0, b = 0;
};
inline Finish finish_of(const Activation& a) {
  return {a.activation, static_cast<float>(a.a), static_cast<float>(a.b)};
}

}  // namespace graft
