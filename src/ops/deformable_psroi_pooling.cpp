#include <graft/op.hpp>

namespace graft {
namespace {

struct DeformablePsRoiPooling {
  int64_t output_dim = 0, group_size = 1, spatial_bins_x = 1, spatial_bins_y = 1, part_size = 1;
  float spatial_scale = 0, trans_std = 1;
  std::string mode = "bilinear_deformable";
  using Self = DeformablePsRoiPooling;
  static constexpr double most = 65536;
  static constexpr std::tuple schema{
      attr("output_dim", &Self::output_dim, "number of output channels").required().between(1, most* most),
      attr("spatial_scale", &Self::spatial_scale, "factor from ROI coordinates to elements of the data").required(),
      attr("group_size", &Self::group_size, "number of bins along each side of an ROI").between(1, most),
      attr("mode", &Self::mode, "sampling method within a bin").one_of("bilinear_deformable"),
      attr("spatial_bins_x", &Self::spatial_bins_x, "number of samples along the width of a bin").between(1, most),
      attr("spatial_bins_y", &Self::spatial_bins_y, "number of samples along the height of a bin").between(1, most),
      attr("trans_std", &Self::trans_std, "scale of the offsets"),
      attr("part_size", &Self::part_size, "number of parts along each side of an ROI that have separate offsets")
          .between(1, most)};
};

void deformable_psroi_infer(Infer& ctx, const DeformablePsRoiPooling& a) {
  Shape data = ctx.shape(0), regions = ctx.shape(1);
  if (data.ranked() && data.rank() != 4) fail("expected data of shape [N, C, H, W], got ", data);
  if (regions.ranked() && (regions.rank() != 2 || !regions[1].can_be(5)))
    fail("expected ROIs of shape [num_rois, 5], got ", regions);
  Dim bins = Dim(a.output_dim) * Dim(a.group_size) * Dim(a.group_size);
  if (data.ranked() && data[1].max() < bins.min()) fail("expected ", bins, " channels in the data, got ", data[1]);
  Dim count = regions.ranked() ? regions[0] : Dim();
  if (ctx.has_input(2)) {
    Shape offsets = ctx.shape(2);
    Shape wanted{count, Dim(), a.part_size, a.part_size};
    merge(offsets, wanted);
    // Each class, a run of consecutive output channels, has its own pair of offsets.
    if (offsets.ranked() && offsets[1].known()) {
      int64_t classes = offsets[1].value() / 2;
      if (classes < 1 || classes > a.output_dim || a.output_dim % classes != 0)
        fail("offsets of shape ", offsets, " do not match output_dim ", a.output_dim);
    }
  }
  ctx.output(0, ctx.type(0), Shape{count, a.output_dim, a.group_size, a.group_size});
}

void deformable_psroi_run(Run& ctx, const DeformablePsRoiPooling& a) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  std::vector<double> data = x.to<double>(), regions = ctx.input(1).to<double>(), offsets;
  if (ctx.has_input(2)) offsets = ctx.input(2).to<double>();
  std::vector<double> out(static_cast<size_t>(y.size()), 0);
  int64_t height = x.dim(2), width = x.dim(3), size = a.group_size, part = a.part_size;
  int64_t classes = ctx.has_input(2) ? ctx.input(2).dim(1) / 2 : 1, class_channels = a.output_dim / classes;
  auto h = static_cast<double>(height), w = static_cast<double>(width), bins = static_cast<double>(size);

  for (int64_t r = 0; r < y.dim(0) && height > 0 && width > 0; ++r) {
    const double* region = regions.data() + r * 5;
    if (!(region[0] >= 0)) continue;
    if (region[0] >= static_cast<double>(x.dim(0)))
      fail("expected an ROI with an image index below ", x.dim(0), ", got ", region[0]);
    auto image = static_cast<int64_t>(region[0]);
    double scale = a.spatial_scale;
    double left = std::round(region[1]) * scale - 0.5, top = std::round(region[2]) * scale - 0.5;
    double region_w = std::max((std::round(region[3]) + 1) * scale - 0.5 - left, 0.1);
    double region_h = std::max((std::round(region[4]) + 1) * scale - 0.5 - top, 0.1);
    for (int64_t o = 0; o < a.output_dim * size * size; ++o) {
      int64_t bin_x = o % size, bin_y = o / size % size, channel = o / (size * size);
      double x0 = left + static_cast<double>(bin_x) * region_w / bins;
      double y0 = top + static_cast<double>(bin_y) * region_h / bins;
      if (!offsets.empty()) {
        int64_t at = (r * classes + channel / class_channels) * 2;
        int64_t cell = bin_y * part / size * part + bin_x * part / size;
        x0 += offsets[static_cast<size_t>(at * part * part + cell)] * a.trans_std * region_w;
        y0 += offsets[static_cast<size_t>((at + 1) * part * part + cell)] * a.trans_std * region_h;
      }
      // Position-sensitive: bin n samples channel n.
      const double* plane = data.data() + (image * x.dim(1) + o) * height * width;
      double sum = 0;
      int64_t seen = 0;
      for (int64_t sy = 0; sy < a.spatial_bins_y; ++sy)
        for (int64_t sx = 0; sx < a.spatial_bins_x; ++sx) {
          double py = y0 + static_cast<double>(sy) * region_h / bins / static_cast<double>(a.spatial_bins_y);
          double px = x0 + static_cast<double>(sx) * region_w / bins / static_cast<double>(a.spatial_bins_x);
          if (!(py >= -0.5 && py <= h - 0.5 && px >= -0.5 && px <= w - 0.5)) continue;
          py = std::min(std::max(py, 0.0), h - 1), px = std::min(std::max(px, 0.0), w - 1);
          auto ty = static_cast<int64_t>(py), tx = static_cast<int64_t>(px);
          int64_t by = std::min(ty + 1, height - 1), bx = std::min(tx + 1, width - 1);
          double v = py - static_cast<double>(ty), u = px - static_cast<double>(tx);
          sum += (1 - v) * ((1 - u) * plane[ty * width + tx] + u * plane[ty * width + bx]) +
                 v * ((1 - u) * plane[by * width + tx] + u * plane[by * width + bx]);
          ++seen;
        }
      if (seen) out[static_cast<size_t>(r * a.output_dim * size * size + o)] = sum / static_cast<double>(seen);
    }
  }
  y.assign(out);
}

}  // namespace

Definitions define_deformable_psroi_pooling() {
  return op<DeformablePsRoiPooling>("DeformablePSROIPooling", 1)
      .doc("Average pooling over the bins of ROIs [image, x0, y0, x1, y1], each bin displaced by an offset")
      .inputs("data, regions, offsets?")
      .infer(deformable_psroi_infer)
      .reference(deformable_psroi_run);
}

}  // namespace graft
