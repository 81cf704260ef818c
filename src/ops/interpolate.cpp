// Interpolate of opset1, opset4 and opset11.
#include <graft/kit/known.hpp>
#include <graft/op.hpp>

#include "resample.hpp"

namespace graft {
namespace {

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

int64_t interpolation_pad(const std::vector<int64_t>& pads, size_t axis) { return axis < pads.size() ? pads[axis] : 0; }
Dim padded_dim(const Dim& d, const Interpolation& a, size_t axis) {
  return d + Dim(interpolation_pad(a.pads_begin, axis) + interpolation_pad(a.pads_end, axis));
}

// The scaled size; the tolerance keeps a product just below an integer from losing an element.
Dim scaled_dim(const Dim& d, double scale) {
  if (!(scale > 0) || std::isinf(scale)) fail("expected a positive scale, got ", scale);
  if (scale == 1) return d;
  auto grown = [&](int64_t n) {
    float size = static_cast<float>(n) * (static_cast<float>(scale) + 1e-6f);
    return n == Dim::unbounded || size >= 0x1p62f ? Dim::unbounded : static_cast<int64_t>(size);
  };
  return Dim::between(grown(d.min()), grown(d.max()));
}

std::vector<size_t> interpolation_axes(const std::optional<std::vector<int64_t>>& given, size_t rank) {
  std::vector<size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), size_t{0});
  return given ? normalize_axes(*given, rank) : axes;
}

void interpolate_shape(Infer& ctx, const Interpolation& a, size_t sizes_at, size_t scales_at, size_t axes_at) {
  Shape data = ctx.shape(0);
  bool has_axes = ctx.has_input(axes_at);
  auto listed = has_axes ? ctx.values<int64_t>(axes_at) : std::nullopt;
  if (!data.ranked()) return ctx.output(0, ctx.type(0), data);
  if (has_axes && !listed) return ctx.output(0, ctx.type(0), Shape::of_rank(data.rank()));
  for (size_t i = 0; i < data.rank(); ++i) data[i] = padded_dim(data[i], a, i);
  std::vector<size_t> axes = interpolation_axes(listed, data.rank());
  auto factors = a.shape_calculation_mode == Interpolation::scales ? ctx.values<double>(scales_at) : std::nullopt;
  auto sizes =
      a.shape_calculation_mode == Interpolation::sizes ? target_sizes(ctx, sizes_at, axes.size()) : std::nullopt;
  if (factors && factors->size() != axes.size())
    fail("expected ", axes.size(), " scales, one per axis, got ", factors->size());
  for (size_t i = 0; i < axes.size(); ++i) {
    Dim& d = data[axes[i]];
    bool empty = d.max() == 0;
    d = factors ? scaled_dim(d, (*factors)[i]) : sizes ? (*sizes)[i] : Dim();
    if (empty && d.min() > 0) fail("cannot resize axis ", axes[i], " from 0 to ", d, " elements");
  }
  ctx.output(0, ctx.type(0), data);
}
void interpolate4_infer(Infer& ctx, const Interpolate4& a) { interpolate_shape(ctx, a, 1, 2, 3); }
void interpolate11_infer(Infer& ctx, const Interpolate11& a) { interpolate_shape(ctx, a, 1, 1, 2); }
// The attribute is a set: sizes are listed for its axes in ascending order.
std::vector<size_t> interpolate1_axes(const Interpolate1& a, size_t rank) {
  std::vector<size_t> axes = normalize_axes(a.axes, rank);
  std::sort(axes.begin(), axes.end());
  return axes;
}
void interpolate1_infer(Infer& ctx, const Interpolate1& a) {
  Shape data = ctx.shape(0);
  if (data.ranked()) {
    std::vector<size_t> axes = interpolate1_axes(a, data.rank());
    auto sizes = target_sizes(ctx, 1, axes.size());
    for (size_t i = 0; i < data.rank(); ++i) data[i] = padded_dim(data[i], a, i);
    for (size_t i = 0; i < axes.size(); ++i) {
      Dim size = sizes ? (*sizes)[i] : Dim();
      if (data[axes[i]].max() == 0 && size.min() > 0)
        fail("cannot resize axis ", axes[i], " from 0 to ", size, " elements");
      data[axes[i]] = size;
    }
  }
  ctx.output(0, ctx.type(0), data);
}

