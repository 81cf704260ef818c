// Interpolate of opset1, opset4 and opset11: attributes, and which input elements make up each output element.
#pragma once

#include <array>
#include <numeric>

#include "../attr.hpp"
#include "../shapes.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// The input elements and weights of each output element along an axis.
struct AxisTaps {
  std::vector<size_t> rows{0};
  std::vector<int64_t> elements;
  std::vector<double> weights;

  void add(int64_t element, double weight) {
    elements.push_back(element);
    weights.push_back(weight);
  }
  void end_row() { rows.push_back(elements.size()); }
  int64_t count() const { return static_cast<int64_t>(rows.size()) - 1; }
};

// Weights of the four elements around a position at distance `r` after the second one; `a` is the coefficient of Keys'
// cubic convolution.
inline std::array<double, 4> cubic_weights(double r, double a) {
  auto near = [&](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  auto far = [&](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(r + 1), near(r), near(1 - r), far(2 - r)};
}

struct Interpolation {
  enum Mode { nearest, linear, linear_onnx, cubic, bilinear_pillow, bicubic_pillow } mode = nearest;
  enum Calculation { sizes, scales } shape_calculation_mode = sizes;
  enum Coordinates {
    half_pixel,
    pytorch_half_pixel,
    asymmetric,
    tf_half_pixel_for_nn,
    align_corners
  } coordinate_transformation_mode = half_pixel;
  enum Nearest { round_prefer_floor, round_prefer_ceil, floor, ceil, simple } nearest_mode = round_prefer_floor;
  bool antialias = false;
  std::vector<int64_t> pads_begin, pads_end;
  double cube_coeff = -0.75;

  using Self = Interpolation;
  static constexpr auto mode_attr = attr("mode", &Self::mode, "interpolation method").required();
  static constexpr auto calculation_attr =
      attr("shape_calculation_mode", &Self::shape_calculation_mode, "whether the input holds sizes or scales")
          .required()
          .one_of("sizes", "scales");
  static constexpr auto coordinates_attr =
      attr("coordinate_transformation_mode", &Self::coordinate_transformation_mode,
           "mapping from output to input coordinates")
          .one_of("half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners");
  static constexpr auto nearest_attr =
      attr("nearest_mode", &Self::nearest_mode, "rounding of input coordinates, for mode 'nearest'")
          .one_of("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple");
  static constexpr auto antialias_attr =
      attr("antialias", &Self::antialias, "apply an anti-aliasing filter when downsampling, for mode 'linear'");
  static constexpr auto before_attr =
      attr("pads_begin", &Self::pads_begin, "zero padding before each axis, applied before interpolation")
          .between(0, 1 << 20);
  static constexpr auto behind_attr =
      attr("pads_end", &Self::pads_end, "zero padding after each axis, applied before interpolation")
          .between(0, 1 << 20);
  static constexpr auto cube_attr = attr("cube_coeff", &Self::cube_coeff, "coefficient of cubic interpolation");
};
struct Interpolate4 : Interpolation {
  static constexpr std::tuple schema{mode_attr.one_of("nearest", "linear", "linear_onnx", "cubic"),
                                     calculation_attr,
                                     coordinates_attr,
                                     nearest_attr,
                                     antialias_attr,
                                     before_attr,
                                     behind_attr,
                                     cube_attr};
};
struct Interpolate11 : Interpolation {
  static constexpr std::tuple schema{
      mode_attr.one_of("nearest", "linear", "linear_onnx", "cubic", "bilinear_pillow", "bicubic_pillow"),
      calculation_attr,
      coordinates_attr,
      nearest_attr,
      antialias_attr,
      before_attr,
      behind_attr,
      cube_attr};
};
struct Interpolate1 : Interpolation {
  enum OldMode { old_nearest, old_linear, old_linear_onnx, old_cubic } old_mode = old_nearest;
  bool aligned = true;
  std::vector<int64_t> axes;
  static constexpr std::tuple schema{
      attr("align_corners", &Interpolate1::aligned,
           "align corners: map the first and last elements of input and output to each other"),
      antialias_attr,
      attr("axes", &Interpolate1::axes, "axes to resize").required(),
      attr("mode", &Interpolate1::old_mode, "interpolation method")
          .required()
          .one_of("nearest", "linear", "linear_onnx", "cubic"),
      before_attr,
      behind_attr};
};

inline int64_t interpolation_pad(const std::vector<int64_t>& pads, size_t axis) {
  return axis < pads.size() ? pads[axis] : 0;
}

inline std::vector<size_t> interpolation_axes(const std::optional<std::vector<int64_t>>& given, size_t rank) {
  std::vector<size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), size_t{0});
  return given ? normalize_axes(*given, rank) : axes;
}

