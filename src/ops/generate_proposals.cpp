// Region proposals as in Detectron: decode anchors, then apply non-maximum suppression.
#include <graft/op.hpp>

#include "detection.hpp"

namespace graft {
namespace {

struct GenerateProposalsFields {
  float min_size = 0, nms_threshold = 0;
  int64_t post_nms_count = 0, pre_nms_count = 0;
  bool normalized = true;
  float nms_eta = 1;
  DType roi_num_type = DType::i64;
};
constexpr auto generate_proposals_fields =
    std::tuple{attr("min_size", &GenerateProposalsFields::min_size, "minimum width and height of a box").required(),
               attr("nms_threshold", &GenerateProposalsFields::nms_threshold,
                    "IoU threshold: suppress boxes whose IoU with a higher-scoring box exceeds this")
                   .required(),
               attr("post_nms_count", &GenerateProposalsFields::post_nms_count,
                    "maximum number of boxes per image after non-maximum suppression")
                   .required()
                   .at_least(0),
               attr("pre_nms_count", &GenerateProposalsFields::pre_nms_count,
                    "maximum number of boxes per image before non-maximum suppression")
                   .required()
                   .at_least(0)};
struct GenerateProposals : GenerateProposalsFields {
  static constexpr auto schema = std::tuple_cat(
      generate_proposals_fields, std::tuple{attr("normalized", &GenerateProposalsFields::normalized,
                                                 "box coordinates are normalized to 0..1 rather than in pixels"),
                                            attr("nms_eta", &GenerateProposalsFields::nms_eta,
                                                 "decay of an adaptive IoU threshold; only 1 (constant) is supported")
                                                .between(1, 1),
                                            attr("roi_num_type", &GenerateProposalsFields::roi_num_type,
                                                 "element type of the number of regions per image, i64 or i32")});
};
struct SingleImageProposals : GenerateProposalsFields {
  static constexpr auto schema = generate_proposals_fields;
};

// Checks a dimension that two inputs share.
void same_dim(const Shape& a, size_t i, const Shape& b, size_t j, std::string_view names) {
  if (a.ranked() && b.ranked() && !can_agree(a[i], b[j]))
    fail("expected ", names, " with matching dimensions, got shapes ", a, " and ", b);
}

void single_image_infer(Infer& ctx, const SingleImageProposals& a) {
  Shape info = ctx.shape(0), anchors = ctx.shape(1), deltas = ctx.shape(2), scores = ctx.shape(3);
  if (info.ranked() && (info.rank() != 1 || !info[0].can_be(3))) fail("expected im_info of shape [3], got ", info);
  if (anchors.ranked() && (anchors.rank() != 2 || !anchors[1].can_be(4)))
    fail("expected anchors of shape [boxes,4], got ", anchors);
  if (deltas.ranked() && deltas.rank() != 3) fail("expected deltas of shape [4*anchors,height,width], got ", deltas);
  if (scores.ranked() && scores.rank() != 3) fail("expected scores of shape [anchors,height,width], got ", scores);
  if (scores.ranked() && deltas.ranked() && !can_agree(deltas[0], scores[0] * Dim(4)))
    fail("expected four deltas per score, got shapes ", deltas, " and ", scores);
  same_dim(deltas, 1, scores, 1, "deltas and scores");
  same_dim(deltas, 2, scores, 2, "deltas and scores");
  if (anchors.ranked() && !can_agree(anchors[0], scores.elements()))
    fail("expected one anchor per score (", scores.elements(), "), got shape ", anchors);
  DType type = common_type(ctx);
  ctx.output(0, type, Shape{a.post_nms_count, 4});
  ctx.output(1, type, Shape{a.post_nms_count});
}

void generate_proposals_infer(Infer& ctx, const GenerateProposals& a) {
  Shape info = ctx.shape(0), anchors = ctx.shape(1), deltas = ctx.shape(2), scores = ctx.shape(3);
  if (info.ranked() && (info.rank() != 2 || !(info[1].can_be(3) || info[1].can_be(4))))
    fail("expected im_info of shape [images,3 or 4], got ", info);
  if (anchors.ranked() && (anchors.rank() != 4 || !anchors[3].can_be(4)))
    fail("expected anchors of shape [height,width,anchors,4], got ", anchors);
  if (deltas.ranked() && deltas.rank() != 4)
    fail("expected deltas of shape [images,4*anchors,height,width], got ", deltas);
  if (scores.ranked() && scores.rank() != 4)
    fail("expected scores of shape [images,anchors,height,width], got ", scores);
  if (scores.ranked() && deltas.ranked() && !can_agree(deltas[1], scores[1] * Dim(4)))
    fail("expected four deltas per score, got shapes ", deltas, " and ", scores);
  for (size_t i : {0, 2, 3}) same_dim(deltas, i, scores, i, "deltas and scores");
  same_dim(info, 0, scores, 0, "im_info and scores");
  same_dim(info, 0, deltas, 0, "im_info and deltas");
  same_dim(anchors, 0, scores, 2, "anchors and scores");
  same_dim(anchors, 1, scores, 3, "anchors and scores");
  same_dim(anchors, 2, scores, 1, "anchors and scores");
  want_index_type(a.roi_num_type, "roi_num_type");
  Dim images;
  for (const Shape& s : {info, deltas, scores})
    if (s.ranked()) images = merge(images, s[0]);
  Dim rows = Dim::between(0, a.post_nms_count) * Dim::between(0, images.max());
  DType type = common_type(ctx);
  ctx.output(0, type, Shape{rows, 4});
  ctx.output(1, type, Shape{rows});
  ctx.output(2, a.roi_num_type, Shape{images});
}

// The inputs of one image.
struct ProposalSource {
  const float *anchors, *deltas, *scores;
  size_t count, area;  // anchors per cell, number of cells
  float width, height, min_width, min_height, one;

