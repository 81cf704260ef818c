#include <graft/op.hpp>

#include "class_nms.hpp"

namespace graft {
namespace {

struct MulticlassNms : ClassNms {
  float iou_threshold = 0, nms_eta = 1;
  static constexpr std::tuple schema{
      sort_attr(),
      type_attr(),
      nms_top_k_attr(),
      keep_top_k_attr(),
      across_attr(),
      attr("iou_threshold", &MulticlassNms::iou_threshold,
           "IoU threshold: suppress boxes whose IoU with a higher-scoring box reaches this"),
      score_attr(),
      background_attr(),
      attr("nms_eta", &MulticlassNms::nms_eta,
           "factor by which an IoU threshold above 0.5 shrinks with each selected box")
          .between(0, 1),
      normalized_attr()};
};

// Two forms: boxes [images, boxes, 4] shared by all classes, with scores [images, classes, boxes]; or separate boxes
// per class [classes, boxes, 4], with scores [classes, boxes] and the number of boxes per image.
void multiclass_nms_infer(Infer& ctx, const MulticlassNms& a) {
  if (!ctx.has_input(2)) {
    BoxCounts n = boxes_and_scores(ctx, 4);
    return class_nms_outputs(ctx, a, n.batches, n.classes, n.boxes);
  }
  Shape boxes = ctx.shape(0), scores = ctx.shape(1), counts = ctx.shape(2);
  if (boxes.ranked() && (boxes.rank() != 3 || !boxes[2].can_be(4)))
    fail("expected boxes of shape [classes,boxes,4], got ", boxes);
  if (scores.ranked() && scores.rank() != 2) fail("expected scores of shape [classes,boxes], got ", scores);
  if (counts.ranked() && counts.rank() != 1) fail("expected roisnum of shape [images], got ", counts);
  Dim classes, per_class;
  if (boxes.ranked()) classes = boxes[0], per_class = boxes[1];
  if (scores.ranked()) {
    if (!can_agree(classes, scores[0]) || !can_agree(per_class, scores[1]))
      fail("expected boxes and scores with matching dimensions, got shapes ", boxes, " and ", scores);
    classes = merge(classes, scores[0]), per_class = merge(per_class, scores[1]);
  }
  class_nms_outputs(ctx, a, counts.ranked() ? counts[0] : Dim(), classes, per_class);
}

// Selects boxes of one class.
std::vector<size_t> multiclass_nms_class(const MulticlassNms& a, std::span<const float> scores,
                                         std::span<const Corners> boxes) {
  std::vector<size_t> order, kept;
  for (size_t i = 0; i < scores.size(); ++i)
    if (scores[i] >= a.score_threshold) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t p, size_t q) { return scores[p] > scores[q]; });
  if (a.nms_top_k >= 0 && order.size() > static_cast<size_t>(a.nms_top_k))
    order.resize(static_cast<size_t>(a.nms_top_k));
  float threshold = a.iou_threshold, one = a.normalized ? 0.0f : 1.0f;
  for (size_t i : order) {
    bool free = std::none_of(kept.begin(), kept.end(),
                             [&](size_t k) { return box_overlap(boxes[i], boxes[k], one) >= threshold; });
    if (!free) continue;
    kept.push_back(i);
    if (a.nms_eta < 1 && threshold > 0.5f) threshold *= a.nms_eta;
  }
  return kept;
}

void multiclass_nms_run(Run& ctx, const MulticlassNms& a) {
  std::vector<Corners> boxes = corners_of(ctx.input(0));
  std::vector<float> scores = ctx.input(1).to<float>();
  bool shared = !ctx.has_input(2);
  std::vector<int64_t> counts = shared ? std::vector<int64_t>() : ctx.input(2).to<int64_t>();
  auto images = shared ? ctx.input(1).dim(0) : static_cast<int64_t>(counts.size());
  int64_t classes = ctx.input(1).dim(shared ? 1 : 0), per_class = ctx.input(1).dim(shared ? 2 : 1), first = 0;
  std::vector<Detection> found;
  for (int64_t image = 0; image < images; ++image) {
    int64_t count = shared ? per_class : std::max<int64_t>(0, counts[static_cast<size_t>(image)]);
    if (!shared && count > per_class - first) fail("roisnum adds up to more than the ", per_class, " boxes per class");
    std::vector<Detection> of_image;
    for (int64_t group = 0; group < classes; ++group) {
      if (group == a.background_class) continue;
      auto score_row = static_cast<size_t>(shared ? (image * classes + group) * per_class : group * per_class + first);
      auto box_row = static_cast<size_t>(shared ? image * per_class : group * per_class + first);
      auto s = std::span<const float>(scores).subspan(score_row, static_cast<size_t>(count));
      auto b = std::span<const Corners>(boxes).subspan(box_row, static_cast<size_t>(count));
      for (size_t i : multiclass_nms_class(a, s, b)) {
        auto k = static_cast<int64_t>(i);
        int64_t index = shared ? image * per_class + k : (first + k) * classes + group;
        of_image.push_back({image, group, index, s[i], b[i]});
      }
    }
    keep_best(of_image, a.keep_top_k);
    if (!a.sort_result_across_batch && a.sort_result_type == ClassNms::classid)
      sort_detections(of_image, ClassNms::classid);
    found.insert(found.end(), of_image.begin(), of_image.end());
    if (!shared) first += count;
  }
  if (a.sort_result_across_batch && a.sort_result_type != ClassNms::none) sort_detections(found, a.sort_result_type);
  write_detections(ctx, found, images);
}

void multiclass_nms_as_8(Rewrite& at) {
  if (!at.has_input(2)) at.restate("MulticlassNms@8", {at.input(0), at.input(1)});
}

}  // namespace

Definitions define_multiclass_nms() {
  auto common = [](int version) {
    return op<MulticlassNms>("MulticlassNms", version)
        .doc("Non-maximum suppression per class, with rows of [class, score, x1, y1, x2, y2]")
        .outputs("selected_outputs, selected_indices, selected_num")
        .infer(multiclass_nms_infer)
        .reference(multiclass_nms_run);
  };
  return {common(8).inputs("boxes, scores"), common(9).inputs("boxes, scores, roisnum?").earlier(multiclass_nms_as_8)};
}

}  // namespace graft
