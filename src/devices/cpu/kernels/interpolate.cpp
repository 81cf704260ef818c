// Interpolate of f32 images: resamples the last two axes plane by plane.
#include <graft/kit/interpolation.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

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
Kernel planes_kernel(std::string_view opset, InterpolatedPlanes (*prepare)(Prepare&, const A&)) {
  return Kernel("CPU", "planes_f32").of("Interpolate", opset).accept(require_planes).run(prepare, run_planes<A>);
}

}  // namespace

Definitions cpu_interpolate() {
  return {planes_kernel("opset1", prepare_planes1), planes_kernel("opset4", prepare_planes<2, Interpolate4>),
          planes_kernel("opset11", prepare_planes<1, Interpolate11>)};
}

}  // namespace graft
