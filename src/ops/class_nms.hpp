// Shared by MatrixNms and MulticlassNms: the best boxes of all classes per image, as rows of [class, score, x1, y1, x2,
// y2].
#pragma once

#include "suppression.hpp"

namespace graft {

struct ClassNms {
  enum Sort { classid, score, none } sort_result_type = none;
  DType output_type = DType::i64;
  int64_t nms_top_k = -1, keep_top_k = -1;
  bool sort_result_across_batch = false;
  float score_threshold = 0;
  int64_t background_class = -1;
  bool normalized = true;

  static constexpr auto sort_attr() {
    return attr("sort_result_type", &ClassNms::sort_result_type,
                "order of the output boxes: by class, by score, or unsorted")
        .one_of("classid", "score", "none");
  }
  static constexpr auto type_attr() {
    return attr("output_type", &ClassNms::output_type, "element type of the integer outputs, i64 or i32");
  }
  static constexpr auto nms_top_k_attr() {
    return attr("nms_top_k", &ClassNms::nms_top_k,
                "maximum number of boxes per class considered for suppression, -1 for all")
        .at_least(-1);
  }
  static constexpr auto keep_top_k_attr() {
    return attr("keep_top_k", &ClassNms::keep_top_k, "maximum number of boxes kept per image, -1 for all").at_least(-1);
  }
  static constexpr auto across_attr() {
    return attr("sort_result_across_batch", &ClassNms::sort_result_across_batch,
                "sort the boxes of all images together instead of per image");
  }
  static constexpr auto score_attr() {
    return attr("score_threshold", &ClassNms::score_threshold, "minimum score; boxes with a lower score are discarded");
  }
  static constexpr auto background_attr() {
    return attr("background_class", &ClassNms::background_class, "index of the background class to ignore, -1 for none")
        .at_least(-1);
  }
  static constexpr auto normalized_attr() {
    return attr("normalized", &ClassNms::normalized, "box coordinates are normalized to 0..1 rather than in pixels");
  }
};

struct Detection {
  int64_t image = 0, group = 0, index = 0;
  float score = 0;
  Corners box{};
};

inline std::vector<Corners> corners_of(TensorView boxes) {
  std::vector<float> v = boxes.to<float>();
  std::vector<Corners> out;
  for (size_t i = 0; i + 4 <= v.size(); i += 4) out.push_back({v[i], v[i + 1], v[i + 2], v[i + 3]});
  return out;
}

// Keeps the `most` highest-scoring boxes of one image, in descending order of their scores.
inline void keep_best(std::vector<Detection>& of_image, int64_t most) {
  std::sort(of_image.begin(), of_image.end(), [](const Detection& a, const Detection& b) {
    return a.score != b.score ? a.score > b.score : std::tie(a.group, a.index) < std::tie(b.group, b.index);
  });
  if (most >= 0 && of_image.size() > static_cast<size_t>(most)) of_image.resize(static_cast<size_t>(most));
}

inline void sort_detections(std::vector<Detection>& d, ClassNms::Sort by) {
  std::stable_sort(d.begin(), d.end(), [by](const Detection& a, const Detection& b) {
    if (by == ClassNms::classid && a.group != b.group) return a.group < b.group;
    if (by == ClassNms::classid && a.image != b.image) return a.image < b.image;
    if (a.score != b.score) return a.score > b.score;
    return std::tie(a.image, a.group, a.index) < std::tie(b.image, b.group, b.index);
  });
}

inline void class_nms_outputs(Infer& ctx, const ClassNms& a, Dim images, Dim classes, Dim boxes) {
  want_index_type(a.output_type);
  auto at_most = [](Dim d, int64_t limit) { return Dim::between(0, limit < 0 ? d.max() : std::min(d.max(), limit)); };
  Dim rows = at_most(at_most(boxes, a.nms_top_k) * at_most(classes, -1), a.keep_top_k) * at_most(images, -1);
  ctx.output(0, common_type(ctx, {0, 1}), Shape{rows, 6});
  ctx.output(1, a.output_type, Shape{rows, 1});
  ctx.output(2, a.output_type, Shape{images});
}

inline void write_detections(const Run& ctx, const std::vector<Detection>& found, int64_t images) {
  std::vector<float> rows;
  std::vector<int64_t> indices, counts(static_cast<size_t>(images));
  for (const Detection& d : found) {
    rows.insert(rows.end(), {static_cast<float>(d.group), d.score, d.box.x1, d.box.y1, d.box.x2, d.box.y2});
    indices.push_back(d.index);
    ++counts[static_cast<size_t>(d.image)];
  }
  auto n = static_cast<int64_t>(found.size());
  ctx.allocate(0, {n, 6}).assign(rows);
  if (ctx.output_used(1)) ctx.allocate(1, {n, 1}).assign(indices);
  if (ctx.output_used(2)) ctx.allocate(2, {images}).assign(counts);
}

}  // namespace graft
