// Non-maximum suppression of boxes of any kind, shared by NonMaxSuppression, NMSRotated and their relatives.
//
// Scores and IoU are f32 like in OpenVINO: another precision would decide some comparisons with the thresholds
// differently.
#pragma once

#include <queue>

#include "detection.hpp"

namespace graft {

struct SuppressionRule {
  size_t limit = 0;  // maximum number of boxes to keep
  float overlap = 0;
  float score = 0;
  float sigma = 0;             // > 0: soft NMS, overlapping boxes lose score instead of being dropped
  bool drop_at_equal = false;  // also drop boxes whose IoU equals the threshold
};

// The boxes of one class that are kept, by descending score; ties in the order of the boxes.
struct KeptBox {
  int64_t batch = 0, group = 0, box = 0;
  float score = 0;
};
template <class Overlap>
std::vector<KeptBox> suppress(std::span<const float> scores, const SuppressionRule& rule, Overlap overlap) {
  struct Candidate {
    float score;
    size_t box;
    size_t seen;  // kept boxes it was compared with already
    bool operator<(const Candidate& o) const { return score < o.score || (score == o.score && box > o.box); }
  };
  std::priority_queue<Candidate> queue;
  for (size_t i = 0; i < scores.size(); ++i)
    if (scores[i] > rule.score) queue.push({scores[i], i, 0});
  bool soft = rule.sigma > 0;
  std::vector<KeptBox> kept;
  while (!queue.empty() && kept.size() < rule.limit) {
    Candidate c = queue.top();
    queue.pop();
    float before = c.score;
    bool dropped = false;
    for (size_t k = kept.size(); k-- > c.seen && !dropped;) {
      float o = overlap(c.box, static_cast<size_t>(kept[k].box));
      if (soft) {
        c.score *= std::exp(-0.5f / rule.sigma * o * o);
        dropped = !(c.score > rule.score);
      } else {
        dropped = o > rule.overlap || (rule.drop_at_equal && o == rule.overlap);
      }
    }
    if (dropped) continue;
    c.seen = kept.size();
    if (c.score == before) kept.push_back({0, 0, static_cast<int64_t>(c.box), c.score});
    else queue.push(c);
  }
  return kept;
}

// By descending score across batches and classes.
inline void sort_kept(std::vector<KeptBox>& kept) {
  std::sort(kept.begin(), kept.end(), [](const KeptBox& a, const KeptBox& b) {
    if (a.score != b.score) return a.score > b.score;
    return std::tie(a.batch, a.group, a.box) < std::tie(b.batch, b.group, b.box);
  });
}

// ---- nodes that take boxes [batches, boxes, `size`] and scores [batches, classes, boxes] ----

struct BoxCounts {
  Dim batches, boxes, classes;
};
inline BoxCounts boxes_and_scores(const NodeView& ctx, int64_t size) {
  Shape boxes = ctx.shape(0), scores = ctx.shape(1);
  if (boxes.ranked() && (boxes.rank() != 3 || !boxes[2].can_be(size)))
    fail("expected boxes of shape [batches,boxes,", size, "], got ", boxes);
  if (scores.ranked() && scores.rank() != 3) fail("expected scores of shape [batches,classes,boxes], got ", scores);
  BoxCounts n;
  if (boxes.ranked()) n.batches = boxes[0], n.boxes = boxes[1];
  if (scores.ranked()) {
    if (boxes.ranked() && (!can_agree(boxes[0], scores[0]) || !can_agree(boxes[1], scores[2])))
      fail("expected boxes and scores with matching dimensions, got shapes ", boxes, " and ", scores);
    n.batches = merge(n.batches, scores[0]), n.boxes = merge(n.boxes, scores[2]), n.classes = scores[1];
  }
  return n;
}

inline void want_single(const NodeView& ctx, size_t input, std::string_view name) {
  if (!ctx.has_input(input)) return;
  Shape s = ctx.shape(input);
  if (s.ranked() && (s.rank() > 1 || !s.elements().can_be(1)))
    fail("expected ", name, " with a single element, got shape ", s);
}
template <class T>
T single_input(const Run& ctx, size_t input, T fallback) {
  return ctx.has_input(input) ? ctx.input(input).scalar<T>() : fallback;
}

// Inputs from 2 on: max_output_boxes_per_class?, iou_threshold?, score_threshold?, soft_nms_sigma?
inline SuppressionRule suppression_inputs(const Run& ctx) {
  SuppressionRule r;
  r.limit = static_cast<size_t>(std::max<int64_t>(0, single_input<int64_t>(ctx, 2, 0)));
  r.overlap = single_input<float>(ctx, 3, 0);
  r.score = single_input<float>(ctx, 4, 0);
  r.sigma = single_input<float>(ctx, 5, 0);
  return r;
}
inline Dim most_kept(const NodeView& ctx, const BoxCounts& n) {
  want_single(ctx, 2, "max_output_boxes_per_class");
  want_single(ctx, 3, "iou_threshold");
  want_single(ctx, 4, "score_threshold");
  want_single(ctx, 5, "soft_nms_sigma");
  int64_t most = n.boxes.max();
  if (!ctx.has_input(2)) most = 0;
  else if (auto limit = ctx.values<int64_t>(2); limit && limit->size() == 1)
    most = std::min(most, std::max<int64_t>(0, (*limit)[0]));
  return Dim::between(0, most) * Dim::between(0, n.batches.max()) * Dim::between(0, n.classes.max());
}
// Writes the selected indices and, if requested, their scores and number.
inline void write_kept(const Run& ctx, const std::vector<KeptBox>& kept) {
  auto n = static_cast<int64_t>(kept.size());
  std::vector<int64_t> indices;
  std::vector<float> scores;
  for (const KeptBox& k : kept) {
    indices.insert(indices.end(), {k.batch, k.group, k.box});
    scores.insert(scores.end(), {static_cast<float>(k.batch), static_cast<float>(k.group), k.score});
  }
  ctx.allocate(0, {n, 3}).assign(indices);
  if (ctx.output_used(1)) ctx.allocate(1, {n, 3}).assign(scores);
  if (ctx.output_used(2)) ctx.output(2).assign(std::vector<int64_t>{n});
}

// Runs `suppress` for every class of every batch, with overlap(batch, box, box).
template <class Overlap>
std::vector<KeptBox> suppress_all(TensorView scores, const SuppressionRule& rule, Overlap overlap) {
  std::vector<KeptBox> all;
  std::vector<float> s = scores.to<float>();
  auto boxes = static_cast<size_t>(scores.dim(2));
  for (int64_t batch = 0; batch < scores.dim(0); ++batch)
    for (int64_t group = 0; group < scores.dim(1); ++group) {
      size_t row = static_cast<size_t>(batch * scores.dim(1) + group) * boxes;
      for (KeptBox k : suppress(std::span<const float>(s).subspan(row, boxes), rule,
                                [&](size_t a, size_t b) { return overlap(static_cast<size_t>(batch), a, b); })) {
        k.batch = batch, k.group = group;
        all.push_back(k);
      }
    }
  return all;
}

}  // namespace graft