// The attribute is a set: sizes are listed for its axes in ascending order.
inline std::vector<size_t> interpolate1_axes(const Interpolate1& a, size_t rank) {
  std::vector<size_t> axes = normalize_axes(a.axes, rank);
  std::sort(axes.begin(), axes.end());
  return axes;
}
// opset1 has fewer attributes; some defaults depend on the rank.
inline Interpolation interpolate1_settings(const Interpolate1& a, const std::vector<size_t>& axes, size_t rank) {
  Interpolation now = a;
  bool linear = a.old_mode == Interpolate1::old_linear || a.old_mode == Interpolate1::old_linear_onnx;
  now.mode = a.old_mode == Interpolate1::old_nearest               ? Interpolation::nearest
             : a.old_mode == Interpolate1::old_cubic               ? Interpolation::cubic
             : a.old_mode == Interpolate1::old_linear && rank >= 5 ? Interpolation::linear
                                                                   : Interpolation::linear_onnx;
  now.nearest_mode = Interpolation::simple;
  auto none = [](const std::vector<int64_t>& pads) {
    return std::all_of(pads.begin(), pads.end(), [](int64_t p) { return p == 0; });
  };
  bool image = rank == 4 && axes.size() == 2 && axes[0] == 2 && axes[1] == 3;
  now.coordinate_transformation_mode = a.aligned ? Interpolation::align_corners
                                       : linear && none(a.pads_begin) && none(a.pads_end) && !image
                                           ? Interpolation::half_pixel
                                           : Interpolation::asymmetric;
  return now;
}
// ---- positions and weights, in f32 like other runtimes: the nearest element depends on the last bit ----

struct InterpolationAxis {
  int64_t before, input, output;  // padding, padded length, new length
  float scale;
};

inline float interpolation_place(const InterpolationAxis& d, int64_t at, Interpolation::Coordinates how) {
  auto x = static_cast<float>(at), resized = static_cast<float>(d.output), original = static_cast<float>(d.input);
  if (d.scale == 1 || d.output == d.input) return x;
  switch (how) {
    case Interpolation::half_pixel: return (x + 0.5f) / d.scale - 0.5f;
    case Interpolation::pytorch_half_pixel: return d.output > 1 ? (x + 0.5f) / d.scale - 0.5f : 0;
    case Interpolation::asymmetric: return x / d.scale;
    case Interpolation::tf_half_pixel_for_nn: return (x + 0.5f) / d.scale;
    default: return d.output == 1 ? 0 : x * (original - 1) / (resized - 1);
  }
}

inline float interpolation_nearest(float x, Interpolation::Nearest how, bool fewer) {
  switch (how) {
    case Interpolation::round_prefer_floor: return std::ceil(x - 0.5f);
    case Interpolation::round_prefer_ceil: return std::floor(x + 0.5f);
    case Interpolation::floor: return std::floor(x);
    case Interpolation::ceil: return std::ceil(x);
    default: return fewer ? std::ceil(x) : std::trunc(x);
  }
}

// Padding holds zeros, so its elements are skipped.
struct InterpolationRow {
  const InterpolationAxis& axis;
  AxisTaps& taps;
  int64_t elements;  // of the input without padding

  void add(double at, double weight) const {
    double last = static_cast<double>(axis.input - 1);
    int64_t e = static_cast<int64_t>(std::min(std::max(at, 0.0), last)) - axis.before;
    if (e >= 0 && e < elements) taps.add(e, weight);
  }
};

