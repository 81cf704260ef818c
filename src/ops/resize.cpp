// Resize with ONNX semantics, for what Interpolate does not cover: cropping regions, anti-aliasing, exclude_outside,
// keep_aspect_ratio_policy.
#include <graft/kit/known.hpp>
#include <graft/op.hpp>

#include "resample.hpp"

namespace graft {
namespace {

struct Resize {
  bool antialias = false;
  std::vector<int64_t> axes;
  enum Coordinates {
    half_pixel,
    half_pixel_symmetric,
    pytorch_half_pixel,
    align_corners,
    asymmetric,
    tf_half_pixel_for_nn,
    tf_crop_and_resize
  } coordinate_transformation_mode = half_pixel;
  float cubic_coeff_a = -0.75f;
  bool exclude_outside = false;
  float extrapolation_value = 0;
  enum Policy { stretch, not_larger, not_smaller } keep_aspect_ratio_policy = stretch;
  enum Mode { nearest, linear, cubic } mode = nearest;
  enum Nearest { round_prefer_floor, round_prefer_ceil, floor, ceil, simple } nearest_mode = round_prefer_floor;
  using Self = Resize;
  static constexpr std::tuple schema{
      attr("antialias", &Self::antialias, "apply an anti-aliasing filter when downsampling"),
      attr("axes", &Self::axes, "axes that scales, sizes and roi refer to; empty: all"),
      attr("coordinate_transformation_mode", &Self::coordinate_transformation_mode,
           "mapping from output to input coordinates")
          .one_of("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                  "tf_half_pixel_for_nn", "tf_crop_and_resize"),
      attr("cubic_coeff_a", &Self::cubic_coeff_a, "coefficient of cubic interpolation"),
      attr("exclude_outside", &Self::exclude_outside, "set weights outside the input to 0 and renormalize the others"),
      attr("extrapolation_value", &Self::extrapolation_value, "value outside the input, for tf_crop_and_resize"),
      attr("keep_aspect_ratio_policy", &Self::keep_aspect_ratio_policy, "how sizes treat the aspect ratio")
          .one_of("stretch", "not_larger", "not_smaller"),
      attr("mode", &Self::mode, "interpolation method").one_of("nearest", "linear", "cubic"),
      attr("nearest_mode", &Self::nearest_mode,
           "rounding of input coordinates, for mode 'nearest'; simple: ceil when downsampling")
          .one_of("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple")};
};

std::vector<size_t> resize_axes(const Resize& a, size_t rank) {
  std::vector<size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), size_t{0});
  return a.axes.empty() ? axes : normalize_axes(a.axes, rank);
}

// The common scale of all axes: the smallest or largest that the sizes require.
double resize_common_scale(const Resize& a, const std::vector<int64_t>& sizes, const std::vector<int64_t>& lengths) {
  double scale = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    double s = static_cast<double>(sizes[i]) / static_cast<double>(lengths[i]);
    if (i == 0 || (a.keep_aspect_ratio_policy == Resize::not_larger ? s < scale : s > scale)) scale = s;
  }
  return scale;
}
int64_t resize_whole(double size) {
  if (!(size >= 0 && size < 0x1p62)) fail("expected non-negative sizes, got ", size);
  return static_cast<int64_t>(size);
}

void resize_infer(Infer& ctx, const Resize& a) {
  Shape data = ctx.shape(0), out = data;
  if (!data.ranked()) return ctx.output(0, ctx.type(0), data);
  std::vector<size_t> axes = resize_axes(a, data.rank());
  if (ctx.has_input(2) == ctx.has_input(3)) fail("expected either scales or sizes");
  auto scales = ctx.has_input(2) ? ctx.values<float>(2) : std::nullopt;
  auto sizes = ctx.has_input(3) ? target_sizes(ctx, 3, axes.size()) : std::nullopt;
  if (scales && scales->size() != axes.size())
    fail("expected ", axes.size(), " scales, one per axis, got ", scales->size());
  for (size_t i = 0; i < axes.size(); ++i) {
    Dim& d = out[axes[i]];
    if (sizes) d = (*sizes)[i];
    else if (!scales || !d.known()) d = Dim();
    else d = resize_whole(static_cast<float>(d.value()) * (*scales)[i]);
    if (data[axes[i]].max() == 0 && d.min() > 0) fail("cannot resize axis ", axes[i], " from 0 to ", d, " elements");
  }
  if (a.keep_aspect_ratio_policy != Resize::stretch && sizes) {
    std::vector<int64_t> wanted, lengths;
    for (size_t i = 0; i < axes.size(); ++i)
      if ((*sizes)[i].known() && data[axes[i]].known() && data[axes[i]].value() > 0)
        wanted.push_back((*sizes)[i].value()), lengths.push_back(data[axes[i]].value());
    bool all = wanted.size() == axes.size();
    double scale = resize_common_scale(a, wanted, lengths);
    for (size_t i = 0; i < axes.size(); ++i)
      out[axes[i]] = all ? Dim(resize_whole(scale * static_cast<double>(lengths[i]) + 0.5)) : Dim();
  }
  ctx.output(0, ctx.type(0), out);
}

