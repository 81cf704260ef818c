// MaxPool and AvgPool in f32 over one or two spatial axes: windows slide over each plane (sliding-inl.hpp), and a
// vector of results combines one load per tap.
//
// Indices of maxima are searched element by element, and only if that output is used. Padding is materialized with the
// neutral element: -inf for the maximum (windows without any element are declined) and 0 for the sum. The divisors of
// the average are precomputed per row and column.
#include "sliding.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pool.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

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
    return hn::Max(x, most);
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

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(pool_plane);

struct PoolState {
  WindowAxes axes;
  PoolCounts counts;
  int64_t index_modulus = 1;  // indices are modulo this number of elements
};

WindowAxes pool_axes(Accept& ctx) {
  std::vector<int64_t> x = ctx.shape(0).values(), y = ctx.output(0).shape.values();
  auto kernel = ctx.attr<std::vector<int64_t>>("kernel");
  WindowAttributes a;
  a.strides = ctx.attr<std::vector<int64_t>>("strides");
  a.dilations = ctx.attr<std::optional<std::vector<int64_t>>>("dilations").value_or(std::vector<int64_t>());
  a.pads_begin = ctx.attr<std::vector<int64_t>>("pads_begin");
  a.pads_end = ctx.attr<std::vector<int64_t>>("pads_end");
  auto pad = ctx.attr<std::string>("auto_pad");
  a.auto_pad = pad == "same_lower"   ? AutoPad::same_lower
               : pad == "same_upper" ? AutoPad::same_upper
               : pad == "valid"      ? AutoPad::valid
                                     : AutoPad::given;
  return window_axes(std::span(x).subspan(2), std::span(y).subspan(2), kernel, a);
}

void pool_accept(Accept& ctx) {
  if (ctx.type(0) != DType::f32) unsupported("expected f32, got ", ctx.type(0));
  if (!ctx.shape(0).is_static() || !ctx.output(0).shape.is_static()) unsupported("requires static shapes");
  accept_sliding(pool_axes(ctx));
}
void max_pool_accept(Accept& ctx) {
  pool_accept(ctx);
  for (const WindowAxis& w : pool_axes(ctx))
    for (int64_t i = 0; i < w.output; ++i)
      if (auto [first, last] = w.taps(i); first == last) unsupported("requires windows with at least one element");
}

PoolState max_pool_prepare(Prepare& ctx) {
  PoolState s{pool_axes(ctx), {}, 1};
  std::vector<int64_t> x = ctx.shape(0).values();
  size_t axis = normalize_axis(ctx.attr<std::optional<int64_t>>("axis").value_or(0), x.size());
  s.index_modulus = std::max<int64_t>(count_of(std::span(x).subspan(axis)), 1);
  return s;
}

PoolState avg_pool_prepare(Prepare& ctx) {
  PoolState s{pool_axes(ctx), {}, 1};
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

void pool_run(Run& ctx, const PoolState& s) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  const float* from = x.data<const float>();
  float* to = y.data<float>();
  int64_t in = input_plane(s.axes), out = output_plane(s.axes), taps = s.axes[1].kernel * s.axes[2].kernel;
  auto f = HWY_DYNAMIC_DISPATCH(pool_plane);
  ctx.parallel_for(x.dim(0) * x.dim(1), std::max<int64_t>(1, (1 << 17) / (out * taps)),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t t = begin; t < end; ++t) f(s.axes, s.counts, from + t * in, to + t * out);
                   });
}

// Finds the indices of the maxima of a plane, the first among equals; they count from `base`.
template <class T>
void find_largest(const PoolState& s, const float* x, int64_t base, T* to) {
  const WindowAxis &ay = s.axes[1], &ax = s.axes[2];
  for (int64_t oy = 0; oy < ay.output; ++oy)
    for (int64_t ox = 0; ox < ax.output; ++ox) {
      auto [y0, y1] = ay.taps(oy);
      auto [x0, x1] = ax.taps(ox);
      int64_t best = -1;
      for (int64_t ty = y0; ty < y1; ++ty)
        for (int64_t tx = x0; tx < x1; ++tx) {
          int64_t at = (oy * ay.stride + ay.offset(ty)) * ax.input + ox * ax.stride + ax.offset(tx);
          if (best < 0 || x[at] > x[best]) best = at;
        }
      *to++ = static_cast<T>((base + best) % s.index_modulus);
    }
}

void max_pool_run(Run& ctx, const PoolState& s) {
  if (ctx.output_used(0)) pool_run(ctx, s);
  if (!ctx.output_used(1) || ctx.output(1).size() == 0) return;
  TensorView x = ctx.input(0);
  OutputView index = ctx.output(1);
  const float* from = x.data<const float>();
  int64_t in = input_plane(s.axes), out = output_plane(s.axes);
  ctx.parallel_for(x.dim(0) * x.dim(1), std::max<int64_t>(1, (1 << 14) / out), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t)
      if (index.type() == DType::i32) find_largest(s, from + t * in, t * in, index.data<int32_t>() + t * out);
      else find_largest(s, from + t * in, t * in, index.data<int64_t>() + t * out);
  });
}

}  // namespace

Definitions cpu_pool() {
  Definitions ops =
      Kernel("CPU", "sliding_f32").of("MaxPool", "opset1").accept(max_pool_accept).run(max_pool_prepare, pool_run);
  for (std::string_view opset : {"opset8", "opset14"})
    ops +=
        Kernel("CPU", "sliding_f32").of("MaxPool", opset).accept(max_pool_accept).run(max_pool_prepare, max_pool_run);
  for (std::string_view opset : {"opset1", "opset14", "opset16"})
    ops += Kernel("CPU", "sliding_f32").of("AvgPool", opset).accept(pool_accept).run(avg_pool_prepare, pool_run);
  return ops;
}

}  // namespace graft
#endif