// Mode 'linear': a triangle filter, `steep` times as steep when downsampling with anti-aliasing, with weights
// normalized to a sum of 1.
inline void triangle_row(const InterpolationRow& row, double place, double steep) {
  double reach = row.axis.scale > 1 ? 2 : std::ceil(2 / steep), middle = std::round(place), sum = 0;
  auto weight = [&](double i) { return std::max(0.0, 1 - std::fabs(steep * (place - i))); };
  double first = std::max(middle - reach, 0.0),
         last = std::min(middle + reach, static_cast<double>(row.axis.input - 1));
  for (double i = first; i <= last; ++i) sum += weight(i);
  for (double i = first; i <= last && sum > 0; ++i) row.add(i, weight(i) / sum);
}

// Pillow's filters widen with the downsampling factor.
inline void pillow_row(const InterpolationRow& row, int64_t at, double support, double cube) {
  double factor = static_cast<double>(row.axis.input) / static_cast<double>(row.axis.output);
  double width = std::max(factor, 1.0), centre = (static_cast<double>(at) + 0.5) * factor, sum = 0;
  double first = std::max(std::trunc(centre - support * width + 0.5), 0.0);
  double end = std::min(std::trunc(centre + support * width + 0.5), static_cast<double>(row.axis.input));
  auto weight = [&](double i) {
    double d = std::fabs((i - centre + 0.5) * (1 / width));
    if (support == 1) return std::max(0.0, 1 - d);
    return d < 2 ? cubic_weights(d < 1 ? d : d - 1, cube)[d < 1 ? 1 : 0] : 0.0;
  };
  for (double i = first; i < end; ++i) sum += weight(i);
  for (double i = first; i < end; ++i) row.add(i, sum != 0 ? weight(i) / sum : weight(i));
}

inline AxisTaps interpolation_taps(const InterpolationAxis& d, int64_t elements, const Interpolation& a,
                                   bool antialias) {
  AxisTaps taps;
  for (int64_t i = 0; i < d.output; ++i) {
    InterpolationRow row{d, taps, elements};
    double place = interpolation_place(d, i, a.coordinate_transformation_mode), first = std::floor(place);
    switch (a.mode) {
      case Interpolation::nearest:
        row.add(interpolation_nearest(static_cast<float>(place), a.nearest_mode, d.scale < 1), 1);
        break;
      case Interpolation::linear: triangle_row(row, place, antialias ? d.scale : 1); break;
      case Interpolation::linear_onnx:
        row.add(first, 1 - (place - first));
        row.add(first + 1, place - first);
        break;
      case Interpolation::cubic: {
        std::array<double, 4> weights = cubic_weights(place - first, a.cube_coeff);
        for (size_t k = 0; k < 4; ++k) row.add(first - 1 + static_cast<double>(k), weights[k]);
        break;
      }
      case Interpolation::bilinear_pillow: pillow_row(row, i, 1, a.cube_coeff); break;
      case Interpolation::bicubic_pillow: pillow_row(row, i, 2, a.cube_coeff); break;
    }
    taps.end_row();
  }
  return taps;
}

// How each axis is resampled. `factors` belong to `axes`; if empty, they follow from the sizes.
struct InterpolationPlan {
  std::vector<InterpolationAxis> axes;
  bool fewer = false;  // downsampling along at least one axis

  InterpolationPlan(std::span<const int64_t> x, std::span<const int64_t> y, const Interpolation& a,
                    const std::vector<size_t>& changed, const std::vector<double>& factors) {
    for (size_t i = 0; i < x.size(); ++i) {
      int64_t before = interpolation_pad(a.pads_begin, i);
      axes.push_back({before, before + x[i] + interpolation_pad(a.pads_end, i), y[i], 1});
    }
    for (size_t i = 0; i < changed.size(); ++i) {
      InterpolationAxis& d = axes[changed[i]];
      d.scale =
          factors.empty() ? static_cast<float>(d.output) / static_cast<float>(d.input) : static_cast<float>(factors[i]);
      fewer = fewer || d.scale < 1;
    }
  }
  bool stays(size_t axis, int64_t elements) const {
    const InterpolationAxis& d = axes[axis];
    return d.scale == 1 && d.input == elements && d.output == elements;
  }
};

}  // namespace graft