struct ResizeAxis {
  int64_t input, output;
  double scale, start = 0, end = 1;  // start and end of the region
};

double resize_place(const ResizeAxis& d, int64_t at, Resize::Coordinates how) {
  auto x = static_cast<double>(at), length = static_cast<double>(d.input);
  double resized = d.scale * length;  // the fractional size before truncation
  switch (how) {
    case Resize::half_pixel: return (x + 0.5) / d.scale - 0.5;
    case Resize::half_pixel_symmetric:
      return length / 2 * (1 - static_cast<double>(d.output) / resized) + (x + 0.5) / d.scale - 0.5;
    case Resize::pytorch_half_pixel: return resized == 1 ? -0.5 : (x + 0.5) / d.scale - 0.5;
    case Resize::align_corners: return resized == 1 ? 0 : x * (length - 1) / (resized - 1);
    case Resize::asymmetric: return x / d.scale;
    case Resize::tf_half_pixel_for_nn: return (x + 0.5) / d.scale;
    default: {
      // Size and start of the region are computed in f32 like the region itself: the last bit decides what lies
      // outside.
      auto last = static_cast<float>(length - 1);
      double part = static_cast<float>(d.end) - static_cast<float>(d.start), first = static_cast<float>(d.start) * last;
      return first + (resized == 1 ? part * last / 2 : x * part * last / (resized - 1));
    }
  }
}

double resize_nearest(double x, Resize::Nearest how, double scale) {
  switch (how) {
    case Resize::round_prefer_floor: return std::ceil(x - 0.5);
    case Resize::round_prefer_ceil: return std::floor(x + 0.5);
    case Resize::floor: return std::floor(x);
    case Resize::ceil: return std::ceil(x);
    default: return scale < 1 ? std::ceil(x) : std::floor(x);
  }
}

// Weights of consecutive elements from `first` on.
struct ResizeWeights {
  double first = 0;
  std::vector<double> weights;
};
ResizeWeights resize_weights(double x, const Resize& a, double scale) {
  if (a.mode == Resize::nearest) return {resize_nearest(x, a.nearest_mode, scale), {1}};
  double below = std::floor(x), r = x - below;
  if (a.antialias && scale < 1) {
    // The filter widens with the downsampling factor and is normalized to a sum of 1.
    double support = a.mode == Resize::linear ? 1 : 2, first = std::floor(-support / scale) + 1, sum = 0;
    ResizeWeights w{below + first, {}};
    for (double i = first; i < 2 - first; ++i) {
      double d = std::fabs((i - r) * scale), v;
      if (a.mode == Resize::linear) v = std::max(1 - d, 0.0);
      else v = d < 2 ? cubic_weights(d <= 1 ? d : d - 1, a.cubic_coeff_a)[d <= 1 ? 1 : 0] : 0;
      w.weights.push_back(v);
      sum += v;
    }
    for (double& v : w.weights) v /= sum;
    return w;
  }
  if (a.mode == Resize::linear) return {below, {1 - r, r}};
  std::array<double, 4> w = cubic_weights(r, a.cubic_coeff_a);
  return {below - 1, {w.begin(), w.end()}};
}

