// MaxPool and AvgPool in f32 over one or two spatial axes: windows slide over each plane (sliding-inl.hpp), and a
// vector of results combines one load per tap.
//
// Indices of maxima are searched element by element, and only if that output is used. Padding is materialized with the
// neutral element: -inf for the maximum (windows without any element are declined) and 0 for the sum. The divisors of
// the average are precomputed per row and column.
#include "pool.hpp"

#include "sliding.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pool.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

#include "math-inl.hpp"
#include "sliding-inl.hpp"

#ifndef GRAFT_CPU_POOL_ONCE
#define GRAFT_CPU_POOL_ONCE
namespace graft {
// The number of elements under a window is the product of its counts per row and column. Empty for max pooling.
struct PoolCounts {
  std::vector<float> rows, columns;  // the columns are padded by one vector
};
}  // namespace graft
#endif

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {

struct Maximum {
  template <class D>
  hn::Vec<D> start(D d) const {
    return hn::Set(d, -std::numeric_limits<float>::infinity());
  }
  template <class D>
  int tap(D, int64_t) const {
    return 0;
  }
  template <class V>
  V step(int, V x, V most) const {
    return highest(x, most);
  }
  template <class D, class V>
  V end(D, V most, int64_t, int64_t) const {
    return most;
  }
};

struct Average {
  const float *rows, *columns;
  template <class D>
  hn::Vec<D> start(D d) const {
    return hn::Zero(d);
  }
  template <class D>
  int tap(D, int64_t) const {
    return 0;
  }
  template <class V>
  V step(int, V x, V sum) const {
    return hn::Add(sum, x);
  }
  template <class D, class V>
  V end(D d, V sum, int64_t line, int64_t at) const {
    return hn::Div(sum, hn::Mul(hn::Set(d, rows[line]), hn::LoadU(d, columns + at)));
  }
};

}  // namespace
void pool_plane(const WindowAxes& axes, const PoolCounts& counts, const float* x, float* y) {
  if (counts.rows.empty())
    return slide(
        axes, x, -std::numeric_limits<float>::infinity(), 1, [](int64_t, int64_t) { return Maximum(); }, y);
  slide(
      axes, x, 0.0f, 1,
      [&](int64_t, int64_t line) {
        return Average{counts.rows.data() + line, counts.columns.data()};
      },
      y);
}

namespace {

// One position of a tensor with the channels last: `load` and `store` move a vector of channels.
template <class Load, class Store>
HWY_INLINE void pool_position(const WindowAxes& axes, float count, const float* x, int64_t channels, int64_t oy,
                              int64_t ox, Load load, Store store) {
  const hn::ScalableTag<float> d;
  const WindowAxis &ay = axes[1], &ax = axes[2];
  auto [y0, y1] = ay.taps(oy);
  auto [x0, x1] = ax.taps(ox);
  auto v = hn::Set(d, count > 0 ? 0.0f : -std::numeric_limits<float>::infinity());
  for (int64_t ty = y0; ty < y1; ++ty)
    for (int64_t tx = x0; tx < x1; ++tx) {
      int64_t at = (oy * ay.stride + ay.offset(ty)) * ax.input + ox * ax.stride + ax.offset(tx);
      const auto value = load(x + at * channels);
      v = count > 0 ? hn::Add(v, value) : highest(value, v);
    }
  store(count > 0 ? hn::Div(v, hn::Set(d, count)) : v);
}

}  // namespace
// A row of the output of a tensor with the channels last.
void pool_row_last(const WindowAxes& axes, const PoolCounts& counts, const float* x, int64_t channels, int64_t oy,
                   float* y) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t ox = 0; ox < axes[2].output; ++ox, y += channels) {
    auto column = static_cast<size_t>(ox);
    float count = counts.rows.empty() ? 0.0f : counts.rows[static_cast<size_t>(oy)] * counts.columns[column];
    int64_t c = 0;
    for (; c + lanes <= channels; c += lanes)
      pool_position(
          axes, count, x + c, channels, oy, ox, [&](const float* p) { return hn::LoadU(d, p); },
          [&](V v) { hn::StoreU(v, d, y + c); });
    if (c == channels) continue;
    const auto mask = hn::FirstN(d, static_cast<size_t>(channels - c));
    pool_position(
        axes, count, x + c, channels, oy, ox, [&](const float* p) { return hn::MaskedLoad(mask, d, p); },
        [&](V v) { hn::BlendedStore(v, mask, d, y + c); });
  }
}

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(pool_plane);
HWY_EXPORT(pool_row_last);

struct PoolState {
  WindowAxes axes;
  PoolCounts counts;
  int64_t index_modulus = 1;  // indices are modulo this number of elements
  bool last = false;          // channels are last
};

void pool_accept(Accept& ctx) {
  if (ctx.type(0) != DType::f32) unsupported("expected f32, got ", ctx.type(0));
  if (!ctx.shape(0).is_static() || !ctx.output(0).shape.is_static()) unsupported("requires static shapes");
  accept_sliding(pool_axes(ctx));
}
void max_pool_accept(Accept& ctx) {
  pool_accept(ctx);
  accept_indices(ctx);
  accept_full_windows(pool_axes(ctx));
}

PoolState max_pool_prepare(Prepare& ctx) {
  PoolState s{pool_axes(ctx), {}, 1, ctx.input_layout(0) == Layout::channels_last};
  std::vector<int64_t> x = ctx.shape(0).values();
  size_t axis = normalize_axis(ctx.attr<std::optional<int64_t>>("axis").value_or(0), x.size());
  s.index_modulus = std::max<int64_t>(count_of(std::span(x).subspan(axis)), 1);
  return s;
}

