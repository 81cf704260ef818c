#include <graft/op.hpp>

#include "suppression.hpp"

namespace graft {
namespace {

struct NmsRotated {
  bool sort_result_descending = true;
  DType output_type = DType::i64;
  bool clockwise = true;
  static constexpr std::tuple schema{
      attr("sort_result_descending", &NmsRotated::sort_result_descending,
           "sort the selected boxes by score across batches and classes"),
      attr("output_type", &NmsRotated::output_type, "element type of the indices, i64 or i32"),
      attr("clockwise", &NmsRotated::clockwise, "positive angles turn clockwise (y axis pointing down)")};
};

void nms_rotated_infer(Infer& ctx, const NmsRotated& a) {
  want_index_type(a.output_type);
  Dim most = most_kept(ctx, boxes_and_scores(ctx, 5));
  ctx.output(0, a.output_type, Shape{most, 3});
  ctx.output(1, DType::f32, Shape{most, 3});
  ctx.output(2, a.output_type, Shape{1});
}

struct Point {
  double x, y;
};
// The corners of a box [x, y, width, height, angle], in order.
std::vector<Point> rotated_corners(const float* box, bool clockwise) {
  double angle = clockwise ? box[4] : -box[4], c = std::cos(angle) / 2, s = std::sin(angle) / 2;
  Point along{c * box[2], s * box[2]}, across{-s * box[3], c * box[3]};
  auto corner = [&](int i, int j) {
    return Point{box[0] + i * along.x + j * across.x, box[1] + i * along.y + j * across.y};
  };
  return {corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1)};
}

// Twice the signed area of the triangle a, b, p; the sign tells the side of the line a-b.
double side(Point a, Point b, Point p) { return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x); }

// The area of `shape` inside the convex polygon `frame`, clipped edge by edge (Sutherland-Hodgman).
double common_area(std::vector<Point> shape, const std::vector<Point>& frame) {
  for (size_t e = 0; e < frame.size(); ++e) {
    Point a = frame[e], b = frame[(e + 1) % frame.size()];
    std::vector<Point> inside;
    for (size_t i = 0; i < shape.size(); ++i) {
      Point p = shape[i], q = shape[(i + 1) % shape.size()];
      double at_p = side(a, b, p), at_q = side(a, b, q);
      if (at_p >= 0) inside.push_back(p);
      if ((at_p > 0 && at_q < 0) || (at_p < 0 && at_q > 0)) {
        double t = at_p / (at_p - at_q);
        inside.push_back({p.x + t * (q.x - p.x), p.y + t * (q.y - p.y)});
      }
    }
    shape = std::move(inside);
  }
  double twice = 0;
  for (size_t i = 2; i < shape.size(); ++i) twice += side(shape[0], shape[i - 1], shape[i]);
  return std::max(0.0, twice / 2);
}

void nms_rotated_run(Run& ctx, const NmsRotated& a) {
  std::vector<float> v = ctx.input(0).to<float>();
  std::vector<std::vector<Point>> corners;
  std::vector<float> areas;
  for (size_t i = 0; i + 5 <= v.size(); i += 5) {
    corners.push_back(rotated_corners(&v[i], a.clockwise));
    areas.push_back(v[i + 2] * v[i + 3]);
  }
  auto per_batch = static_cast<size_t>(ctx.input(0).dim(1));
  std::vector<KeptBox> kept =
      suppress_all(ctx.input(1), suppression_inputs(ctx), [&](size_t batch, size_t p, size_t q) {
        p += batch * per_batch, q += batch * per_batch;
        if (areas[p] <= 0 || areas[q] <= 0) return 0.0f;
        auto common = static_cast<float>(common_area(corners[p], corners[q]));
        return common / (areas[p] + areas[q] - common);
      });
  if (a.sort_result_descending) sort_kept(kept);
  write_kept(ctx, kept);
}

Value import_nms_rotated(Builder& layer) {
  return layer.ops("NMSRotated@13",
                   {layer.input(0), layer.input(1), layer.scalar(INT64_MAX),
                    layer.scalar(layer.get<float>("iou_threshold"), DType::f32),
                    layer.scalar(layer.get<float>("score_threshold"), DType::f32)},
                   {{"sort_result_descending", false}}, 3)[0];
}

}  // namespace

Definitions define_nms_rotated() {
  return op<NmsRotated>("NMSRotated", 13)
      .doc("Non-maximum suppression of rotated boxes; rows of [batch, class, box]")
      .inputs("boxes, scores, max_output_boxes_per_class, iou_threshold, score_threshold")
      .outputs("selected_indices, selected_scores, valid_outputs")
      .infer(nms_rotated_infer)
      .reference(nms_rotated_run)
      .import(onnx("NMSRotated").domain("mmdeploy").expand(import_nms_rotated));
}

}  // namespace graft
