// All versions of NonMaxSuppression.
#include <graft/op.hpp>

#include "layout.hpp"
#include "rules.hpp"

namespace graft {
namespace {

struct TfNms {
  std::vector<Value> outputs;  // indices, scores, count
};

TfNms tf_nms(Builder& layer, const Value& iou, const Value& score, const Value& sigma, bool padded) {
  Value boxes = unsqueeze(convert(layer.input(0), DType::f32), {0});
  Value scores = unsqueeze(convert(layer.input(1), DType::f32), {0, 1});
  Value limit = tf::as_scalar(layer.input(2));
  std::vector<Value> out = layer.ops(
      "NonMaxSuppression@9",
      {boxes, scores, convert(limit, DType::i64), tf::as_scalar(iou), tf::as_scalar(score), tf::as_scalar(sigma)},
      {{"box_encoding", "corner"}, {"sort_result_descending", false}, {"output_type", DType::i32}}, 3);
  auto column = [](const Value& v) { return squeeze(build::slice(v, 1, 2, 3), {1}); };
  TfNms r{{column(out[0]), convert(column(out[1]), layer.input(1).type()), tf::as_scalar(out[2])}};
  if (padded) {
    Value missing = convert(tf::as_list(limit), DType::i64) - build::dims(r.outputs[0], {0});
    for (size_t i = 0; i < 2; ++i)
      r.outputs[i] = layer.op("Pad@1", {r.outputs[i], layer.ints({0}), missing, like(r.outputs[i], 0)},
                              {{"pad_mode", "constant"}});
  }
  return r;
}
Value tf_number(Builder& layer, double v) { return layer.scalar(v, DType::f32); }
Value tf_lowest(Builder& layer) { return tf_number(layer, std::numeric_limits<float>::lowest()); }

Value tf_nms_1(Builder& layer) {
  return tf_nms(layer, tf_number(layer, layer.get<float>("iou_threshold", 0.5f)), tf_lowest(layer), tf_number(layer, 0),
                false)
      .outputs[0];
}
Value tf_nms_2(Builder& layer) {
  return tf_nms(layer, convert(layer.input(3), DType::f32), tf_lowest(layer), tf_number(layer, 0), false).outputs[0];
}
Value tf_nms_3(Builder& layer) {
  return tf_nms(layer, convert(layer.input(3), DType::f32), convert(layer.input(4), DType::f32), tf_number(layer, 0),
                false)
      .outputs[0];
}
std::vector<Value> tf_nms_4(Builder& layer) {
  TfNms r = tf_nms(layer, convert(layer.input(3), DType::f32), convert(layer.input(4), DType::f32), tf_number(layer, 0),
                   layer.get<bool>("pad_to_max_output_size", false));
  return {r.outputs[0], r.outputs[2]};
}
std::vector<Value> tf_nms_5(Builder& layer) {
  return tf_nms(layer, convert(layer.input(3), DType::f32), convert(layer.input(4), DType::f32),
                convert(layer.input(5), DType::f32), layer.get<bool>("pad_to_max_output_size", false))
      .outputs;
}

}  // namespace

namespace tf {
std::vector<Value> nms_4(Builder& layer) { return tf_nms_4(layer); }
std::vector<Value> nms_5(Builder& layer) { return tf_nms_5(layer); }
}  // namespace tf

Definitions define_tensorflow_detection() {
  return {
      tensorflow("NonMaxSuppression").expand(tf_nms_1),   tensorflow("NonMaxSuppressionV2").expand(tf_nms_2),
      tensorflow("NonMaxSuppressionV3").expand(tf_nms_3), tensorflow("NonMaxSuppressionV4").expand(tf_nms_4),
      tensorflow("NonMaxSuppressionV5").expand(tf_nms_5),
  };
}

}  // namespace graft
