// The Detectron operations that prepare and post-process region proposals.
#include <graft/op.hpp>

#include "roi_sampling.hpp"

namespace graft {
namespace {

// ---- ExperimentalDetectronDetectionOutput ----

struct DetectronOutput {
  float score_threshold = 0, nms_threshold = 0, max_delta_log_wh = 0;
  int64_t num_classes = 0, post_nms_count = 0, max_detections_per_image = 0;
  bool class_agnostic_box_regression = false;
  std::vector<float> deltas_weights;
  static constexpr std::tuple schema{
      attr("score_threshold", &DetectronOutput::score_threshold,
           "score threshold: discard boxes whose score is not above this")
          .required(),
      attr("nms_threshold", &DetectronOutput::nms_threshold,
           "IoU threshold: suppress boxes whose IoU with a higher-scoring box exceeds this")
          .required(),
      attr("max_delta_log_wh", &DetectronOutput::max_delta_log_wh, "upper bound of the size deltas (log space)")
          .required(),
      attr("num_classes", &DetectronOutput::num_classes, "number of classes, including the background (class 0)")
          .required()
          .between(1, 1 << 20),
      attr("post_nms_count", &DetectronOutput::post_nms_count, "maximum number of boxes kept per class, -1 for all")
          .required()
          .at_least(-1),
      attr("max_detections_per_image", &DetectronOutput::max_detections_per_image, "maximum number of boxes per image")
          .required()
          .at_least(0),
      attr("class_agnostic_box_regression", &DetectronOutput::class_agnostic_box_regression,
           "ignored, accepted for compatibility"),
      attr("deltas_weights", &DetectronOutput::deltas_weights, "divisors of the four box deltas").required()};
};

void detectron_output_infer(Infer& ctx, const DetectronOutput& a) {
  if (a.deltas_weights.size() != 4) fail("expected 4 values in deltas_weights, got ", a.deltas_weights.size());
  Shape rois = ctx.shape(0), deltas = ctx.shape(1), scores = ctx.shape(2), info = ctx.shape(3);
  Dim count;
  auto look = [&](const Shape& s, std::string_view name, int64_t size) {
    if (!s.ranked()) return;
    if (s.rank() != 2 || !s[1].can_be(size)) fail("expected ", name, " of shape [boxes,", size, "], got ", s);
    if (!can_agree(count, s[0]))
      fail("expected ", count, " boxes in ", name, " to match the other inputs, got shape ", s);
    count = merge(count, s[0]);
  };
  look(rois, "rois", 4);
  look(deltas, "deltas", 4 * a.num_classes);
  look(scores, "scores", a.num_classes);
  if (info.ranked() && (info.rank() != 2 || !info[0].can_be(1) || !info[1].can_be(3)))
    fail("expected im_info of shape [1,3], got ", info);
  DType type = common_type(ctx);
  ctx.output(0, type, Shape{a.max_detections_per_image, 4});
  ctx.output(1, DType::i32, Shape{a.max_detections_per_image});
  ctx.output(2, type, Shape{a.max_detections_per_image});
}

struct DetectronFound {
  Corners box;
  float score;
  size_t group, roi;
};

// Non-maximum suppression within one class, by descending score.
std::vector<DetectronFound> detectron_class(const DetectronOutput& a, std::vector<DetectronFound> all) {
  std::sort(all.begin(), all.end(), [](const DetectronFound& p, const DetectronFound& q) {
    return p.score != q.score ? p.score > q.score : p.roi < q.roi;
  });
  std::vector<DetectronFound> kept;
  for (const DetectronFound& f : all)
    if (std::none_of(kept.begin(), kept.end(),
                     [&](const DetectronFound& k) { return touching_overlap(f.box, k.box, 1) > a.nms_threshold; }))
      kept.push_back(f);
  if (a.post_nms_count >= 0 && kept.size() > static_cast<size_t>(a.post_nms_count))
    kept.resize(static_cast<size_t>(a.post_nms_count));
  return kept;
}

void detectron_output_run(Run& ctx, const DetectronOutput& a) {
  std::vector<float> rois = ctx.input(0).to<float>(), deltas = ctx.input(1).to<float>(),
                     scores = ctx.input(2).to<float>();
  auto classes = static_cast<size_t>(a.num_classes), count = rois.size() / 4,
       most = static_cast<size_t>(a.max_detections_per_image);
  const std::vector<float>& w = a.deltas_weights;
  std::vector<DetectronFound> found;
  for (size_t c = 1; c < classes; ++c) {
    std::vector<DetectronFound> all;
    for (size_t i = 0; i < count; ++i) {
      Corners b{rois[i * 4], rois[i * 4 + 1], rois[i * 4 + 2], rois[i * 4 + 3]};
      float score = scores[i * classes + c];
      if (!(b.x2 - b.x1 > 0 && b.y2 - b.y1 > 0 && score > a.score_threshold)) continue;
      const float* d = &deltas[(i * classes + c) * 4];
      b = moved_box(b, d[0] / w[0], d[1] / w[1], d[2] / w[2], d[3] / w[3], a.max_delta_log_wh, 1);
      // OpenVINO knows the image size here, but clips boxes at 0 only.
      all.push_back({kept_inside(b, INFINITY, INFINITY), score, c, i});
    }
    all = detectron_class(a, std::move(all));
    found.insert(found.end(), all.begin(), all.end());
  }
  if (found.size() > most) {
    std::stable_sort(found.begin(), found.end(), [](const DetectronFound& p, const DetectronFound& q) {
      return p.score != q.score ? p.score > q.score : p.roi < q.roi;
    });
    found.resize(most);
  }
  std::vector<float> boxes(most * 4), best(most);
  std::vector<int64_t> labels(most);
  for (size_t i = 0; i < found.size(); ++i) {
    const Corners& b = found[i].box;
    float corners[] = {b.x1, b.y1, b.x2, b.y2};
    std::copy(std::begin(corners), std::end(corners), &boxes[i * 4]);
    labels[i] = static_cast<int64_t>(found[i].group);
    best[i] = found[i].score;
  }
  ctx.output(0).assign(boxes);
  if (ctx.output_used(1)) ctx.output(1).assign(labels);
  if (ctx.output_used(2)) ctx.output(2).assign(best);
}

std::vector<Value> import_detectron_output(Builder& layer) {
  return layer.ops("ExperimentalDetectronDetectionOutput",
                   {layer.input(0), layer.input(1), layer.input(2), layer.input(3)},
                   {{"score_threshold", layer.get<float>("score_threshold", 0.05f)},
                    {"nms_threshold", layer.get<float>("nms_threshold", 0.5f)},
                    {"max_delta_log_wh", layer.get<float>("max_delta_log_wh", std::log(1000.0f / 16.0f))},
                    {"num_classes", layer.get<int64_t>("num_classes", 81)},
                    {"post_nms_count", layer.get<int64_t>("post_nms_count", 2000)},
                    {"max_detections_per_image", layer.get<int64_t>("max_detections_per_image", 100)},
                    {"class_agnostic_box_regression", layer.get<bool>("class_agnostic_box_regression", false)},
                    {"deltas_weights", layer.get<std::vector<float>>("deltas_weights", {10, 10, 5, 5})}},
                   3);
}

// ---- ExperimentalDetectronPriorGridGenerator ----

struct PriorGrid {
  bool flatten = true;
  int64_t h = 0, w = 0;
  float stride_x = 0, stride_y = 0;
  static constexpr std::tuple schema{
      attr("flatten", &PriorGrid::flatten, "return a single list of boxes instead of a grid"),
      attr("h", &PriorGrid::h, "rows of the grid, 0 for the height of the feature map").at_least(0),
      attr("w", &PriorGrid::w, "columns of the grid, 0 for the width of the feature map").at_least(0),
      attr("stride_x", &PriorGrid::stride_x, "distance between columns, 0 to divide the image evenly"),
      attr("stride_y", &PriorGrid::stride_y, "distance between rows, 0 to divide the image evenly")};
};

void prior_grid_infer(Infer& ctx, const PriorGrid& a) {
  Shape priors = ctx.shape(0), map = ctx.shape(1), image = ctx.shape(2);
  if (priors.ranked() && (priors.rank() != 2 || !priors[1].can_be(4)))
    fail("expected priors of shape [boxes,4], got ", priors);
  if (map.ranked() && map.rank() != 4) fail("expected feature_map of rank 4, got shape ", map);
  if (image.ranked() && image.rank() != 4) fail("expected im_data of rank 4, got shape ", image);
  if (map.ranked() && image.ranked() && !can_agree(map[0], image[0]))
    fail("expected feature_map and im_data with the same batch size, got shapes ", map, " and ", image);
  Dim boxes = priors.ranked() ? priors[0] : Dim(), rows = map.ranked() ? map[2] : Dim(),
      columns = map.ranked() ? map[3] : Dim();
  if (a.h) rows = a.h;
  if (a.w) columns = a.w;
  ctx.output(0, ctx.type(0), a.flatten ? Shape{rows * columns * boxes, 4} : Shape{rows, columns, boxes, 4});
}

void prior_grid_run(Run& ctx, const PriorGrid& a) {
  std::vector<float> priors = ctx.input(0).to<float>(), out;
  TensorView map = ctx.input(1), image = ctx.input(2);
  int64_t rows = a.h ? a.h : map.dim(2), columns = a.w ? a.w : map.dim(3);
  float step_x = a.stride_x != 0 ? a.stride_x : static_cast<float>(image.dim(3)) / static_cast<float>(columns),
        step_y = a.stride_y != 0 ? a.stride_y : static_cast<float>(image.dim(2)) / static_cast<float>(rows);
  out.reserve(static_cast<size_t>(ctx.output(0).size()));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      for (size_t i = 0; i < priors.size(); ++i)
        out.push_back(priors[i] + (i % 2 ? step_y * (static_cast<float>(row) + 0.5f)
                                         : step_x * (static_cast<float>(column) + 0.5f)));
  ctx.output(0).assign(out);
}

// ---- ExperimentalDetectronROIFeatureExtractor ----

struct PyramidFeatures {
  int64_t output_size = 0, sampling_ratio = 0;
  std::vector<int64_t> pyramid_scales;
  bool aligned = false;
  static constexpr std::tuple schema{
      attr("output_size", &PyramidFeatures::output_size, "height and width of the pooled regions")
          .required()
          .at_least(0),
      attr("sampling_ratio", &PyramidFeatures::sampling_ratio, "samples per bin along each axis, 0 for one per pixel")
          .required()
          .between(0, 1 << 13),
      attr("pyramid_scales", &PyramidFeatures::pyramid_scales, "image pixels per element of each pyramid level")
          .required()
          .at_least(1),
      attr("aligned", &PyramidFeatures::aligned, "use half-pixel centers")};
};

void pyramid_features_infer(Infer& ctx, const PyramidFeatures& a) {
  if (ctx.inputs() < 2) fail("expected at least one pyramid level, got none");
  if (a.pyramid_scales.size() < ctx.inputs() - 1)
    fail("expected ", ctx.inputs() - 1, " values in pyramid_scales, one per level, got ", a.pyramid_scales.size());
  Shape rois = ctx.shape(0);
  if (rois.ranked() && (rois.rank() != 2 || !rois[1].can_be(4)))
    fail("expected rois of shape [num_rois,4], got ", rois);
  Dim channels;
  for (size_t i = 1; i < ctx.inputs(); ++i) {
    Shape s = ctx.shape(i);
    if (!s.ranked()) continue;
    if (s.rank() != 4 || !s[0].can_be(1)) fail("expected a pyramid level of shape [1,channels,height,width], got ", s);
    if (!can_agree(channels, s[1]))
      fail("expected a pyramid level with ", channels, " channels like the others, got shape ", s);
    channels = merge(channels, s[1]);
  }
  Dim count = rois.ranked() ? rois[0] : Dim();
  DType type = common_type(ctx);
  ctx.output(0, type, Shape{count, channels, a.output_size, a.output_size});
  ctx.output(1, type, Shape{count, 4});
}

// Small regions use the fine levels; a region of 224 x 224 pixels uses level 2 (Lin et al., 1612.03144).
void pyramid_features_run(Run& ctx, const PyramidFeatures& a) {
  std::vector<float> rois = ctx.input(0).to<float>(), out(static_cast<size_t>(ctx.output(0).size()));
  std::vector<std::vector<float>> levels;
  for (size_t i = 1; i < ctx.inputs(); ++i) levels.push_back(ctx.input(i).to<float>());
  auto count = rois.size() / 4, size = count ? out.size() / count : 0;
  for (size_t i = 0; i < count && size; ++i) {
    const float* r = &rois[i * 4];
    float area = (r[2] - r[0]) * (r[3] - r[1]);
    if (!(area > 0)) continue;
    float wanted = std::floor(std::log2(std::sqrt(area) / 224 + 1e-6f) + 2);
    auto level = static_cast<size_t>(std::max(0.0f, std::min(static_cast<float>(levels.size() - 1), wanted)));
    TensorView t = ctx.input(level + 1);
    float scale = 1.0f / static_cast<float>(a.pyramid_scales[level]), offset = a.aligned ? 0.5f : 0.0f;
    auto at = [&](size_t k) { return r[k] * scale - offset; };
    Region region{at(0), at(1), std::max(at(2) - at(0), 1.0f), std::max(at(3) - at(1), 1.0f)};
    pool_region({levels[level].data(), t.dim(1), t.dim(2), t.dim(3)}, region, a.output_size, a.output_size,
                a.sampling_ratio, RegionPool::average, &out[i * size]);
  }
  ctx.output(0).assign(out);
  if (ctx.output_used(1)) ctx.output(1).assign(ctx.input(0));
}

std::vector<Value> import_pyramid_features(Builder& layer) {
  std::vector<Value> inputs;
  for (size_t i = 0; i < layer.inputs(); ++i) inputs.push_back(layer.input(i));
  return layer.make("ExperimentalDetectronROIFeatureExtractor", inputs,
                    {{"output_size", layer.get<int64_t>("output_size", 7)},
                     {"sampling_ratio", layer.get<int64_t>("sampling_ratio", 2)},
                     {"pyramid_scales", layer.get<std::vector<int64_t>>("pyramid_scales", {4, 8, 16, 32, 64})},
                     {"aligned", layer.get<bool>("aligned", false)}},
                    2, {});
}

// ---- ExperimentalDetectronTopKROIs ----

struct TopRois {
  int64_t max_rois = 0;
  static constexpr std::tuple schema{attr("max_rois", &TopRois::max_rois, "number of output rows").at_least(0)};
};

void top_rois_infer(Infer& ctx, const TopRois& a) {
  Shape rois = ctx.shape(0), probs = ctx.shape(1);
  if (rois.ranked() && (rois.rank() != 2 || !rois[1].can_be(4)))
    fail("expected rois of shape [num_rois,4], got ", rois);
  if (probs.ranked() && probs.rank() != 1) fail("expected rois_probs of shape [num_rois], got ", probs);
  if (rois.ranked() && probs.ranked() && !can_agree(rois[0], probs[0]))
    fail("expected as many rois_probs as rois (", rois[0], "), got ", probs[0]);
  ctx.output(0, common_type(ctx), Shape{a.max_rois, 4});
}

void top_rois_run(Run& ctx, const TopRois& a) {
  std::vector<double> rois = ctx.input(0).to<double>(), probs = ctx.input(1).to<double>(),
                      out(static_cast<size_t>(a.max_rois) * 4);
  std::vector<size_t> order(probs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (double& p : probs)
    if (std::isnan(p)) p = -INFINITY;
  std::stable_sort(order.begin(), order.end(), [&](size_t p, size_t q) { return probs[p] > probs[q]; });
  for (size_t i = 0; i < order.size() && i * 4 < out.size(); ++i) std::copy_n(&rois[order[i] * 4], 4, &out[i * 4]);
  ctx.output(0).assign(out);
}

}  // namespace

Definitions define_experimental_detectron() {
  auto theirs = [](std::string_view type) { return onnx(type).domain("org.openvinotoolkit"); };
  return {
      op<DetectronOutput>("ExperimentalDetectronDetectionOutput", 6)
          .doc("Decode box deltas per class and apply non-maximum suppression; unused rows are 0")
          .inputs("rois, deltas, scores, im_info")
          .outputs("boxes, classes, scores")
          .infer(detectron_output_infer)
          .reference(detectron_output_run)
          .import(theirs("ExperimentalDetectronDetectionOutput").expand(import_detectron_output)),
      op<PriorGrid>("ExperimentalDetectronPriorGridGenerator", 6)
          .doc("Prior boxes (anchors) centered at every cell of a grid")
          .inputs("priors, feature_map, im_data")
          .infer(prior_grid_infer)
          .reference(prior_grid_run)
          .import(theirs("ExperimentalDetectronPriorGridGenerator")),
      op<PyramidFeatures>("ExperimentalDetectronROIFeatureExtractor", 6)
          .doc("ROIAlign from the level of a feature pyramid that matches the size of each region")
          .inputs("rois, levels...")
          .outputs("features, rois")
          .infer(pyramid_features_infer)
          .reference(pyramid_features_run)
          .import(theirs("ExperimentalDetectronROIFeatureExtractor").expand(import_pyramid_features)),
      op<TopRois>("ExperimentalDetectronTopKROIs", 6)
          .doc("Regions with the highest scores in descending order; unused rows are 0")
          .inputs("rois, rois_probs")
          .infer(top_rois_infer)
          .reference(top_rois_run)
          .import(theirs("ExperimentalDetectronTopKROIs").attr("max_rois", "max_rois", 1000)),
  };
}

}  // namespace graft
