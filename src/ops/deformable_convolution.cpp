#include <graft/op.hpp>

#include "convolution.hpp"

namespace graft {
namespace {

struct DeformableAttributes : WindowAttributes {
  int64_t group = 1, deformable_group = 1;
  bool bilinear_interpolation_pad = false;
};
constexpr auto deformable_groups_attr =
    attr("deformable_group", &DeformableAttributes::deformable_group, "number of channel groups with separate offsets")
        .between(1, window_limit);
constexpr auto deformable_group_attr =
    attr("group", &DeformableAttributes::group, "number of channel groups with separate weights")
        .between(1, window_limit);

struct DeformableConvolution1 : DeformableAttributes {
  static constexpr std::tuple schema{strides_attr,  dilations_attr,        pads_begin_attr,       pads_end_attr,
                                     auto_pad_attr, deformable_group_attr, deformable_groups_attr};
};
struct DeformableConvolution8 : DeformableAttributes {
  static constexpr std::tuple schema{
      attr("bilinear_interpolation_pad", &DeformableAttributes::bilinear_interpolation_pad,
           "pad with zeros when interpolating at positions up to one element outside the image, instead of clamping to "
           "its border"),
      strides_attr,
      dilations_attr,
      pads_begin_attr,
      pads_end_attr,
      auto_pad_attr,
      deformable_group_attr,
      deformable_groups_attr};
};

Shape deformable_rank4(Infer& ctx, size_t input, std::string_view what) {
  Shape s = ctx.shape(input);
  if (!s.ranked()) return Shape::of_rank(4);
  if (s.rank() != 4) fail("expected ", what, " of rank 4, got shape ", s);
  return s;
}

void deformable_shape(Infer& ctx, const DeformableAttributes& attributes) {
  Shape data = deformable_rank4(ctx, 0, "data"), offsets = deformable_rank4(ctx, 1, "offsets"),
        weights = deformable_rank4(ctx, 2, "weights");
  DeformableAttributes a = complete_windows(attributes, 2);
  auto divides = [](const Dim& d, int64_t by, std::string_view what) {
    if (d.known() && d.value() % by != 0) fail("expected a number of ", what, " divisible by ", by, ", got ", d);
  };
  divides(data[1], a.group, "channels");
  divides(data[1], a.deformable_group, "channels");
  divides(weights[0], a.group, "output channels");
  check_channels(data[1], weights[1] * Dim(a.group));
  Dim taps = weights[2] * weights[3] * Dim(a.deformable_group);
  agree(offsets[1], taps * Dim(2), "channels in the offsets", "(two per kernel tap)");
  Shape out{agree(offsets[0], data[0], "images in the offsets", "to match the data"), weights[0]};
  for (size_t i = 0; i < 2; ++i)
    out.push_back(agree(offsets[i + 2], window_positions(data[i + 2], weights[i + 2], a, i, Rounding::floor),
                        "positions along a spatial axis of the offsets", "to match the output"));
  if (ctx.has_input(3)) {
    Shape mask = deformable_rank4(ctx, 3, "mask");
    merge(mask, Shape{out[0], taps, out[2], out[3]});
  }
  ctx.output(0, common_type(ctx), out);
}
void deformable_infer1(Infer& ctx, const DeformableConvolution1& a) { deformable_shape(ctx, a); }
void deformable_infer8(Infer& ctx, const DeformableConvolution8& a) { deformable_shape(ctx, a); }

// Bilinear interpolation of a plane.
struct DeformableSampler {
  const double* plane;
  int64_t height, width;
  bool zeros_outside;

