// ROIPooling (Girshick, 1504.08083) and PSROIPooling (Dai et al., 1605.06409). A region with image index -1 ends the
// list, as Proposal marks it; the results from there on are 0.
#include <graft/op.hpp>

#include "detection.hpp"

namespace graft {
namespace {

enum class RoiMethod { max, bilinear };
struct RoiPooling {
  // Four spellings of the output size: the last one given wins.
  std::optional<std::vector<int64_t>> output_size, output_roi;
  std::optional<int64_t> pooled_h, pooled_w;
  float spatial_scale = 0;
  RoiMethod method = RoiMethod::max;
  static constexpr std::tuple schema{
      attr("output_size", &RoiPooling::output_size, "height and width of the result").at_least(0),
      attr("output_roi", &RoiPooling::output_roi, "height and width of the result (alias)").at_least(0),
      attr("pooled_h", &RoiPooling::pooled_h, "height of the result").at_least(1),
      attr("pooled_w", &RoiPooling::pooled_w, "width of the result").at_least(1),
      attr("spatial_scale", &RoiPooling::spatial_scale, "factor from ROI coordinates to feature map coordinates")
          .required(),
      attr("method", &RoiPooling::method,
           "max: maximum per bin; bilinear: interpolation at bin centers, for normalized regions")
          .one_of("max", "bilinear")};

  std::pair<int64_t, int64_t> size() const {
    for (const auto& list : {output_size, output_roi})
      if (list && !list->empty() && list->size() != 2) fail("expected 2 values in the output size, got ", list->size());
    auto named = [&](size_t i) {
      for (const auto& list : {output_roi, output_size})
        if (list && !list->empty()) return (*list)[i];
      return int64_t{0};
    };
    int64_t rows = pooled_h.value_or(named(0)), columns = pooled_w.value_or(named(1));
    if (rows < 1 || columns < 1) fail("expected a positive output size, got ", rows, " x ", columns);
    return {rows, columns};
  }
};

struct PsRoiPooling {
  int64_t output_dim = 0, group_size = 1;
  float spatial_scale = 1;
  enum Mode { average, bilinear } mode = average;
  int64_t spatial_bins_x = 1, spatial_bins_y = 1;
  static constexpr std::tuple schema{
      attr("output_dim", &PsRoiPooling::output_dim, "number of output channels").required().at_least(0),
      attr("group_size", &PsRoiPooling::group_size, "height and width of the result").at_least(1).at_most(1 << 20),
      attr("spatial_scale", &PsRoiPooling::spatial_scale, "factor from ROI coordinates to feature map coordinates")
          .required(),
      attr("mode", &PsRoiPooling::mode,
           "average: mean of a bin; bilinear: mean of the interpolated centers of its parts")
          .one_of("average", "bilinear"),
      attr("spatial_bins_x", &PsRoiPooling::spatial_bins_x, "number of parts of a bin along its width")
          .between(1, 1 << 20),
      attr("spatial_bins_y", &PsRoiPooling::spatial_bins_y, "number of parts of a bin along its height")
          .between(1, 1 << 20)};
};

// The number of regions, and the channels of the feature map.
std::pair<Dim, Dim> roi_pooling_inputs(Infer& ctx, float scale) {
  if (!(scale > 0)) fail("expected a positive spatial_scale, got ", scale);
  Shape data = ctx.shape(0), rois = ctx.shape(1);
  if (data.ranked() && data.rank() != 4) fail("expected feature maps of rank 4, got shape ", data);
  if (rois.ranked() && (rois.rank() != 2 || !rois[1].can_be(5)))
    fail("expected rois of shape [num_rois,5], got ", rois);
  return {rois.ranked() ? rois[0] : Dim(), data.ranked() ? data[1] : Dim()};
}
void roi_pooling_infer(Infer& ctx, const RoiPooling& a) {
  auto [rows, columns] = a.size();
  auto [count, channels] = roi_pooling_inputs(ctx, a.spatial_scale);
  ctx.output(0, common_type(ctx), Shape{count, channels, rows, columns});
}
void psroi_pooling_infer(Infer& ctx, const PsRoiPooling& a) {
  auto [count, channels] = roi_pooling_inputs(ctx, a.spatial_scale);
  Dim parts = a.mode == PsRoiPooling::average ? Dim(a.group_size) * Dim(a.group_size)
                                              : Dim(a.spatial_bins_x) * Dim(a.spatial_bins_y);
  Dim wanted = parts * Dim(a.output_dim);
  if (!can_agree(channels, wanted)) fail("expected ", wanted, " channels in the feature maps, got ", channels);
  ctx.output(0, ctx.type(0), Shape{count, a.output_dim, a.group_size, a.group_size});
}

// ---- values ----

struct RoiPlane {
  const float* data;
  int64_t height, width;
  float at(int64_t row, int64_t column) const { return data[row * width + column]; }
  // Bilinear interpolation; the point must lie inside the plane.
  float between(float x, float y) const {
    auto left = static_cast<int64_t>(std::floor(x)), top = static_cast<int64_t>(std::floor(y));
    int64_t right = std::min(static_cast<int64_t>(std::ceil(x)), width - 1),
            bottom = std::min(static_cast<int64_t>(std::ceil(y)), height - 1);
    float along = x - static_cast<float>(left), down = y - static_cast<float>(top);
    float above = at(top, left) + (at(top, right) - at(top, left)) * along;
    float below = at(bottom, left) + (at(bottom, right) - at(bottom, left)) * along;
    return above + (below - above) * down;
  }
};

// f(roi, first plane of its image, output values)
template <class F>
void for_each_roi(Run& ctx, F f) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  std::vector<float> data = x.to<float>(), rois = ctx.input(1).to<float>(), out(static_cast<size_t>(y.size()));
  size_t per_image = static_cast<size_t>(x.dim(1) * x.dim(2) * x.dim(3)),
         per_roi = static_cast<size_t>(y.dim(1) * y.dim(2) * y.dim(3));
  for (size_t i = 0; i < static_cast<size_t>(y.dim(0)) && per_roi; ++i) {
    const float* roi = &rois[i * 5];
    if (roi[0] == -1) break;
    if (!(roi[0] >= 0 && roi[0] < static_cast<float>(x.dim(0))))
      fail("expected an image index below the number of images, got ", roi[0]);
    if (per_image) f(roi, data.data() + static_cast<size_t>(roi[0]) * per_image, &out[i * per_roi]);
  }
  y.assign(out);
}

// Converts a coordinate to a pixel index, clamped to where further arithmetic cannot overflow. Distances within a
// region may be twice as large.
int64_t roi_pixel(float v, float far = 0x1p30f) {
  return std::isnan(v) ? 0 : static_cast<int64_t>(std::min(std::max(v, -far), far));
}
int64_t roi_distance(float v) { return roi_pixel(v, 0x1p32f); }

void roi_pooling_max(const RoiPlane& plane, const float* roi, float scale, int64_t rows, int64_t columns, float* out) {
  int64_t left = roi_pixel(std::round(roi[1] * scale)), top = roi_pixel(std::round(roi[2] * scale)),
          right = roi_pixel(std::round(roi[3] * scale)), bottom = roi_pixel(std::round(roi[4] * scale));
  float bin_height = static_cast<float>(std::max<int64_t>(bottom - top + 1, 1)) / static_cast<float>(rows),
        bin_width = static_cast<float>(std::max<int64_t>(right - left + 1, 1)) / static_cast<float>(columns);
  auto on = [](int64_t v, int64_t size) { return std::min(std::max<int64_t>(v, 0), size); };
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      int64_t y1 = on(top + roi_distance(std::floor(static_cast<float>(r) * bin_height)), plane.height),
              x1 = on(left + roi_distance(std::floor(static_cast<float>(c) * bin_width)), plane.width),
              y2 = on(top + roi_distance(std::ceil(static_cast<float>(r + 1) * bin_height)), plane.height),
              x2 = on(left + roi_distance(std::ceil(static_cast<float>(c + 1) * bin_width)), plane.width);
      float most = y2 <= y1 || x2 <= x1 ? 0 : plane.at(y1, x1);
      for (int64_t y = y1; y < y2; ++y)
        for (int64_t x = x1; x < x2; ++x) most = std::max(most, plane.at(y, x));
      *out++ = most;
    }
}