// ---- positions and weights, in f32 like other runtimes: the nearest element depends on the last bit ----

struct InterpolationAxis {
  int64_t before, input, output;  // padding, padded length, new length
  float scale;
};

float interpolation_place(const InterpolationAxis& d, int64_t at, Interpolation::Coordinates how) {
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

float interpolation_nearest(float x, Interpolation::Nearest how, bool fewer) {
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
void triangle_row(const InterpolationRow& row, double place, double steep) {
  double reach = row.axis.scale > 1 ? 2 : std::ceil(2 / steep), middle = std::round(place), sum = 0;
  auto weight = [&](double i) { return std::max(0.0, 1 - std::fabs(steep * (place - i))); };
  double first = std::max(middle - reach, 0.0),
         last = std::min(middle + reach, static_cast<double>(row.axis.input - 1));
  for (double i = first; i <= last; ++i) sum += weight(i);
  for (double i = first; i <= last && sum > 0; ++i) row.add(i, weight(i) / sum);
}

// Pillow's filters widen with the downsampling factor.
void pillow_row(const InterpolationRow& row, int64_t at, double support, double cube) {
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

AxisTaps interpolation_taps(const InterpolationAxis& d, int64_t elements, const Interpolation& a, bool antialias) {
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

void interpolate_any(TensorView x, OutputView y, const Interpolation& a, const InterpolationPlan& plan) {
  bool pillow = a.mode == Interpolation::bilinear_pillow || a.mode == Interpolation::bicubic_pillow;
  bool whole = !is_real(x.type()) && a.mode != Interpolation::nearest;
  // Some modes round to the nearest integer within the range of the type, others truncate the f32 result.
  bool cut = a.mode == Interpolation::linear_onnx || a.mode == Interpolation::cubic;
  double steps = std::ldexp(1.0, bits_of(x.type())), low = is_signed_integer(x.type()) ? -steps / 2 : 0;
  auto to_whole = [&](auto& values) {
    for (auto& v : values) {
      auto d = static_cast<double>(v);
      d = cut ? std::trunc(static_cast<float>(d)) : std::min(std::max(std::round(d), low), low + steps - 1);
      v = static_cast<std::remove_reference_t<decltype(v)>>(d);
    }
  };
  auto run = [&]<class T>(T) {
    std::vector<T> v = x.to<T>();
    std::vector<int64_t> dims(x.dims().begin(), x.dims().end());
    for (size_t i = x.rank(); i-- > 0;) {
      if (plan.stays(i, dims[i])) continue;
      v = resample(v, dims, i, interpolation_taps(plan.axes[i], dims[i], a, a.antialias && plan.fewer));
      // Pillow rounds pixels after each axis.
      if (pillow && whole) to_whole(v);
    }
    if (whole) to_whole(v);
    y.assign(v);
  };
  if (a.mode == Interpolation::nearest) with_number_type(x.type(), run);
  else run(double{});
}

void interpolate_with_inputs(Run& ctx, const Interpolation& a, size_t scales_at, size_t axes_at) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  auto listed = ctx.has_input(axes_at) ? std::optional(ctx.input(axes_at).to<int64_t>()) : std::nullopt;
  bool scaled = a.shape_calculation_mode == Interpolation::scales;
  std::vector<double> factors = scaled ? ctx.input(scales_at).to<double>() : std::vector<double>();
  interpolate_any(x, y, a, {x.dims(), y.dims(), a, interpolation_axes(listed, x.rank()), factors});
}
void interpolate4_run(Run& ctx, const Interpolate4& a) { interpolate_with_inputs(ctx, a, 2, 3); }
void interpolate11_run(Run& ctx, const Interpolate11& a) { interpolate_with_inputs(ctx, a, 1, 2); }

// opset1 has fewer attributes; some defaults depend on the rank.
Interpolation interpolate1_settings(const Interpolate1& a, const std::vector<size_t>& axes, size_t rank) {
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
void interpolate1_run(Run& ctx, const Interpolate1& a) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  std::vector<size_t> axes = interpolate1_axes(a, x.rank());
  Interpolation now = interpolate1_settings(a, axes, x.rank());
  interpolate_any(x, y, now, {x.dims(), y.dims(), now, axes, {}});
}

// ---- CPU kernel for f32 images: resamples the last two axes plane by plane ----

struct InterpolatedPlanes {
  int64_t height, width, rows, columns, planes;
  int64_t chunks;  // that run in parallel, each with scratch memory for one row
  AxisTaps down, across;
  std::vector<float> weights;  // of `across`
  bool single;                 // one element per column
};

// The output size is known here unless it is data-dependent; then the reference kernel runs.
InterpolatedPlanes interpolated_planes(Prepare& ctx, const Interpolation& a, const std::vector<size_t>& axes,
                                       const std::vector<double>& factors) {
  std::vector<int64_t> x = ctx.shape(0).values(), y = ctx.output(0).shape.values();
  InterpolationPlan plan(x, y, a, axes, factors);
  size_t rank = x.size();
  for (size_t i = 0; i + 2 < rank; ++i)
    if (!plan.stays(i, x[i])) unsupported("resizes axis ", i, ", expected the last two only");
  InterpolatedPlanes s{x[rank - 2], x[rank - 1], y[rank - 2], y[rank - 1], 1, 1, {}, {}, {}, false};
  for (size_t i = 0; i + 2 < rank; ++i) s.planes *= y[i];
  s.down = interpolation_taps(plan.axes[rank - 2], s.height, a, a.antialias && plan.fewer);
  s.across = interpolation_taps(plan.axes[rank - 1], s.width, a, a.antialias && plan.fewer);
  s.weights.assign(s.across.weights.begin(), s.across.weights.end());
  s.single = a.mode == Interpolation::nearest && static_cast<int64_t>(s.weights.size()) == s.columns;
  constexpr int64_t most_chunks = 64, least_work = 16384;
  s.chunks = std::clamp<int64_t>(s.planes * s.rows * s.columns / least_work, 1, std::min(s.planes, most_chunks));
  ctx.scratch(static_cast<size_t>(s.chunks * s.width) * sizeof(float));
  return s;
}

void require_planes(Accept& ctx) {
  if (ctx.type(0) != DType::f32) unsupported("expected f32, got ", ctx.type(0));
  if (!ctx.shape(0).is_static() || !ctx.output(0).shape.is_static()) unsupported("requires static shapes");
  if (ctx.shape(0).rank() < 2) unsupported("expected rank 2 or more, got ", ctx.shape(0));
  if (ctx.output(0).shape.elements().value() == 0) unsupported("the output has no elements");
}
template <size_t scales_at, class A>
InterpolatedPlanes prepare_planes(Prepare& ctx, const A& a) {
  constexpr size_t axes_at = scales_at + 1;
  auto listed = ctx.has_input(axes_at) ? ctx.values<int64_t>(axes_at) : std::nullopt;
  if (ctx.has_input(axes_at) && !listed) unsupported("requires constant axes");
  bool scaled = a.shape_calculation_mode == Interpolation::scales;
  auto factors = scaled ? ctx.values<double>(scales_at) : std::vector<double>();
  if (!factors) unsupported("requires constant scales");
  return interpolated_planes(ctx, a, interpolation_axes(listed, ctx.shape(0).rank()), *factors);
}
InterpolatedPlanes prepare_planes1(Prepare& ctx, const Interpolate1& a) {
  size_t rank = ctx.shape(0).rank();
  std::vector<size_t> axes = interpolate1_axes(a, rank);
  return interpolated_planes(ctx, interpolate1_settings(a, axes, rank), axes, {});
}

// Row r of a plane, from its input rows: one of them, or their weighted sum in `joined`.
const float* joined_row(const InterpolatedPlanes& s, const float* plane, size_t r, float* joined) {
  size_t first = s.down.rows[r], last = s.down.rows[r + 1];
  if (last - first == 1 && s.down.weights[first] == 1) return plane + s.down.elements[first] * s.width;
  std::fill(joined, joined + s.width, 0.0f);
  for (size_t t = first; t < last; ++t) {
    const float* line = plane + s.down.elements[t] * s.width;
    auto weight = static_cast<float>(s.down.weights[t]);
    for (int64_t i = 0; i < s.width; ++i) joined[i] += weight * line[i];
  }
  return joined;
}

void interpolate_plane(const InterpolatedPlanes& s, const float* plane, float* to, float* joined) {
  const float* previous = nullptr;
  for (size_t r = 0; r < static_cast<size_t>(s.rows); ++r, to += s.columns) {
    const float* source = joined_row(s, plane, r, joined);
    if (source == previous && source != joined) {
      std::copy(to - s.columns, to, to);
      continue;
    }
    previous = source;
    if (s.single) {
      for (size_t c = 0; c < s.across.elements.size(); ++c) to[c] = source[s.across.elements[c]];
      continue;
    }
    for (size_t c = 0; c + 1 < s.across.rows.size(); ++c) {
      float sum = 0;
      for (size_t t = s.across.rows[c]; t < s.across.rows[c + 1]; ++t)
        sum += s.weights[t] * source[s.across.elements[t]];
      to[c] = sum;
    }
  }
}

template <class A>
void run_planes(Run& ctx, const A&, const InterpolatedPlanes& s) {
  const float* from = ctx.input(0).data<const float>();
  float *to = ctx.output(0).data<float>(), *scratch = static_cast<float*>(ctx.scratch());
  ctx.parallel_for(s.chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c)
      for (int64_t p = s.planes * c / s.chunks; p < s.planes * (c + 1) / s.chunks; ++p)
        interpolate_plane(s, from + p * s.height * s.width, to + p * s.rows * s.columns, scratch + c * s.width);
  });
}

template <class A>
Kernel interpolate_kernel(InterpolatedPlanes (*prepare)(Prepare&, const A&)) {
  return Kernel("CPU", "planes_f32").accept(require_planes).run(prepare, run_planes<A>);
}

// The earlier version has separate inputs for sizes and scales; the unused one is filled with ones.
void interpolate_as_4(Rewrite& at) {
  if (at.get<std::string>("mode").ends_with("_pillow")) return;
  Shape given = at.input(1).shape();
  if (!given.is_static() || given.rank() != 1) return;
  int64_t axes = given[0].value();
  bool by_scales = at.get<std::string>("shape_calculation_mode") == "scales";
  std::vector<double> ones(static_cast<size_t>(axes), 1);
  std::vector<Value> inputs{at.input(0), at.input(1), at.typed(ones, {axes}, DType::f32)};
  if (by_scales) inputs = {at.input(0), at.typed(ones, {axes}, DType::i64), at.input(1)};
  if (at.has_input(2)) inputs.push_back(at.input(2));
  at.restate("Interpolate@4", inputs);
}

}  // namespace

Definitions define_interpolate() {
  constexpr std::string_view doc = "Resize some axes by interpolation";
  return {
      op<Interpolate1>("Interpolate", 1)
          .doc(doc)
          .traits(Trait::widens)
          .inputs("data, sizes")
          .infer(interpolate1_infer)
          .reference(interpolate1_run)
          .kernel(interpolate_kernel(prepare_planes1)),
      op<Interpolate4>("Interpolate", 4)
          .doc(doc)
          .traits(Trait::widens)
          .inputs("data, sizes, scales, axes?")
          .infer(interpolate4_infer)
          .reference(interpolate4_run)
          .kernel(interpolate_kernel(prepare_planes<2, Interpolate4>)),
      op<Interpolate11>("Interpolate", 11)
          .doc(doc)
          .traits(Trait::widens)
          .inputs("data, sizes_or_scales, axes?")
          .infer(interpolate11_infer)
          .reference(interpolate11_run)
          .kernel(interpolate_kernel(prepare_planes<1, Interpolate11>))
          .earlier(interpolate_as_4),
  };
}

}  // namespace graft
