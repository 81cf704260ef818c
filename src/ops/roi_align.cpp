// ROIAlign (He et al., 1703.06870) and ROIAlignRotated: regions of a feature map sampled to a fixed size.
#include <graft/op.hpp>

#include "roi_sampling.hpp"

namespace graft {
namespace {

struct RoiAlignFields {
  int64_t pooled_h = 0, pooled_w = 0, sampling_ratio = 0;
  float spatial_scale = 1;
  RegionPool mode = RegionPool::average;
  enum Aligned { asymmetric, half_pixel_for_nn, half_pixel } aligned_mode = asymmetric;
  bool clockwise_mode = false;
};
constexpr auto roi_align_fields = std::tuple{
    attr("pooled_h", &RoiAlignFields::pooled_h, "height of the result").required().at_least(0),
    attr("pooled_w", &RoiAlignFields::pooled_w, "width of the result").required().at_least(0),
    attr("sampling_ratio", &RoiAlignFields::sampling_ratio, "samples per bin along each axis, 0 for one per pixel")
        .required()
        .between(0, 1 << 13),
    attr("spatial_scale", &RoiAlignFields::spatial_scale, "factor from ROI coordinates to feature map coordinates")
        .required()};
constexpr auto roi_align_mode =
    attr("mode", &RoiAlignFields::mode, "average or maximum of the samples; the maximum is at least 0")
        .one_of("avg", "max");
constexpr auto roi_align_aligned = attr("aligned_mode", &RoiAlignFields::aligned_mode,
                                        "pixel alignment: whether and how coordinates shift by half a pixel")
                                       .one_of("asymmetric", "half_pixel_for_nn", "half_pixel");
struct RoiAlign3 : RoiAlignFields {
  static constexpr auto schema = std::tuple_cat(roi_align_fields, std::tuple{roi_align_mode});
};
struct RoiAlign9 : RoiAlignFields {
  static constexpr auto schema = std::tuple_cat(roi_align_fields, std::tuple{roi_align_mode, roi_align_aligned});
};
struct RoiAlignCorner : RoiAlignFields {
  static constexpr auto schema = std::tuple_cat(roi_align_fields, std::tuple{roi_align_aligned});
};
struct RoiAlignRotated : RoiAlignFields {
  static constexpr auto schema = std::tuple_cat(
      roi_align_fields,
      std::tuple{attr("clockwise_mode", &RoiAlignFields::clockwise_mode, "positive angles turn clockwise")});
};

template <class A, int64_t size>
void roi_align_infer(Infer& ctx, const A& a) {
  Shape data = ctx.shape(0), rois = ctx.shape(1), indices = ctx.shape(2);
  if (data.ranked() && data.rank() != 4) fail("expected data of rank 4, got shape ", data);
  if (rois.ranked() && (rois.rank() != 2 || !rois[1].can_be(size)))
    fail("expected rois of shape [num_rois,", size, "], got ", rois);
  if (indices.ranked() && indices.rank() != 1) fail("expected batch_indices of shape [num_rois], got ", indices);
  Dim count = rois.ranked() ? rois[0] : Dim();
  if (indices.ranked()) {
    if (!can_agree(count, indices[0])) fail("expected as many batch_indices as rois (", count, "), got ", indices[0]);
    count = merge(count, indices[0]);
  }
  ctx.output(0, common_type(ctx, {0, 1}), Shape{count, data.ranked() ? data[1] : Dim(), a.pooled_h, a.pooled_w});
}

Region plain_region(const RoiAlignFields& a, const float* roi) {
  float before = a.aligned_mode == RoiAlignFields::half_pixel ? 0.5f : 0.0f,
        after = a.aligned_mode == RoiAlignFields::asymmetric ? 0.0f : -0.5f;
  auto scaled = [&](size_t i) { return (roi[i] + before) * a.spatial_scale + after; };
  Region r{scaled(0), scaled(1), scaled(2) - scaled(0), scaled(3) - scaled(1)};
  if (a.aligned_mode == RoiAlignFields::asymmetric)
    r.width = std::max(r.width, 1.0f), r.height = std::max(r.height, 1.0f);
  return r;
}
Region rotated_region(const RoiAlignFields& a, const float* roi) {
  float width = roi[2] * a.spatial_scale, height = roi[3] * a.spatial_scale,
        angle = a.clockwise_mode ? -roi[4] : roi[4];
  return {-width / 2,
          -height / 2,
          width,
          height,
          std::cos(angle),
          std::sin(angle),
          roi[0] * a.spatial_scale - 0.5f,
          roi[1] * a.spatial_scale - 0.5f};
}

void roi_align_any(Run& ctx, const RoiAlignFields& a, Region (*region)(const RoiAlignFields&, const float*)) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  std::vector<float> data = x.to<float>(), rois = ctx.input(1).to<float>(), out(static_cast<size_t>(y.size()));
  std::vector<int64_t> indices = ctx.input(2).to<int64_t>();
  size_t per_image = static_cast<size_t>(x.dim(1) * x.dim(2) * x.dim(3)),
         size = static_cast<size_t>(ctx.input(1).dim(1)),
         per_region = static_cast<size_t>(y.dim(1) * y.dim(2) * y.dim(3));
  for (size_t i = 0; i < indices.size() && per_region; ++i) {
    if (indices[i] == -1) break;  // end of a list of proposals
    if (indices[i] < 0 || indices[i] >= x.dim(0))
      fail("expected batch_indices of 0 to ", x.dim(0) - 1, ", got ", indices[i]);
    FeatureMap map{data.data() + static_cast<size_t>(indices[i]) * per_image, x.dim(1), x.dim(2), x.dim(3)};
    pool_region(map, region(a, &rois[i * size]), a.pooled_h, a.pooled_w, a.sampling_ratio, a.mode,
                &out[i * per_region]);
  }
  y.assign(out);
}
template <class A>
void roi_align_run(Run& ctx, const A& a) {
  roi_align_any(ctx, a, plain_region);
}
void roi_align_corner_run(Run& ctx, const RoiAlignCorner& a) {
  RoiAlignFields fields = a;
  fields.mode = RegionPool::largest_corner;
  roi_align_any(ctx, fields, plain_region);
}
void roi_align_rotated_run(Run& ctx, const RoiAlignRotated& a) { roi_align_any(ctx, a, rotated_region); }

// ---- import ----

// Before opset 16, pixel centers were at integer coordinates.
Value import_roi_align(Builder& layer) {
  std::string where = layer.get<std::string>("coordinate_transformation_mode",
                                             layer.version() < 16 ? "output_half_pixel" : "half_pixel");
  if (where != "half_pixel" && where != "output_half_pixel")
    fail("expected coordinate_transformation_mode half_pixel or output_half_pixel, got '", where, "'");
  std::string mode = layer.get<std::string>("mode", "avg");
  if (mode != "avg" && mode != "max") fail("expected mode avg or max, got '", mode, "'");
  std::vector<NamedAttr> attrs{{"pooled_h", layer.get<int64_t>("output_height", 1)},
                               {"pooled_w", layer.get<int64_t>("output_width", 1)},
                               {"sampling_ratio", layer.get<int64_t>("sampling_ratio", 0)},
                               {"spatial_scale", layer.get<float>("spatial_scale", 1)},
                               {"aligned_mode", where == "half_pixel" ? "half_pixel_for_nn" : "asymmetric"}};
  return layer.op(mode == "max" ? "ROIAlignCorner@graft" : "ROIAlign@9",
                  {layer.input(0), layer.input(1), layer.input(2)}, attrs);
}

// Batch index and region in one row.
Value import_roi_align_rotated(Builder& layer) {
  if (!layer.get<bool>("aligned", true)) unsupported("only aligned = 1 is supported, got 0");
  Value rois = layer.input(1);
  auto part = [&](int64_t from, int64_t to) {
    return layer.op("Slice", {rois, layer.ints({from}), layer.ints({to}), layer.ints({1}), layer.ints({1})});
  };
  return layer.op("ROIAlignRotated@15", {layer.input(0), part(1, 6), convert(reshape(part(0, 1), {-1}), DType::i32)},
                  {{"pooled_h", layer.get<int64_t>("output_height", 1)},
                   {"pooled_w", layer.get<int64_t>("output_width", 1)},
                   {"sampling_ratio", layer.get<int64_t>("sampling_ratio", 1)},
                   {"spatial_scale", layer.get<float>("spatial_scale", 1)},
                   {"clockwise_mode", layer.get<bool>("clockwise", false)}});
}

}  // namespace

