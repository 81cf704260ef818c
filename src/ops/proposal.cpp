// Proposal: the region proposals of Faster R-CNN (Ren et al., 1506.01497). Computed in f32 like OpenVINO, because
// rounding decides comparisons with the thresholds.
#include <graft/op.hpp>

#include "detection.hpp"

namespace graft {
namespace {

struct Proposal {
  int64_t base_size = 0, pre_nms_topn = 0, post_nms_topn = 0;
  float nms_thresh = 0;
  int64_t feat_stride = 1, min_size = 1;
  std::vector<float> ratio, scale;
  bool clip_before_nms = true, clip_after_nms = false, normalize = false;
  float box_size_scale = 1, box_coordinate_scale = 1;
  std::string framework;
  static constexpr std::tuple schema{
      attr("base_size", &Proposal::base_size, "side length of the square from which ratio and scale derive the anchors")
          .required(),
      attr("pre_nms_topn", &Proposal::pre_nms_topn, "maximum number of boxes before non-maximum suppression")
          .required()
          .at_least(0),
      attr("post_nms_topn", &Proposal::post_nms_topn, "number of boxes in the result").required().at_least(0),
      attr("nms_thresh", &Proposal::nms_thresh,
           "IoU threshold: suppress boxes whose IoU with a higher-scoring box exceeds this"),
      attr("feat_stride", &Proposal::feat_stride, "stride of the feature map in image pixels"),
      attr("min_size", &Proposal::min_size, "minimum width and height of a box; the score of smaller ones is 0"),
      attr("ratio", &Proposal::ratio, "aspect ratios (height / width) of the anchors"),
      attr("scale", &Proposal::scale, "scales of the anchors"),
      attr("clip_before_nms", &Proposal::clip_before_nms, "clip boxes to the image before non-maximum suppression"),
      attr("clip_after_nms", &Proposal::clip_after_nms, "clip the resulting boxes to the image"),
      attr("normalize", &Proposal::normalize, "return coordinates normalized to 0..1 instead of pixels"),
      attr("box_size_scale", &Proposal::box_size_scale, "divisor of the size deltas"),
      attr("box_coordinate_scale", &Proposal::box_coordinate_scale, "divisor of the center deltas"),
      attr("framework", &Proposal::framework, "tensorflow: swap x and y, and do not round anchor sizes")};
};

Dim proposal_count(Infer& ctx, const Proposal& a) {
  Shape probs = ctx.shape(0), deltas = ctx.shape(1), image = ctx.shape(2);
  Dim batches;
  auto anchors = static_cast<int64_t>(a.ratio.size() * a.scale.size());
  auto look = [&](const Shape& s, std::string_view name, int64_t channels) {
    if (!s.ranked()) return;
    if (s.rank() != 4 || !s[1].can_be(channels))
      fail("expected ", name, " of shape [batches,", channels, ",height,width], got ", s);
    if (!can_agree(batches, s[0]))
      fail("expected class_probs and bbox_deltas with matching dimensions, got shapes ", probs, " and ", s);
    batches = merge(batches, s[0]);
  };
  look(probs, "class_probs", 2 * anchors);
  look(deltas, "bbox_deltas", 4 * anchors);
  if (probs.ranked() && deltas.ranked() && !(can_agree(probs[2], deltas[2]) && can_agree(probs[3], deltas[3])))
    fail("expected class_probs and bbox_deltas with matching dimensions, got shapes ", probs, " and ", deltas);
  if (image.ranked() && (image.rank() != 1 || !(image[0].can_be(3) || image[0].can_be(4))))
    fail("expected image_shape with 3 or 4 values, got shape ", image);
  return batches * Dim(a.post_nms_topn);
}
void proposal1_infer(Infer& ctx, const Proposal& a) { ctx.output(0, ctx.type(0), Shape{proposal_count(ctx, a), 5}); }
void proposal4_infer(Infer& ctx, const Proposal& a) {
  Dim n = proposal_count(ctx, a);
  ctx.output(0, ctx.type(0), Shape{n, 5});
  ctx.output(1, ctx.type(0), Shape{n});
}

std::vector<Corners> proposal_anchors(const Proposal& a) {
  bool tensorflow = a.framework == "tensorflow";
  float one = tensorflow ? 0.0f : 1.0f;
  auto base = static_cast<float>(a.base_size);
  float center = 0.5f * (base - one) - (tensorflow ? 0.5f * base : 0.0f);
  std::vector<Corners> anchors;
  for (float ratio : a.ratio) {
    float width = std::sqrt(base * base / ratio);
    if (!tensorflow) width = std::round(width);
    float height = width * ratio;
    if (!tensorflow) height = std::round(height);
    for (float scale : a.scale) {
      float w = 0.5f * (width * scale - one), h = 0.5f * (height * scale - one);
      anchors.push_back({center - w, center - h, center + w, center + h});
    }
  }
  return anchors;
}

void proposal_run(Run& ctx, const Proposal& a) {
  std::vector<float> probs = ctx.input(0).to<float>(), deltas = ctx.input(1).to<float>(),
                     image = ctx.input(2).to<float>();
  bool tensorflow = a.framework == "tensorflow";
  float one = tensorflow ? 0.0f : 1.0f, height = image[tensorflow ? 1 : 0], width = image[tensorflow ? 0 : 1];
  float min_height = static_cast<float>(a.min_size) * image[2],
        min_width = static_cast<float>(a.min_size) * image[image.size() == 4 ? 3 : 2];
  std::vector<Corners> anchors = proposal_anchors(a);
  int64_t batches = ctx.input(0).dim(0), rows = ctx.input(0).dim(2), columns = ctx.input(0).dim(3);
  auto area = static_cast<size_t>(rows * columns), most = static_cast<size_t>(a.post_nms_topn);

  auto propose = [&](size_t batch, int64_t row, int64_t column, size_t k) -> ScoredBox {
    size_t cell = static_cast<size_t>(row * columns + column);
    const float* d = &deltas[(batch * anchors.size() + k) * 4 * area + cell];
    auto x = static_cast<float>(tensorflow ? row : column) * static_cast<float>(a.feat_stride),
         y = static_cast<float>(tensorflow ? column : row) * static_cast<float>(a.feat_stride);
    Corners b{x + anchors[k].x1, y + anchors[k].y1, x + anchors[k].x2, y + anchors[k].y2};
    if (tensorflow) b = kept_inside(b, width, height);
    float w = b.x2 - b.x1 + one, h = b.y2 - b.y1 + one;
    x = d[0] / a.box_coordinate_scale * w + (b.x1 + 0.5f * w);
    y = d[area] / a.box_coordinate_scale * h + (b.y1 + 0.5f * h);
    w = std::exp(d[2 * area] / a.box_size_scale) * w * 0.5f;
    h = std::exp(d[3 * area] / a.box_size_scale) * h * 0.5f;
    b = {x - w, y - h, x + w, y + h};
    if (a.clip_before_nms) b = kept_inside(b, width - one, height - one);
    bool large = min_width <= b.x2 - b.x1 + one && min_height <= b.y2 - b.y1 + one;
    return {b, large ? probs[(batch * 2 + 1) * anchors.size() * area + k * area + cell] : 0.0f};
  };
  std::vector<float> boxes(static_cast<size_t>(ctx.output(0).size())), scores(boxes.size() / 5);
  for (size_t batch = 0; batch < static_cast<size_t>(batches) && most; ++batch) {
    std::vector<ScoredBox> all;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column)
        for (size_t k = 0; k < anchors.size(); ++k) all.push_back(propose(batch, row, column, k));
    keep_best(all, a.pre_nms_topn);
    std::vector<size_t> kept;
    for (size_t i = 0; i < all.size() && kept.size() < most; ++i)
      if (std::none_of(kept.begin(), kept.end(),
                       [&](size_t k) { return touching_overlap(all[k].box, all[i].box, one) > a.nms_thresh; }))
        kept.push_back(i);
    for (size_t i = 0; i < kept.size(); ++i) {
      Corners b = all[kept[i]].box;
      if (a.clip_after_nms) b = kept_inside(b, width, height);
      if (a.normalize) b = {b.x1 / width, b.y1 / height, b.x2 / width, b.y2 / height};
      float row[] = {static_cast<float>(batch), b.x1, b.y1, b.x2, b.y2};
      std::copy(std::begin(row), std::end(row), &boxes[(batch * most + i) * 5]);
      scores[batch * most + i] = all[kept[i]].score;
    }
    if (kept.size() < most) boxes[(batch * most + kept.size()) * 5] = -1;
  }
  ctx.output(0).assign(boxes);
  if (ctx.output_used(1)) ctx.output(1).assign(scores);
}

}  // namespace

Definitions define_proposal() {
  auto common = [](int version) {
    return op<Proposal>("Proposal", version)
        .doc(
            "Region proposals: decode anchors and apply non-maximum suppression; rows of [batch, x1, y1, x2, y2], "
            "where batch -1 marks the first unused row")
        .inputs("class_probs, bbox_deltas, image_shape")
        .reference(proposal_run);
  };
  return {common(1).infer(proposal1_infer), common(4).outputs("rois, scores").infer(proposal4_infer)};
}

}  // namespace graft
