#include <graft/op.hpp>

#include "suppression.hpp"

namespace graft {
namespace {

struct NmsFields {
  enum Encoding { corner, center } box_encoding = corner;
  bool sort_result_descending = true;
  DType output_type = DType::i64;
};
constexpr auto nms_encoding = attr("box_encoding", &NmsFields::box_encoding,
                                   "corner: [y1,x1,y2,x2], any two opposite corners; center: [x,y,width,height]")
                                  .one_of("corner", "center");
constexpr auto nms_sort = attr("sort_result_descending", &NmsFields::sort_result_descending,
                               "sort the selected boxes by score across batches and classes");

struct NonMaxSuppression : NmsFields {
  static constexpr std::tuple schema{
      nms_encoding, nms_sort, attr("output_type", &NmsFields::output_type, "element type of the indices, i64 or i32")};
};
// Before opset3 the result was always i64.
struct NonMaxSuppression1 : NmsFields {
  static constexpr std::tuple schema{nms_encoding, nms_sort};
};

template <class A>
void nms_infer(Infer& ctx, const A& a) {
  want_index_type(a.output_type);
  Dim most = most_kept(ctx, boxes_and_scores(ctx, 4));
  ctx.output(0, a.output_type, Shape{most, 3});
}
void nms_scored_infer(Infer& ctx, const NonMaxSuppression& a) {
  want_index_type(a.output_type);
  Dim most = most_kept(ctx, boxes_and_scores(ctx, 4));
  ctx.output(0, a.output_type, Shape{most, 3});
  ctx.output(1, DType::f32, Shape{most, 3});
  ctx.output(2, a.output_type, Shape{1});
}

std::vector<Corners> nms_corners(TensorView boxes, bool center) {
  std::vector<float> v = boxes.to<float>();
  std::vector<Corners> out;
  for (size_t i = 0; i + 4 <= v.size(); i += 4) {
    const float* b = &v[i];
    if (center) out.push_back({b[0] - b[2] / 2, b[1] - b[3] / 2, b[0] + b[2] / 2, b[1] + b[3] / 2});
    else out.push_back({std::min(b[1], b[3]), std::min(b[0], b[2]), std::max(b[1], b[3]), std::max(b[0], b[2])});
  }
  return out;
}

// Up to opset5, a box was suppressed even if its IoU equals the threshold.
template <class A, bool drop_at_equal>
void nms_run(Run& ctx, const A& a) {
  SuppressionRule rule = suppression_inputs(ctx);
  rule.drop_at_equal = drop_at_equal;
  std::vector<Corners> boxes = nms_corners(ctx.input(0), a.box_encoding == NmsFields::center);
  auto per_batch = static_cast<size_t>(ctx.input(0).dim(1));
  std::vector<KeptBox> kept = suppress_all(ctx.input(1), rule, [&](size_t batch, size_t p, size_t q) {
    return box_overlap(boxes[batch * per_batch + p], boxes[batch * per_batch + q]);
  });
  if (a.sort_result_descending) sort_kept(kept);
  write_kept(ctx, kept);
}

// In ONNX, an omitted score threshold keeps all scores, and an omitted number of boxes keeps none.
Value import_nms(Builder& layer) {
  auto given = [&](size_t i, Value fallback) { return layer.has_input(i) ? layer.input(i) : fallback; };
  auto center = layer.get<int64_t>("center_point_box", 0);
  if (center != 0 && center != 1) fail("expected center_point_box 0 or 1, got ", center);
  return layer.ops("NonMaxSuppression@9",
                   {layer.input(0), layer.input(1), given(2, layer.scalar(int64_t{0})),
                    given(3, layer.scalar(0.0, DType::f32)), given(4, layer.scalar(-INFINITY, DType::f32))},
                   {{"box_encoding", center ? "center" : "corner"}, {"sort_result_descending", false}}, 3)[0];
}

}  // namespace

Definitions define_non_max_suppression() {
  constexpr std::string_view doc = "Non-maximum suppression per class; rows of [batch, class, box]";
  constexpr std::string_view five = "boxes, scores, max_output_boxes_per_class?, iou_threshold?, score_threshold?",
                             six =
                                 "boxes, scores, max_output_boxes_per_class?, iou_threshold?, score_threshold?, "
                                 "soft_nms_sigma?",
                             results = "selected_indices, selected_scores, valid_outputs";
  auto old = [&](int version) {
    return op<NonMaxSuppression>("NonMaxSuppression", version)
        .doc(doc)
        .inputs(five)
        .infer(nms_infer<NonMaxSuppression>)
        .reference(nms_run<NonMaxSuppression, true>);
  };
  auto scored = [&](int version) {
    return op<NonMaxSuppression>("NonMaxSuppression", version)
        .doc(doc)
        .inputs(six)
        .outputs(results)
        .infer(nms_scored_infer);
  };
  return {
      op<NonMaxSuppression1>("NonMaxSuppression", 1)
          .doc(doc)
          .inputs(five)
          .infer(nms_infer<NonMaxSuppression1>)
          .reference(nms_run<NonMaxSuppression1, true>),
      old(3),
      old(4),
      scored(5).reference(nms_run<NonMaxSuppression, true>),
      scored(9).reference(nms_run<NonMaxSuppression, false>).import(onnx("NonMaxSuppression").expand(import_nms)),
  };
}

}  // namespace graft
