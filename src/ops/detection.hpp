// What the operations of object detection share: boxes, and checks of what they are given.
#pragma once

#include <cmath>
#include <graft/op.hpp>

namespace graft {

// An axis-parallel box, by its corners.
struct Corners {
  float x1, y1, x2, y2;
};
// Overlap over union. `one` is 1 where the corners name pixels, so that a box from 3 to 3 is one pixel wide.
inline float box_overlap(const Corners& a, const Corners& b, float one = 0) {
  float area_a = (a.y2 - a.y1 + one) * (a.x2 - a.x1 + one), area_b = (b.y2 - b.y1 + one) * (b.x2 - b.x1 + one);
  if (area_a <= 0 || area_b <= 0) return 0;
  float height = std::max(std::min(a.y2, b.y2) - std::max(a.y1, b.y1) + one, 0.0f);
  float width = std::max(std::min(a.x2, b.x2) - std::max(a.x1, b.x1) + one, 0.0f);
  return height * width / (area_a + area_b - height * width);
}

// ---- checks ----

inline bool can_agree(const Dim& a, const Dim& b) { return std::max(a.min(), b.min()) <= std::min(a.max(), b.max()); }
inline void want_index_type(DType t) {
  if (t != DType::i64 && t != DType::i32) fail("output_type is ", t, ", it must be i64 or i32");
}
}  // namespace graft
