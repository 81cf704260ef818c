#include <graft/op.hpp>

namespace graft {
namespace {

struct RegionYolo {
  std::vector<float> anchors;
  int64_t axis = 1, coords = 4, classes = 0, end_axis = 3, num = 0;
  bool do_softmax = true;
  std::vector<int64_t> mask;
  using Self = RegionYolo;
  static constexpr double most = 65536;
  static constexpr std::tuple schema{
      attr("anchors", &Self::anchors, "anchor box sizes, for post-processing"),
      attr("axis", &Self::axis, "first axis to flatten, with do_softmax").required(),
      attr("coords", &Self::coords, "number of coordinates per box").required().between(2, most),
      attr("classes", &Self::classes, "number of classes").required().between(0, most),
      attr("end_axis", &Self::end_axis, "last axis to flatten, with do_softmax").required(),
      attr("num", &Self::num, "number of boxes per cell").required().between(0, most),
      attr("do_softmax", &Self::do_softmax, "apply softmax to the classes instead of sigmoid"),
      attr("mask", &Self::mask, "indices of the anchors used here, without do_softmax")};

  int64_t entries() const { return coords + classes + 1; }
  int64_t regions() const { return do_softmax ? num : static_cast<int64_t>(mask.size()); }
};

void region_yolo_infer(Infer& ctx, const RegionYolo& a) {
  Shape data = ctx.shape(0);
  if (!data.ranked()) return ctx.output(0, ctx.type(0), Shape::unknown());
  if (data.rank() != 4) fail("expected data of shape [N, C, H, W], got ", data);
  if (!data[1].can_be(a.regions() * a.entries()))
    fail("expected ", a.regions() * a.entries(), " channels in the data, got ", data[1]);
  data[1] = a.regions() * a.entries();
  if (a.do_softmax) {
    size_t first = normalize_axis(a.axis, 4), last = normalize_axis(a.end_axis, 4);
    Shape out;
    for (size_t i = 0; i < 4; ++i) {
      if (i > first && i <= last) out[first] = out[first] * data[i];
      else out.push_back(data[i]);
    }
    data = out;
  }
  ctx.output(0, ctx.type(0), data);
}

// Each box consists of planes: coords, objectness, then the classes.
void region_yolo_run(Run& ctx, const RegionYolo& a) {
  TensorView x = ctx.input(0);
  std::vector<double> v = x.to<double>();
  if (v.empty()) return;
  int64_t plane = x.dim(2) * x.dim(3), boxes = x.dim(0) * a.regions();
  auto squash = [](double* p, int64_t n) {
    for (int64_t i = 0; i < n; ++i) p[i] = 1 / (1 + std::exp(-p[i]));
  };
  for (int64_t b = 0; b < boxes; ++b) {
    double* box = v.data() + b * a.entries() * plane;
    squash(box, 2 * plane);
    squash(box + a.coords * plane, a.do_softmax ? plane : plane * (a.classes + 1));
    for (int64_t i = 0; i < plane && a.do_softmax && a.classes > 0; ++i) {
      double* score = box + (a.coords + 1) * plane + i;
      double top = score[0], sum = 0;
      for (int64_t c = 1; c < a.classes; ++c) top = std::max(top, score[c * plane]);
      for (int64_t c = 0; c < a.classes; ++c) sum += score[c * plane] = std::exp(score[c * plane] - top);
      for (int64_t c = 0; c < a.classes; ++c) score[c * plane] /= sum;
    }
  }
  ctx.output(0).assign(v);
}

}  // namespace

Definitions define_region_yolo() {
  return op<RegionYolo>("RegionYolo", 1)
      .doc("YOLO output layer: convert raw boxes to coordinates and probabilities")
      .inputs("data")
      .infer(region_yolo_infer)
      .reference(region_yolo_run);
}

}  // namespace graft
