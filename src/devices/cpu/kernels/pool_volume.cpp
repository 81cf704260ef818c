// MaxPool in f32 over three spatial axes: the rows under a line of windows are combined first, whole vectors at a time,
// then the columns of the result.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pool_volume.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

#include "math-inl.hpp"
#include "pool.hpp"
#include "scratch.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
}
// to = max(to, x), element by element.
void raise_row(const float* HWY_RESTRICT x, float* HWY_RESTRICT to, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(highest(hn::LoadU(d, x + i), hn::LoadU(d, to + i)), d, to + i);
  const hn::CappedTag<float, 1> one;
  for (; i < n; ++i) hn::StoreU(highest(hn::LoadU(one, x + i), hn::LoadU(one, to + i)), one, to + i);
}

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(raise_row);

struct VolumeState {
  WindowAxes axes;
  int64_t in = 1, out = 1;    // elements of a volume
  int64_t index_modulus = 1;  // indices are modulo this number of elements
};

void volume_accept(Accept& ctx) {
  if (ctx.type(0) != DType::f32) unsupported("expected f32, got ", ctx.type(0));
  if (!ctx.shape(0).is_static() || !ctx.output(0).shape.is_static()) unsupported("requires static shapes");
  accept_indices(ctx);
  WindowAxes axes = pool_axes(ctx);
  accept_full_windows(axes);
  constexpr int64_t widest = 1 << 16;
  if (axes[2].input > widest) unsupported("expected rows of at most ", widest, " elements, got ", axes[2].input);
}

VolumeState volume_prepare(Prepare& ctx) {
  VolumeState s{pool_axes(ctx)};
  for (const WindowAxis& w : s.axes) s.in *= w.input, s.out *= w.output;
  std::vector<int64_t> x = ctx.shape(0).values();
  size_t axis = normalize_axis(ctx.attr<std::optional<int64_t>>("axis").value_or(0), x.size());
  s.index_modulus = std::max<int64_t>(count_of(std::span(x).subspan(axis)), 1);
  return s;
}

// One line of windows.
void volume_line(const VolumeState& s, const float* x, int64_t oz, int64_t oy, float* y) {
  const auto& [az, ay, ax] = s.axes;
  float* row = thread_floats(static_cast<size_t>(ax.input));
  std::fill(row, row + ax.input, -std::numeric_limits<float>::infinity());
  auto [z0, z1] = az.taps(oz);
  auto [y0, y1] = ay.taps(oy);
  for (int64_t tz = z0; tz < z1; ++tz)
    for (int64_t ty = y0; ty < y1; ++ty) {
      int64_t at = (oz * az.stride + az.offset(tz)) * ay.input + oy * ay.stride + ay.offset(ty);
      HWY_DYNAMIC_DISPATCH(raise_row)(x + at * ax.input, row, ax.input);
    }
  for (int64_t ox = 0; ox < ax.output; ++ox) {
    auto [x0, x1] = ax.taps(ox);
    const float* first = row + ox * ax.stride + ax.offset(x0);
    float most = *first;
    for (int64_t t = 1; t < x1 - x0; ++t) most = beats(first[t * ax.dilation], most) ? first[t * ax.dilation] : most;
    y[ox] = most;
  }
}

// The index of the maximum of a window, the first among equals.
int64_t largest_in(const VolumeState& s, const float* x, int64_t oz, int64_t oy, int64_t ox) {
  const auto& [az, ay, ax] = s.axes;
  auto [z0, z1] = az.taps(oz);
  auto [y0, y1] = ay.taps(oy);
  auto [x0, x1] = ax.taps(ox);
  int64_t best = -1;
  for (int64_t tz = z0; tz < z1; ++tz)
    for (int64_t ty = y0; ty < y1; ++ty)
      for (int64_t tx = x0; tx < x1; ++tx) {
        int64_t row = (oz * az.stride + az.offset(tz)) * ay.input + oy * ay.stride + ay.offset(ty);
        int64_t at = row * ax.input + ox * ax.stride + ax.offset(tx);
        if (best < 0 || beats(x[at], x[best])) best = at;
      }
  return best;
}

// Calls f(volume, z, y) for all lines of windows, distributed among the threads.
template <class F>
void for_lines(Run& ctx, const VolumeState& s, int64_t volumes, const F& f) {
  const auto& [az, ay, ax] = s.axes;
  int64_t lines = az.output * ay.output, work = az.kernel * ay.kernel * ax.input + ax.kernel * ax.output;
  ctx.parallel_for(volumes * lines, std::max<int64_t>(1, (1 << 16) / work), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) f(t / lines, t % lines / s.axes[1].output, t % s.axes[1].output);
  });
}

void volume_run(Run& ctx, const VolumeState& s) {
  const float* x = ctx.input(0).data<const float>();
  int64_t volumes = ctx.input(0).dim(0) * ctx.input(0).dim(1), width = s.axes[2].output;
  auto line = [&](int64_t v, int64_t oz, int64_t oy) { return v * s.out + (oz * s.axes[1].output + oy) * width; };
  if (s.out == 0) return;
  float* y = ctx.output(0).data<float>();
  for_lines(ctx, s, volumes,
            [&](int64_t v, int64_t oz, int64_t oy) { volume_line(s, x + v * s.in, oz, oy, y + line(v, oz, oy)); });
  if (!ctx.output_used(1)) return;
  OutputView index = ctx.output(1);
  for_lines(ctx, s, volumes, [&](int64_t v, int64_t oz, int64_t oy) {
    for (int64_t ox = 0; ox < width; ++ox) {
      int64_t at = (v * s.in + largest_in(s, x + v * s.in, oz, oy, ox)) % s.index_modulus;
      if (index.type() == DType::i32) index.data<int32_t>()[line(v, oz, oy) + ox] = static_cast<int32_t>(at);
      else index.data<int64_t>()[line(v, oz, oy) + ox] = at;
    }
  });
}

}  // namespace

Definitions cpu_pool_volume() {
  Definitions ops;
  for (std::string_view opset : {"opset1", "opset8", "opset14"})
    ops += Kernel("CPU", "volume_f32").of("MaxPool", opset).accept(volume_accept).run(volume_prepare, volume_run);
  return ops;
}

}  // namespace graft
#endif