// `outside` marks the output elements whose coordinate lies outside the input.
AxisTaps resize_taps(const ResizeAxis& d, const Resize& a, std::vector<bool>& outside) {
  AxisTaps taps;
  auto last = static_cast<double>(d.input - 1);
  for (int64_t i = 0; i < d.output; ++i) {
    double x = resize_place(d, i, a.coordinate_transformation_mode);
    if (a.coordinate_transformation_mode == Resize::tf_crop_and_resize && !(x >= 0 && x <= last)) {
      outside[static_cast<size_t>(i)] = true;
      taps.end_row();
      continue;
    }
    ResizeWeights w = resize_weights(x, a, d.scale);
    double sum = 0;
    auto inside = [&](size_t k) {
      return w.first + static_cast<double>(k) >= 0 && w.first + static_cast<double>(k) <= last;
    };
    for (size_t k = 0; k < w.weights.size(); ++k)
      if (inside(k)) sum += w.weights[k];
    for (size_t k = 0; k < w.weights.size(); ++k) {
      if (a.exclude_outside && a.mode != Resize::nearest && !inside(k)) continue;
      double weight = a.exclude_outside && a.mode != Resize::nearest ? w.weights[k] / sum : w.weights[k];
      taps.add(static_cast<int64_t>(std::min(std::max(w.first + static_cast<double>(k), 0.0), last)), weight);
    }
    taps.end_row();
  }
  return taps;
}

std::vector<ResizeAxis> resize_plan(Run& ctx, const Resize& a) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  std::vector<size_t> axes = resize_axes(a, x.rank());
  std::vector<ResizeAxis> plan;
  for (size_t i = 0; i < x.rank(); ++i) plan.push_back({x.dim(i), y.dim(i), 1});
  std::vector<float> scales = ctx.has_input(2) ? ctx.input(2).to<float>() : std::vector<float>();
  std::vector<int64_t> sizes = ctx.has_input(3) ? ctx.input(3).to<int64_t>() : std::vector<int64_t>(), lengths;
  std::vector<double> region = ctx.has_input(1) ? ctx.input(1).to<double>() : std::vector<double>();
  bool crops = a.coordinate_transformation_mode == Resize::tf_crop_and_resize;
  if (crops && region.size() != 2 * axes.size())
    fail("expected ", 2 * axes.size(), " values in roi, two per axis, got ", region.size());
  for (size_t axis : axes) lengths.push_back(x.dim(axis));
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& d = plan[axes[i]];
    if (!scales.empty()) d.scale = scales[i];
    else if (a.keep_aspect_ratio_policy != Resize::stretch) d.scale = resize_common_scale(a, sizes, lengths);
    else d.scale = static_cast<double>(sizes[i]) / static_cast<double>(lengths[i]);
    if (!(d.scale > 0)) fail("expected a positive scale, got ", d.scale);
    if (crops) d.start = region[i], d.end = region[axes.size() + i];
  }
  return plan;
}

void resize_run(Run& ctx, const Resize& a) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  std::vector<ResizeAxis> plan = resize_plan(ctx, a);
  std::vector<std::vector<bool>> outside(x.rank());
  bool crops = a.coordinate_transformation_mode == Resize::tf_crop_and_resize;
  auto run = [&]<class T>(T) {
    std::vector<T> v = x.to<T>();
    std::vector<int64_t> dims(x.dims().begin(), x.dims().end());
    for (size_t i = 0; i < x.rank(); ++i) {
      const ResizeAxis& d = plan[i];
      outside[i].resize(static_cast<size_t>(d.output));
      if (d.scale == 1 && d.input == d.output && d.start == 0 && d.end == 1) continue;
      v = resample(v, dims, i, resize_taps(d, a, outside[i]));
    }
    Walk walk(dims, {});
    for (size_t at = 0; crops && at < v.size(); ++at, walk.next()) {
      bool any = false;
      for (size_t i = 0; i < dims.size(); ++i) any = any || outside[i][static_cast<size_t>(walk.index()[i])];
      if (any) v[at] = static_cast<T>(a.extrapolation_value);
    }
    if constexpr (std::is_same_v<T, double>)
      for (size_t i = 0; i < v.size() && !is_real(x.type()); ++i) v[i] = std::nearbyint(v[i]);
    y.assign(v);
  };
  if (a.mode == Resize::nearest && !crops) with_number_type(x.type(), run);
  else run(double{});
}

}  // namespace

Definitions define_resize() {
  return op<Resize>("Resize", "graft")
      .doc("Resize some axes by interpolation, with ONNX semantics")
      .inputs("data, roi?, scales?, sizes?")
      .infer(resize_infer)
      .reference(resize_run);
}

}  // namespace graft