PoolState avg_pool_prepare(Prepare& ctx) {
  PoolState s{pool_axes(ctx), {}, 1, ctx.input_layout(0) == Layout::channels_last};
  const WindowAxis &ay = s.axes[1], &ax = s.axes[2];
  // Padding counts in the divisor only if there is any.
  bool all = !ctx.attr<bool>("exclude-pad") && (ay.padded || ax.padded);
  auto count = [&](const WindowAxis& w, int64_t i) {
    auto [first, last] = w.taps(i);
    return static_cast<float>(all ? w.kernel : std::max<int64_t>(last - first, 1));
  };
  for (int64_t i = 0; i < ay.output; ++i) s.counts.rows.push_back(count(ay, i));
  for (int64_t i = 0; i < ax.output; ++i) s.counts.columns.push_back(count(ax, i));
  // The kernel loads whole vectors at the end. The vector length of the selected instruction set is unknown here, so
  // use the longest of all.
  constexpr size_t longest_vector = 64 / sizeof(float);
  s.counts.columns.resize(s.counts.columns.size() + longest_vector, 1.0f);
  return s;
}

void pool_last_run(Run& ctx, const PoolState& s) {
  TensorView x = ctx.input(0);
  const float* from = x.channels_last<const float>();
  float* to = ctx.output(0).channels_last<float>();
  int64_t channels = x.dim(1), rows = s.axes[1].output, image = input_plane(s.axes) * channels;
  int64_t row = s.axes[2].output * channels, work = row * s.axes[1].kernel * s.axes[2].kernel;
  auto f = HWY_DYNAMIC_DISPATCH(pool_row_last);
  ctx.parallel_for(x.dim(0) * rows, std::max<int64_t>(1, (1 << 17) / work), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t)
      f(s.axes, s.counts, from + t / rows * image, channels, t % rows, to + t * row);
  });
}

void pool_run(Run& ctx, const PoolState& s) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  if (s.last) return pool_last_run(ctx, s);
  const float* from = x.data<const float>();
  float* to = y.data<float>();
  int64_t in = input_plane(s.axes), out = output_plane(s.axes), taps = s.axes[1].kernel * s.axes[2].kernel;
  auto f = HWY_DYNAMIC_DISPATCH(pool_plane);
  ctx.parallel_for(x.dim(0) * x.dim(1), std::max<int64_t>(1, (1 << 17) / (out * taps)),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t t = begin; t < end; ++t) f(s.axes, s.counts, from + t * in, to + t * out);
                   });
}

// Finds the indices of the maxima of a plane, the first among equals; they count from `base`. The elements of the plane
// are `step` apart.
template <class T>
void find_largest(const PoolState& s, const float* x, int64_t step, int64_t base, T* to) {
  const WindowAxis &ay = s.axes[1], &ax = s.axes[2];
  for (int64_t oy = 0; oy < ay.output; ++oy)
    for (int64_t ox = 0; ox < ax.output; ++ox) {
      auto [y0, y1] = ay.taps(oy);
      auto [x0, x1] = ax.taps(ox);
      int64_t best = -1;
      for (int64_t ty = y0; ty < y1; ++ty)
        for (int64_t tx = x0; tx < x1; ++tx) {
          int64_t at = (oy * ay.stride + ay.offset(ty)) * ax.input + ox * ax.stride + ax.offset(tx);
          if (best < 0 || beats(x[at * step], x[best * step])) best = at;
        }
      *to++ = static_cast<T>((base + best) % s.index_modulus);
    }
}

void max_pool_run(Run& ctx, const PoolState& s) {
  if (ctx.output_used(0)) pool_run(ctx, s);
  if (!ctx.output_used(1) || ctx.output(1).size() == 0) return;
  TensorView x = ctx.input(0);
  OutputView index = ctx.output(1);
  const float* from = s.last ? x.channels_last<const float>() : x.data<const float>();
  int64_t in = input_plane(s.axes), out = output_plane(s.axes), channels = x.dim(1), step = s.last ? channels : 1;
  ctx.parallel_for(x.dim(0) * channels, std::max<int64_t>(1, (1 << 14) / out), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const float* plane = from + (s.last ? t / channels * in * channels + t % channels : t * in);
      if (index.type() == DType::i32) find_largest(s, plane, step, t * in, index.data<int32_t>() + t * out);
      else find_largest(s, plane, step, t * in, index.data<int64_t>() + t * out);
    }
  });
}

}  // namespace

// All kernels of pooling, in the order in which they are tried.
Definitions cpu_pool() {
  auto kernel = [](std::string_view type, Versions versions) {
    constexpr Layout last = Layout::channels_last, plain = Layout::plain;
    return Kernel("CPU", "sliding_f32").of(type, versions).layouts({{{plain}, {plain}}, {{last}, {last, plain}}});
  };
  return {kernel("MaxPool", since(1).until(8)).accept(max_pool_accept).run(max_pool_prepare, pool_run),
          kernel("MaxPool", since(8)).accept(max_pool_accept).run(max_pool_prepare, max_pool_run),
          kernel("AvgPool", since(1)).accept(pool_accept).run(avg_pool_prepare, pool_run), volume_pool(), byte_pool()};
}

}  // namespace graft
#endif
