// What DequantizeLinear becomes, for passes that look for it or leave it alone: (Convert(q) - zero) * scale.
#pragma once

#include "../formula.hpp"

namespace [[gnu::visibility("hidden")]] graft {

inline bool is_byte(DType type) { return type == DType::u8 || type == DType::i8; }

// The parts of a multiplication that dequantizes bytes to f32; `q` is empty if it is another one.
struct Levels {
  Value q, scale, zero;  // `zero` may be empty
};
inline Levels levels_of(const NodeRef& multiply) {
  for (size_t i : {size_t{1}, size_t{0}}) {
    Value scale = multiply.input(i), rest = multiply.input(1 - i), zero;
    if (NodeRef subtract = made_by(rest, "Subtract")) rest = subtract.input(0), zero = subtract.input(1);
    NodeRef convert = made_by(rest, "Convert");
    if (convert && rest.type() == DType::f32 && is_byte(convert.input(0).type()))
      return {convert.input(0), scale, zero};
  }
  return {};
}
// Whether it is one with the same scale and zero point for all bytes, as those of activations are.
inline bool dequantizes(const NodeRef& n) {
  Levels l = n.is("Multiply") ? levels_of(n) : Levels();
  if (!l.q) return false;
  auto scale = single(l.scale), zero = l.zero ? single(l.zero) : std::optional(0.0);
  return scale && *scale > 0 && zero && *zero == std::nearbyint(*zero);
}

}  // namespace graft