  double element(int64_t y, int64_t x) const {
    return y >= 0 && y < height && x >= 0 && x < width ? plane[y * width + x] : 0;
  }
  double operator()(double y, double x) const {
    double border = zeros_outside ? -1 : 0;
    bool near = y >= border && x >= border && y < static_cast<double>(height) && x < static_cast<double>(width);
    if (!near) return 0;
    auto y0 = static_cast<int64_t>(std::floor(y)), x0 = static_cast<int64_t>(std::floor(x));
    int64_t y1 = y0 + 1, x1 = x0 + 1;
    if (!zeros_outside) y1 = std::min(y1, height - 1), x1 = std::min(x1, width - 1);
    double v = y - static_cast<double>(y0), u = x - static_cast<double>(x0);
    return (1 - v) * ((1 - u) * element(y0, x0) + u * element(y0, x1)) +
           v * ((1 - u) * element(y1, x0) + u * element(y1, x1));
  }
};

void deformable_any(Run& ctx, const DeformableAttributes& a) {
  TensorView x = ctx.input(0), w = ctx.input(2);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  WindowAxes axes = window_axes(x.dims().subspan(2), y.dims().subspan(2), w.dims().subspan(2), a);
  const WindowAxis &rows = axes[1], &columns = axes[2];
  std::vector<double> data = x.to<double>(), offsets = ctx.input(1).to<double>(), weights = w.to<double>(), mask;
  if (ctx.has_input(3)) mask = ctx.input(3).to<double>();
  std::vector<double> out(static_cast<size_t>(y.size()));
  int64_t channels = x.dim(1), outputs = y.dim(1), plane = output_plane(axes), taps = rows.kernel * columns.kernel;
  int64_t group_inputs = channels / a.group, group_outputs = outputs / a.group;
  std::vector<double> seen(static_cast<size_t>(plane));
  for (int64_t n = 0; n < x.dim(0); ++n)
    for (int64_t c = 0; c < channels; ++c) {
      DeformableSampler sample{data.data() + (n * channels + c) * rows.input * columns.input, rows.input, columns.input,
                               a.bilinear_interpolation_pad};
      int64_t part = n * a.deformable_group + c / (channels / a.deformable_group), g = c / group_inputs;
      for (int64_t tap = 0; tap < taps; ++tap) {
        const double* dy = offsets.data() + (part * taps + tap) * 2 * plane;
        const double* dx = dy + plane;
        int64_t y0 = rows.offset(tap / columns.kernel), x0 = columns.offset(tap % columns.kernel);
        for (int64_t k = 0; k < plane; ++k) {
          auto at_y = static_cast<double>(k / columns.output * rows.stride + y0);
          auto at_x = static_cast<double>(k % columns.output * columns.stride + x0);
          double scale = mask.empty() ? 1 : mask[static_cast<size_t>((part * taps + tap) * plane + k)];
          seen[static_cast<size_t>(k)] = sample(at_y + dy[k], at_x + dx[k]) * scale;
        }
        for (int64_t o = g * group_outputs; o < (g + 1) * group_outputs; ++o) {
          double weight = weights[static_cast<size_t>((o * group_inputs + c % group_inputs) * taps + tap)];
          double* target = out.data() + (n * outputs + o) * plane;
          for (int64_t k = 0; k < plane; ++k) target[k] += weight * seen[static_cast<size_t>(k)];
        }
      }
    }
  y.assign(out);
}
void deformable_run1(Run& ctx, const DeformableConvolution1& a) { deformable_any(ctx, a); }
void deformable_run8(Run& ctx, const DeformableConvolution8& a) { deformable_any(ctx, a); }

void deformable_as_1(Rewrite& at) {
  if (!at.has_input(3) && at.node().has({"bilinear_interpolation_pad", false}))
    at.restate("DeformableConvolution@1", {at.input(0), at.input(1), at.input(2)}, {"bilinear_interpolation_pad"});
}

}  // namespace

Definitions define_deformable_convolution() {
  return {
      op<DeformableConvolution1>("DeformableConvolution", 1)
          .doc("Convolution whose taps are displaced by offsets [N, 2 * taps, ...] and sampled bilinearly")
          .inputs("data, offsets, weights")
          .infer(deformable_infer1)
          .reference(deformable_run1),
      op<DeformableConvolution8>("DeformableConvolution", 8)
          .doc("Convolution whose taps are displaced by offsets [N, 2 * taps, ...] and scaled by an optional mask")
          .inputs("data, offsets, weights, mask?")
          .infer(deformable_infer8)
          .reference(deformable_run8)
          .earlier(deformable_as_1),
  };
}

}  // namespace graft
