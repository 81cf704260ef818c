// Inputs that broadcast to another one, but never the other way round: slopes, scales, ranges.
#pragma once

#include <graft/shapes.hpp>

namespace graft {

inline void check_one_way(const Shape& whole, const Shape& part, std::string_view what) {
  if (!whole.ranked() || !part.ranked()) return;
  bool fits = part.rank() <= whole.rank();
  for (size_t i = 0; fits && i < part.rank(); ++i) {
    const Dim &p = part[i], &w = whole[whole.rank() - part.rank() + i];
    fits = p.can_be(1) || std::max(p.min(), w.min()) <= std::min(p.max(), w.max());
  }
  if (!fits) fail("expected ", what, " that broadcasts to the data of shape ", whole, ", got shape ", part);
}

// An input that must hold exactly one number.
inline void check_single(const NodeView& ctx, size_t input, std::string_view what) {
  if (!ctx.has_input(input)) return;
  Shape s = ctx.shape(input);
  if (!s.elements().can_be(1)) fail("expected ", what, " with a single element, got shape ", s);
}

}  // namespace graft