// Sampling position `i` of `bins` between start and end, given as fractions of an axis of `size` pixels.
float roi_point(int64_t i, int64_t bins, float start, float end, int64_t size) {
  auto last = static_cast<float>(size - 1);
  if (bins == 1) return 0.5f * (start + end) * last;
  // Computed separately, since rounding could lead just past the end.
  if (i == bins - 1) return last * end;
  return static_cast<float>(i) * ((end - start) * last / static_cast<float>(bins - 1)) + start * last;
}
void roi_pooling_bilinear(const RoiPlane& plane, const float* roi, int64_t rows, int64_t columns, float* out) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      float x = roi_point(c, columns, roi[1], roi[3], plane.width),
            y = roi_point(r, rows, roi[2], roi[4], plane.height);
      bool on =
          x >= 0 && y >= 0 && x <= static_cast<float>(plane.width - 1) && y <= static_cast<float>(plane.height - 1);
      *out++ = on ? plane.between(x, y) : 0;
    }
}

void roi_pooling_run(Run& ctx, const RoiPooling& a) {
  TensorView x = ctx.input(0);
  auto [rows, columns] = a.size();
  for_each_roi(ctx, [&, rows = rows, columns = columns](const float* roi, const float* image, float* out) {
    for (int64_t c = 0; c < x.dim(1); ++c) {
      RoiPlane plane{image + c * x.dim(2) * x.dim(3), x.dim(2), x.dim(3)};
      float* to = out + c * rows * columns;
      if (a.method == RoiMethod::max) roi_pooling_max(plane, roi, a.spatial_scale, rows, columns, to);
      else roi_pooling_bilinear(plane, roi, rows, columns, to);
    }
  });
}

