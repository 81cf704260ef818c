// MaxPool in f32 over three spatial axes: the rows under a line of windows are combined first, whole vectors at a time,
// then the columns of the result. With the channels last, the elements of a row are vectors of channels.
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
  bool last = false;          // channels are last
  int64_t cell = 1;           // elements at a position: the channels if they are last
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
  s.last = ctx.input_layout(0) == Layout::channels_last;
  if (s.last) s.cell = x[1];
  return s;
}

// One line of windows.
void volume_line(const VolumeState& s, const float* x, int64_t oz, int64_t oy, float* y) {
  const auto& [az, ay, ax] = s.axes;
  auto raise = HWY_DYNAMIC_DISPATCH(raise_row);
  int64_t size = ax.input * s.cell;
  float* row = thread_floats(static_cast<size_t>(size));
  auto [z0, z1] = az.taps(oz);
  auto [y0, y1] = ay.taps(oy);
  for (int64_t tz = z0; tz < z1; ++tz)
    for (int64_t ty = y0; ty < y1; ++ty) {
      int64_t at = (oz * az.stride + az.offset(tz)) * ay.input + oy * ay.stride + ay.offset(ty);
      if (tz == z0 && ty == y0) std::copy_n(x + at * size, size, row);
      else raise(x + at * size, row, size);
    }
  if (ax.stride == 1) {  // tap by tap, for all windows
    std::fill_n(y, ax.output * s.cell, -std::numeric_limits<float>::infinity());
    for (int64_t t = 0; t < ax.kernel; ++t)
      if (auto [o0, o1] = ax.inside(t); o0 < o1)
        raise(row + (o0 + ax.offset(t)) * s.cell, y + o0 * s.cell, (o1 - o0) * s.cell);
    return;
  }
  for (int64_t ox = 0; ox < ax.output; ++ox) {
    auto [x0, x1] = ax.taps(ox);
    const float* first = row + (ox * ax.stride + ax.offset(x0)) * s.cell;
    std::copy_n(first, s.cell, y + ox * s.cell);
    for (int64_t t = 1; t < x1 - x0; ++t) raise(first + t * ax.dilation * s.cell, y + ox * s.cell, s.cell);
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
        if (best < 0 || beats(x[at * s.cell], x[best * s.cell])) best = at;
      }
  return best;
}

// Calls f(volume, z, y) for all lines of windows, distributed among the threads. A position has `cell` elements.
template <class F>
void for_lines(Run& ctx, const VolumeState& s, int64_t volumes, int64_t cell, const F& f) {
  const auto& [az, ay, ax] = s.axes;
  int64_t lines = az.output * ay.output, work = az.kernel * ay.kernel * ax.input + ax.kernel * ax.output;
  ctx.parallel_for(volumes * lines, std::max<int64_t>(1, (1 << 16) / (work * cell)), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) f(t / lines, t % lines / s.axes[1].output, t % s.axes[1].output);
  });
}

void volume_run(Run& ctx, const VolumeState& s) {
  if (s.out == 0) return;
  const float* x = s.last ? ctx.input(0).channels_last<const float>() : ctx.input(0).data<const float>();
  float* y = s.last ? ctx.output(0).channels_last<float>() : ctx.output(0).data<float>();
  int64_t volumes = ctx.input(0).dim(0) * ctx.input(0).dim(1), width = s.axes[2].output;
  auto line = [&](int64_t v, int64_t oz, int64_t oy) { return v * s.out + (oz * s.axes[1].output + oy) * width; };
  for_lines(ctx, s, volumes / s.cell, s.cell, [&](int64_t v, int64_t oz, int64_t oy) {
    volume_line(s, x + v * s.in * s.cell, oz, oy, y + line(v, oz, oy) * s.cell);
  });
  if (!ctx.output_used(1)) return;
  OutputView index = ctx.output(1);
  for_lines(ctx, s, volumes, 1, [&](int64_t v, int64_t oz, int64_t oy) {
    const float* volume = x + v / s.cell * s.cell * s.in + v % s.cell;
    for (int64_t ox = 0; ox < width; ++ox) {
      int64_t at = (v * s.in + largest_in(s, volume, oz, oy, ox)) % s.index_modulus;
      if (index.type() == DType::i32) index.data<int32_t>()[line(v, oz, oy) + ox] = static_cast<int32_t>(at);
      else index.data<int64_t>()[line(v, oz, oy) + ox] = at;
    }
  });
}

}  // namespace

Definitions volume_pool() {
  constexpr Layout last = Layout::channels_last, plain = Layout::plain;
  return Kernel("CPU", "volume_f32")
      .of("MaxPool", since(1))
      .layouts({{{plain}, {plain}}, {{last}, {last, plain}}})
      .accept(volume_accept)
      .run(volume_prepare, volume_run);
}

}  // namespace graft
#endif
