#include <graft/op.hpp>

#include "class_nms.hpp"

namespace graft {
namespace {

struct MatrixNms : ClassNms {
  enum Decay { gaussian, linear } decay_function = linear;
  float gaussian_sigma = 2, post_threshold = 0;
  static constexpr std::tuple schema{
      sort_attr(),
      type_attr(),
      nms_top_k_attr(),
      keep_top_k_attr(),
      across_attr(),
      score_attr(),
      background_attr(),
      attr("decay_function", &MatrixNms::decay_function, "function that decays the scores of overlapping boxes")
          .one_of("gaussian", "linear"),
      attr("gaussian_sigma", &MatrixNms::gaussian_sigma, "sigma of the gaussian decay"),
      attr("post_threshold", &MatrixNms::post_threshold,
           "minimum decayed score; discard boxes whose decayed score is not above this"),
      normalized_attr()};
};

void matrix_nms_infer(Infer& ctx, const MatrixNms& a) {
  BoxCounts n = boxes_and_scores(ctx, 4);
  class_nms_outputs(ctx, a, n.batches, n.classes, n.boxes);
}

// Decays the scores of one class: each by its IoU with the higher-scoring boxes, which count less the more they overlap
// boxes above them (Wang et al., SOLOv2).
void matrix_nms_class(const MatrixNms& a, std::span<const float> scores, std::span<const Corners> boxes, int64_t image,
                      int64_t group, std::vector<Detection>& found) {
  std::vector<size_t> order;
  for (size_t i = 0; i < scores.size(); ++i)
    if (scores[i] > a.score_threshold) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t p, size_t q) { return scores[p] > scores[q]; });
  if (a.nms_top_k >= 0 && order.size() > static_cast<size_t>(a.nms_top_k))
    order.resize(static_cast<size_t>(a.nms_top_k));

  std::vector<float> worst;  // the largest IoU with a higher-scoring box
  for (size_t i = 0; i < order.size(); ++i) {
    float decay = 1, most = 0;
    for (size_t j = 0; j < i; ++j) {
      float o = touching_overlap(boxes[order[i]], boxes[order[j]], a.normalized ? 0.0f : 1.0f);
      most = std::max(most, o);
      decay = std::min(decay, a.decay_function == MatrixNms::gaussian
                                  ? std::exp((worst[j] * worst[j] - o * o) * a.gaussian_sigma)
                                  : static_cast<float>((1.0 - o) / (1.0 - worst[j] + 1e-10)));
    }
    worst.push_back(most);
    float score = decay * scores[order[i]];
    if (!(score > a.post_threshold)) continue;
    auto index = image * static_cast<int64_t>(boxes.size()) + static_cast<int64_t>(order[i]);
    found.push_back({image, group, index, score, boxes[order[i]]});
  }
}

void matrix_nms_run(Run& ctx, const MatrixNms& a) {
  std::vector<Corners> boxes = corners_of(ctx.input(0));
  std::vector<float> scores = ctx.input(1).to<float>();
  int64_t images = ctx.input(1).dim(0), classes = ctx.input(1).dim(1);
  auto per_image = static_cast<size_t>(ctx.input(1).dim(2));
  std::vector<Detection> found;
  for (int64_t image = 0; image < images; ++image) {
    std::vector<Detection> of_image;
    for (int64_t group = 0; group < classes; ++group)
      if (group != a.background_class)
        matrix_nms_class(
            a,
            std::span<const float>(scores).subspan(static_cast<size_t>(image * classes + group) * per_image, per_image),
            std::span<const Corners>(boxes).subspan(static_cast<size_t>(image) * per_image, per_image), image, group,
            of_image);
    keep_best(of_image, a.keep_top_k);
    found.insert(found.end(), of_image.begin(), of_image.end());
  }
  if (a.sort_result_across_batch && a.sort_result_type != ClassNms::none) sort_detections(found, a.sort_result_type);
  write_detections(ctx, found, images);
}

}  // namespace

Definitions define_matrix_nms() {
  return op<MatrixNms>("MatrixNms", 8)
      .doc(
          "Matrix NMS: decay scores by overlaps with higher-scoring boxes, and return rows of [class, score, x1, y1, "
          "x2, y2]")
      .inputs("boxes, scores")
      .outputs("selected_outputs, selected_indices, selected_num")
      .infer(matrix_nms_infer)
      .reference(matrix_nms_run);
}

}  // namespace graft