Definitions define_roi_align() {
  constexpr std::string_view doc = "Sample regions of a feature map to a fixed size with bilinear interpolation";
  return {
      op<RoiAlign3>("ROIAlign", 3)
          .doc(doc)
          .inputs("data, rois, batch_indices")
          .infer(roi_align_infer<RoiAlign3, 4>)
          .reference(roi_align_run<RoiAlign3>),
      op<RoiAlign9>("ROIAlign", 9)
          .doc(doc)
          .inputs("data, rois, batch_indices")
          .infer(roi_align_infer<RoiAlign9, 4>)
          .reference(roi_align_run<RoiAlign9>)
          .import(onnx("RoiAlign").expand(import_roi_align))
          .earlier(3, {{"aligned_mode", "asymmetric"}}),
      op<RoiAlignCorner>("ROIAlignCorner", "graft")
          .doc("ROIAlign with the ONNX max mode: the largest weighted pixel around the samples of a bin")
          .inputs("data, rois, batch_indices")
          .infer(roi_align_infer<RoiAlignCorner, 4>)
          .reference(roi_align_corner_run),
      op<RoiAlignRotated>("ROIAlignRotated", 15)
          .doc("Sample rotated regions [x,y,width,height,angle] of a feature map to a fixed size")
          .inputs("data, rois, batch_indices")
          .infer(roi_align_infer<RoiAlignRotated, 5>)
          .reference(roi_align_rotated_run)
          .import(onnx("MMCVRoIAlignRotated").domain("mmdeploy").expand(import_roi_align_rotated)),
  };
}

}  // namespace graft
