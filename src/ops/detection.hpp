// Shared by object detection operations: boxes, IoU, and checks of their inputs.
#pragma once

#include <cmath>

#include "index_type.hpp"

namespace graft {

// An axis-aligned box, given by its corners.
struct Corners {
  float x1, y1, x2, y2;
};
// Intersection over union (IoU). `one` is 1 if corners are inclusive pixel coordinates, so that a box from 3 to 3 is
// one pixel wide.
inline float box_overlap(const Corners& a, const Corners& b, float one = 0) {
  float area_a = (a.y2 - a.y1 + one) * (a.x2 - a.x1 + one), area_b = (b.y2 - b.y1 + one) * (b.x2 - b.x1 + one);
  if (area_a <= 0 || area_b <= 0) return 0;
  float height = std::max(std::min(a.y2, b.y2) - std::max(a.y1, b.y1) + one, 0.0f);
  float width = std::max(std::min(a.x2, b.x2) - std::max(a.x1, b.x1) + one, 0.0f);
  return height * width / (area_a + area_b - height * width);
}

// Decodes box deltas: the center moves by dx and dy relative to the size, the size is scaled by exp(dw) and exp(dh),
// which are clamped to `most`.
inline Corners moved_box(const Corners& b, float dx, float dy, float dw, float dh, float most, float one) {
  float width = b.x2 - b.x1 + one, height = b.y2 - b.y1 + one;
  float x = dx * width + (b.x1 + 0.5f * width), y = dy * height + (b.y1 + 0.5f * height);
  width *= std::exp(std::min(dw, most)), height *= std::exp(std::min(dh, most));
  return {x - 0.5f * width, y - 0.5f * height, x + 0.5f * width - one, y + 0.5f * height - one};
}
inline Corners kept_inside(const Corners& b, float width, float height) {
  auto in = [](float v, float most) { return std::max(0.0f, std::min(v, most)); };
  return {in(b.x1, width), in(b.y1, height), in(b.x2, width), in(b.y2, height)};
}
// Like box_overlap, but 0 for boxes that do not intersect, even if `one` makes them adjacent.
inline float touching_overlap(const Corners& a, const Corners& b, float one) {
  bool touch = a.x1 <= b.x2 && b.x1 <= a.x2 && a.y1 <= b.y2 && b.y1 <= a.y2;
  return touch ? box_overlap(a, b, one) : 0;
}

struct ScoredBox {
  Corners box;
  float score;
};
// Moves the `most` highest-scoring boxes to the front. Equal scores stay in the order that OpenVINO's partial sort
// leaves them in, which shows in the results, so this must not be a stable sort. A NaN score counts as 0.
inline void keep_best(std::vector<ScoredBox>& boxes, int64_t most) {
  for (ScoredBox& b : boxes)
    if (std::isnan(b.score)) b.score = 0;
  auto n = static_cast<ptrdiff_t>(std::min(boxes.size(), static_cast<size_t>(std::max<int64_t>(0, most))));
  std::partial_sort(boxes.begin(), boxes.begin() + n, boxes.end(),
                    [](const ScoredBox& a, const ScoredBox& b) { return a.score > b.score; });
  boxes.resize(static_cast<size_t>(n));
}

// ---- checks ----

inline bool can_agree(const Dim& a, const Dim& b) { return std::max(a.min(), b.min()) <= std::min(a.max(), b.max()); }

}  // namespace graft