// The mean of one bin, which has its own channel.
float psroi_average(const RoiPlane& plane, const PsRoiPooling& a, const float* roi, int64_t row, int64_t column) {
  float x = std::round(roi[1]) * a.spatial_scale, y = std::round(roi[2]) * a.spatial_scale,
        width = std::max((std::round(roi[3]) + 1) * a.spatial_scale - x, 0.1f),
        height = std::max((std::round(roi[4]) + 1) * a.spatial_scale - y, 0.1f);
  auto group = static_cast<float>(a.group_size);
  auto edge = [](float v, int64_t size) { return std::min(std::max<int64_t>(roi_pixel(v), 0), size); };
  auto at = [](int64_t i, float start, float size) { return static_cast<float>(i) * size + start; };
  int64_t x1 = edge(std::floor(at(column, x, width / group)), plane.width),
          y1 = edge(std::floor(at(row, y, height / group)), plane.height),
          x2 = edge(std::ceil(at(column + 1, x, width / group)), plane.width),
          y2 = edge(std::ceil(at(row + 1, y, height / group)), plane.height);
  if (x2 <= x1 || y2 <= y1) return 0;
  double sum = 0;
  for (int64_t r = y1; r < y2; ++r)
    for (int64_t c = x1; c < x2; ++c) sum += static_cast<double>(plane.at(r, c));
  return static_cast<float>(sum / static_cast<double>((x2 - x1) * (y2 - y1)));
}

void psroi_pooling_run(Run& ctx, const PsRoiPooling& a) {
  TensorView x = ctx.input(0);
  for_each_roi(ctx, [&](const float* roi, const float* image, float* out) {
    auto plane = [&](int64_t c) { return RoiPlane{image + c * x.dim(2) * x.dim(3), x.dim(2), x.dim(3)}; };
    float left = roi[1] * a.spatial_scale, top = roi[2] * a.spatial_scale,
          part_width = (roi[3] * a.spatial_scale - left) / static_cast<float>(a.spatial_bins_x),
          part_height = (roi[4] * a.spatial_scale - top) / static_cast<float>(a.spatial_bins_y);
    for (int64_t channel = 0; channel < a.output_dim; ++channel)
      for (int64_t row = 0; row < a.group_size; ++row)
        for (int64_t column = 0; column < a.group_size; ++column, ++out) {
          if (a.mode == PsRoiPooling::average) {
            *out = psroi_average(plane((channel * a.group_size + row) * a.group_size + column), a, roi, row, column);
            continue;
          }
          double sum = 0;
          for (int64_t v = 0; v < a.spatial_bins_y; ++v)
            for (int64_t u = 0; u < a.spatial_bins_x; ++u) {
              RoiPlane p = plane((v * a.spatial_bins_x + u) * a.output_dim + channel);
              float x1 = left + static_cast<float>(u) * part_width, y1 = top + static_cast<float>(v) * part_height;
              float px = roi_point(column, a.group_size, x1, x1 + part_width, p.width),
                    py = roi_point(row, a.group_size, y1, y1 + part_height, p.height);
              bool on =
                  px >= 0 && py >= 0 && px <= static_cast<float>(p.width - 1) && py <= static_cast<float>(p.height - 1);
              if (on) sum += static_cast<double>(p.between(px, py));
            }
          *out = static_cast<float>(sum / static_cast<double>(a.spatial_bins_x * a.spatial_bins_y));
        }
  });
}

Value import_max_roi_pool(Builder& layer) {
  auto size = layer.get<std::vector<int64_t>>("pooled_shape");
  if (size.size() != 2) fail("expected 2 values in 'pooled_shape', got ", size.size());
  return layer.op("ROIPooling", {layer.input(0), layer.input(1)},
                  {{"output_size", size},
                   {"output_roi", size},
                   {"pooled_h", size[0]},
                   {"pooled_w", size[1]},
                   {"spatial_scale", layer.get<float>("spatial_scale", 1)},
                   {"method", "max"}});
}

}  // namespace

Definitions define_roi_pooling() {
  return {
      op<RoiPooling>("ROIPooling", 2)
          .doc("Pool regions [image,x1,y1,x2,y2] of feature maps to a fixed size")
          .inputs("feature_maps, rois")
          .infer(roi_pooling_infer)
          .reference(roi_pooling_run)
          .import(onnx("MaxRoiPool").expand(import_max_roi_pool)),
      op<PsRoiPooling>("PSROIPooling", 1)
          .doc("Position-sensitive pooling of regions [image,x1,y1,x2,y2]: each bin has its own channels")
          .inputs("feature_maps, rois")
          .infer(psroi_pooling_infer)
          .reference(psroi_pooling_run),
  };
}

}  // namespace graft
