// Detections of a model as one tensor [1,1,N,7], as DetectionOutput has them: rows of image, label, score and corners,
// the valid ones first; the others have the image -1. The importer appends these layers (src/import/detections.cpp).
#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

// `rows` [B,N,6]: label, score, x_min, y_min, x_max, y_max; `valid` [B,N].
Value detection_rows(Builder& layer, const Value& rows, const Value& valid) {
  Value images = convert(counting(dimension_of(rows, 0), DType::i64), rows.type());
  Value place = build::concat({build::dims(rows, {0, 1}), layer.ints({1})}, 0);
  Value all = build::concat({build::broadcast(reshape(images, {-1, 1, 1}), place), rows}, 2);
  Value none = convert(layer.constant<float>({-1, 0, 0, 0, 0, 0, 0}, {1, 1, 7}), rows.type());
  Value flat = reshape(build::select(unsqueeze(valid, {2}), all, none), {-1, 7});
  Value order = layer.ops(
      "TopK@11", {reshape(convert(valid, DType::f32), {-1}), dimension_of(flat, 0)},
      {{"axis", int64_t{0}}, {"mode", "max"}, {"sort", "value"}, {"index_element_type", DType::i64}, {"stable", true}},
      2)[1];
  return reshape(build::gather(flat, order, 0), {1, 1, -1, 7});
}

// Boxes [B,N,4] are y_min, x_min, y_max, x_max.
Value object_detection_api(Builder& layer) {
  Value boxes = layer.input(0), classes = layer.input(1), scores = layer.input(2), count = layer.input(3);
  if (boxes.rank() != 3 || classes.rank() != 2 || scores.rank() != 2)
    fail("expected boxes [B,N,4], classes [B,N] and scores [B,N], got ", boxes.shape(), ", ", classes.shape(), " and ",
         scores.shape());
  Value corners = build::gather(boxes, layer.ints({1, 0, 3, 2}), 2);
  Value rows = build::concat({unsqueeze(convert(classes, boxes.type()), {2}), unsqueeze(scores, {2}), corners}, 2);
  Value number = convert(counting(dimension_of(boxes, 1), DType::i64), DType::f32);
  Value valid = layer.op("Less", {reshape(number, {1, -1}), reshape(convert(count, DType::f32), {-1, 1})});
  return detection_rows(layer, rows, valid);
}

// Rows [B,N,6] of label, score and corners; suppressed ones have the label -1.
Value multibox(Builder& layer) {
  Value rows = layer.input(0);
  if (rows.rank() != 3) fail("expected rows [B,N,6], got ", rows.shape());
  Value label = squeeze(build::slice(rows, 2, 0, 1), {2});
  return detection_rows(layer, rows, layer.op("GreaterEqual", {label, like(label, 0)}));
}

}  // namespace

Definitions define_detection_heads() {
  return {
      replacement("DetectionOutput").when("form", "object_detection_api").ignore("form").expand(object_detection_api),
      replacement("DetectionOutput").when("form", "multibox").ignore("form").expand(multibox)};
}

}  // namespace graft
