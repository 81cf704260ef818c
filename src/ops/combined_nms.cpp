#include <graft/kit/known.hpp>
#include <graft/op.hpp>

#include "suppression.hpp"

namespace graft {
namespace {

struct CombinedNms {
  bool pad_per_class = false, clip_boxes = true;
  static constexpr std::tuple schema{
      attr("pad_per_class", &CombinedNms::pad_per_class,
           "limit the outputs to max_output_size_per_class boxes per class instead of max_total_size boxes"),
      attr("clip_boxes", &CombinedNms::clip_boxes, "clip the coordinates of the selected boxes to [0, 1]")};
};

// The number of output rows per image.
int64_t combined_limit(int64_t per_class, int64_t total, int64_t classes) {
  return classes > 0 && per_class > total / classes ? total : per_class * classes;
}
Dim combined_rows(Infer& ctx, const CombinedNms& a, const Dim& classes) {
  want_single(ctx, 2, "max_output_size_per_class");
  want_single(ctx, 3, "max_total_size");
  want_single(ctx, 4, "iou_threshold");
  want_single(ctx, 5, "score_threshold");
  auto per_class = certain_number(ctx, 2), total = certain_number(ctx, 3);
  if ((per_class && *per_class < 1) || (total && *total < 1)) fail("expected output sizes of at least 1");
  if (!total) return Dim();
  if (!a.pad_per_class) return Dim(*total);
  if (!per_class || !classes.known()) return Dim::between(0, *total);
  return Dim(combined_limit(*per_class, *total, classes.value()));
}

void combined_nms_infer(Infer& ctx, const CombinedNms& a) {
  Shape boxes = ctx.shape(0), scores = ctx.shape(1);
  if (boxes.ranked() && (boxes.rank() != 4 || !boxes[3].can_be(4)))
    fail("expected boxes of shape [batch, boxes, classes or 1, 4], got ", boxes);
  if (scores.ranked() && scores.rank() != 3) fail("expected scores of shape [batch, boxes, classes], got ", scores);
  Dim batch, classes;
  if (boxes.ranked()) batch = boxes[0];
  if (scores.ranked()) {
    bool shared = !boxes.ranked() || boxes[2].can_be(1) || can_agree(boxes[2], scores[2]);
    if (boxes.ranked() && (!can_agree(boxes[0], scores[0]) || !can_agree(boxes[1], scores[1]) || !shared))
      fail("boxes of shape ", boxes, " do not match scores of shape ", scores);
    batch = merge(batch, scores[0]), classes = scores[2];
  }
  Dim rows = combined_rows(ctx, a, classes);
  ctx.output(0, ctx.type(0), Shape{batch, rows, Dim(4)});
  ctx.output(1, ctx.type(1), Shape{batch, rows});
  ctx.output(2, ctx.type(1), Shape{batch, rows});
  ctx.output(3, DType::i32, Shape{batch});
}

void combined_nms_run(Run& ctx, const CombinedNms& a) {
  TensorView boxes = ctx.input(0), scores = ctx.input(1);
  int64_t batches = scores.dim(0), count = scores.dim(1), classes = scores.dim(2), sets = boxes.dim(2);
  if (boxes.dim(0) != batches || boxes.dim(1) != count || (sets != 1 && sets != classes) || boxes.dim(3) != 4)
    fail("boxes of shape ", boxes.info().shape, " do not match scores of shape ", scores.info().shape);
  auto per_class = ctx.input(2).scalar<int64_t>(), total = ctx.input(3).scalar<int64_t>();
  if (per_class < 1 || total < 1) fail("expected output sizes of at least 1");
  int64_t rows = a.pad_per_class ? combined_limit(per_class, total, classes) : total;
  SuppressionRule rule;
  rule.limit = static_cast<size_t>(per_class);
  rule.overlap = ctx.input(4).scalar<float>(), rule.score = ctx.input(5).scalar<float>();

  std::vector<float> b = boxes.to<float>(), s = scores.to<float>();
  auto coordinates = [&](int64_t image, int64_t box, int64_t group) {
    return b.data() + ((image * count + box) * sets + (sets == 1 ? 0 : group)) * 4;
  };
  auto corners = [&](int64_t image, size_t box, int64_t group) {
    const float* c = coordinates(image, static_cast<int64_t>(box), group);
    return Corners{std::min(c[1], c[3]), std::min(c[0], c[2]), std::max(c[1], c[3]), std::max(c[0], c[2])};
  };
  OutputView to_boxes = ctx.allocate(0, {batches, rows, 4}), to_scores = ctx.allocate(1, {batches, rows}),
             to_classes = ctx.allocate(2, {batches, rows});
  std::vector<float> box_values(static_cast<size_t>(to_boxes.size()), 0),
      score_values(static_cast<size_t>(to_scores.size()), 0), class_values(score_values.size(), 0);
  std::vector<int64_t> valid;
  for (int64_t image = 0; image < batches; ++image) {
    std::vector<KeptBox> all;
    for (int64_t group = 0; group < classes; ++group) {
      std::vector<float> of_class;
      for (int64_t i = 0; i < count; ++i)
        of_class.push_back(s[static_cast<size_t>((image * count + i) * classes + group)]);
      for (KeptBox k : suppress(of_class, rule, [&](size_t x, size_t y) {
             return box_overlap(corners(image, x, group), corners(image, y, group));
           })) {
        k.group = group;
        all.push_back(k);
      }
    }
    sort_kept(all);
    all.resize(std::min(all.size(), static_cast<size_t>(rows)));
    valid.push_back(static_cast<int64_t>(all.size()));
    for (size_t i = 0; i < all.size(); ++i) {
      size_t row = static_cast<size_t>(image * rows) + i;
      const float* c = coordinates(image, all[i].box, all[i].group);
      for (size_t k = 0; k < 4; ++k) box_values[row * 4 + k] = a.clip_boxes ? std::clamp(c[k], 0.0f, 1.0f) : c[k];
      score_values[row] = all[i].score, class_values[row] = static_cast<float>(all[i].group);
    }
  }
  to_boxes.assign(box_values), to_scores.assign(score_values), to_classes.assign(class_values);
  ctx.output(3).assign(valid);
}

std::vector<Value> import_combined_nms(Builder& layer) {
  return layer.ops(
      "CombinedNonMaxSuppression@graft",
      {layer.input(0), layer.input(1), layer.input(2), layer.input(3), layer.input(4), layer.input(5)},
      {{"pad_per_class", layer.get<bool>("pad_per_class", false)}, {"clip_boxes", layer.get<bool>("clip_boxes", true)}},
      4);
}

}  // namespace

Definitions define_combined_nms() {
  return op<CombinedNms>("CombinedNonMaxSuppression", "graft")
      .doc(
          "Non-maximum suppression per class, followed by the selection of the highest-scoring boxes of each image "
          "over "
          "all classes; unused rows are 0")
      .inputs("boxes, scores, max_output_size_per_class, max_total_size, iou_threshold, score_threshold")
      .outputs("boxes, scores, classes, valid_detections")
      .infer(combined_nms_infer)
      .reference(combined_nms_run)
      .import(tensorflow("CombinedNonMaxSuppression").expand(import_combined_nms));
}

}  // namespace graft