  // All boxes, decoded and clipped to the image, cell by cell.
  std::vector<ScoredBox> boxes() const {
    const float most = std::log(1000.0f / 16.0f);
    std::vector<ScoredBox> all;
    for (size_t cell = 0; cell < area; ++cell)
      for (size_t k = 0; k < count; ++k) {
        const float *c = anchors + (cell * count + k) * 4, *d = deltas + k * 4 * area + cell;
        Corners b = moved_box({c[0], c[1], c[2], c[3]}, d[0], d[area], d[2 * area], d[3 * area], most, one);
        all.push_back({kept_inside(b, width - one, height - one), scores[k * area + cell]});
      }
    return all;
  }
  bool is_large(const Corners& b) const { return min_width <= b.x2 - b.x1 + one && min_height <= b.y2 - b.y1 + one; }
};

std::vector<size_t> best_apart(const std::vector<ScoredBox>& boxes, const GenerateProposalsFields& a, float one) {
  std::vector<size_t> kept;
  auto most = static_cast<size_t>(a.post_nms_count);
  for (size_t i = 0; i < boxes.size() && kept.size() < most; ++i)
    if (std::none_of(kept.begin(), kept.end(),
                     [&](size_t k) { return touching_overlap(boxes[k].box, boxes[i].box, one) > a.nms_threshold; }))
      kept.push_back(i);
  return kept;
}

void single_image_run(Run& ctx, const SingleImageProposals& a) {
  std::vector<float> info = ctx.input(0).to<float>(), anchors = ctx.input(1).to<float>(),
                     deltas = ctx.input(2).to<float>(), scores = ctx.input(3).to<float>();
  TensorView s = ctx.input(3);
  ProposalSource source{anchors.data(),
                        deltas.data(),
                        scores.data(),
                        static_cast<size_t>(s.dim(0)),
                        static_cast<size_t>(s.dim(1) * s.dim(2)),
                        info[1],
                        info[0],
                        a.min_size,
                        a.min_size,
                        1};
  std::vector<ScoredBox> boxes = source.boxes();
  for (ScoredBox& b : boxes)
    if (!source.is_large(b.box)) b.score = 0;
  keep_best(boxes, a.pre_nms_count);
  std::vector<float> rois(static_cast<size_t>(a.post_nms_count) * 4), probs(static_cast<size_t>(a.post_nms_count));
  size_t row = 0;
  for (size_t i : best_apart(boxes, a, 0)) {
    const Corners& b = boxes[i].box;
    float corners[] = {b.x1, b.y1, b.x2, b.y2};
    std::copy(std::begin(corners), std::end(corners), &rois[row * 4]);
    probs[row++] = boxes[i].score;
  }
  ctx.output(0).assign(rois);
  if (ctx.output_used(1)) ctx.output(1).assign(probs);
}

void generate_proposals_run(Run& ctx, const GenerateProposals& a) {
  std::vector<float> info = ctx.input(0).to<float>(), anchors = ctx.input(1).to<float>(),
                     deltas = ctx.input(2).to<float>(), scores = ctx.input(3).to<float>(), rois, probs;
  TensorView s = ctx.input(3);
  auto images = static_cast<size_t>(s.dim(0)), count = static_cast<size_t>(s.dim(1)),
       area = static_cast<size_t>(s.dim(2) * s.dim(3)), numbers = static_cast<size_t>(ctx.input(0).dim(1));
  float one = a.normalized ? 0.0f : 1.0f;
  std::vector<int64_t> counts;
  for (size_t i = 0; i < images; ++i) {
    const float* image = &info[i * numbers];
    ProposalSource source{anchors.data(),
                          deltas.data() + i * 4 * count * area,
                          scores.data() + i * count * area,
                          count,
                          area,
                          image[1],
                          image[0],
                          a.min_size * image[numbers == 4 ? 3 : 2],
                          a.min_size * image[2],
                          one};
    std::vector<ScoredBox> boxes = source.boxes();
    keep_best(boxes, a.pre_nms_count);
    std::erase_if(boxes, [&](const ScoredBox& b) { return !source.is_large(b.box); });
    std::vector<size_t> kept = best_apart(boxes, a, one);
    for (size_t k : kept) {
      const Corners& b = boxes[k].box;
      rois.insert(rois.end(), {b.x1, b.y1, b.x2, b.y2});
      probs.push_back(boxes[k].score);
    }
    counts.push_back(static_cast<int64_t>(kept.size()));
  }
  auto n = static_cast<int64_t>(probs.size());
  ctx.allocate(0, {n, 4}).assign(rois);
  if (ctx.output_used(1)) ctx.allocate(1, {n}).assign(probs);
  if (ctx.output_used(2)) ctx.allocate(2, {static_cast<int64_t>(images)}).assign(counts);
}

// ---- import ----

std::vector<Value> import_single_image(Builder& layer) {
  return layer.ops("ExperimentalDetectronGenerateProposalsSingleImage",
                   {layer.input(0), layer.input(1), layer.input(2), layer.input(3)},
                   {{"min_size", layer.get<float>("min_size", 0)},
                    {"nms_threshold", layer.get<float>("nms_threshold", 0.7f)},
                    {"post_nms_count", layer.get<int64_t>("post_nms_count", 1000)},
                    {"pre_nms_count", layer.get<int64_t>("pre_nms_count", 1000)}},
                   2);
}

// The same anchors [A,4] at every cell.
std::vector<Value> import_generate_proposals(Builder& layer) {
  Value scores = layer.input(0), anchors = layer.input(3);
  if (Shape s = anchors.shape(); s.ranked() && (s.rank() != 2 || !s[1].can_be(4)))
    fail("expected anchors of shape [anchors,4], got ", s);
  Value cells = layer.op("Slice", {shape_of(scores), layer.ints({2}), layer.ints({4}), layer.ints({1})});
  Value everywhere = layer.op("Concat", {cells, shape_of(anchors)}, {{"axis", 0}});
  layer.has("spatial_scale");
  return layer.ops("GenerateProposals@9",
                   {layer.input(2), layer.op("Broadcast@3", {anchors, everywhere}), layer.input(1), scores},
                   {{"min_size", layer.get<float>("min_size", 1)},
                    {"nms_threshold", layer.get<float>("nms_thresh", 0.7f)},
                    {"pre_nms_count", layer.get<int64_t>("pre_nms_topN", 6000)},
                    {"post_nms_count", layer.get<int64_t>("post_nms_topN", 300)},
                    {"normalized", !layer.get<bool>("legacy_plus_one", true)}},
                   3);
}

}  // namespace

Definitions define_generate_proposals() {
  return {
      op<SingleImageProposals>("ExperimentalDetectronGenerateProposalsSingleImage", 6)
          .doc("Region proposals: decode anchors and apply non-maximum suppression; unused rows are 0")
          .inputs("im_info, anchors, deltas, scores")
          .outputs("rois, scores")
          .infer(single_image_infer)
          .reference(single_image_run)
          .import(onnx("ExperimentalDetectronGenerateProposalsSingleImage")
                      .domain("org.openvinotoolkit")
                      .expand(import_single_image)),
      op<GenerateProposals>("GenerateProposals", 9)
          .doc("Region proposals: decode anchors and apply non-maximum suppression, with the number of regions per "
               "image")
          .inputs("im_info, anchors, deltas, scores")
          .outputs("rpnrois, rpnscores, rpnroisnum")
          .infer(generate_proposals_infer)
          .reference(generate_proposals_run)
          .import(onnx("GenerateProposals").domain("org.openvinotoolkit").expand(import_generate_proposals)),
  };
}

}  // namespace graft
