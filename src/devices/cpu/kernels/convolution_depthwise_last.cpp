// Depthwise convolution of tensors with the channels last, with bias, sum and activation.
//
// A vector holds neighboring channels, so every tap is one multiply-add. Four positions are computed at a time, which
// share the loads of the weights; near the border, one at a time with the taps inside the image.
//
// Windows of 3 x 3 with stride 1 or 2 are computed for seven positions at a time, channel by channel, and each element
// is loaded once for all of them. Elements outside the image are read from a line of zeros.
#include "inside.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "convolution_depthwise_last.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

#include "epilogue-inl.hpp"
#include "tile-inl.hpp"

#ifndef GRAFT_CPU_DEPTHWISE_LAST_ONCE
#define GRAFT_CPU_DEPTHWISE_LAST_ONCE
namespace graft {
struct DepthwiseRow {
  const WindowAxis *ay, *ax;
  int64_t channels, row;  // row: of the output
  const float *x, *w;     // of the image; weights [tap][channel]
  const float *bias, *sum;
  float* y;            // of the output row, and likewise `sum`
  float low, high;     // bounds of the result
  const float* zeros;  // [channels]
  bool far;            // the image is not in the cache of the core
};
}  // namespace graft
#endif

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {

// `count` positions from `at` on, for the channels from `c` on, with the same taps.
template <int64_t count, class Load, class Store>
HWY_INLINE void positions(const DepthwiseRow& r, int64_t at, int64_t c, Load load, Store store) {
  const D d;
  const WindowAxis &ay = *r.ay, &ax = *r.ax;
  const V bias = r.bias ? load(r.bias + c) : hn::Zero(d);
  V sums[count];
#pragma GCC unroll 4
  for (int64_t i = 0; i < count; ++i) sums[i] = bias;
  auto [y0, y1] = ay.taps(r.row);
  auto [x0, x1] = ax.taps(at);
  for (int64_t ty = y0; ty < y1; ++ty) {
    int64_t line = (r.row * ay.stride + ay.offset(ty)) * ax.input;
    for (int64_t tx = x0; tx < x1; ++tx) {
      const V w = load(r.w + (ty * ax.kernel + tx) * r.channels + c);
      const float* x = r.x + (line + at * ax.stride + ax.offset(tx)) * r.channels + c;
#pragma GCC unroll 4
      for (int64_t i = 0; i < count; ++i) sums[i] = hn::MulAdd(w, load(x + i * ax.stride * r.channels), sums[i]);
    }
  }
#pragma GCC unroll 4
  for (int64_t i = 0; i < count; ++i) {
    int64_t to = (at + i) * r.channels + c;
    if (r.sum) sums[i] = hn::Add(sums[i], load(r.sum + to));
    store(bounded(sums[i], hn::Set(d, r.low), hn::Set(d, r.high)), r.y + to);
  }
}

template <class Load, class Store>
HWY_INLINE void all_positions(const DepthwiseRow& r, int64_t c, Load load, Store store) {
  const WindowAxis& ax = *r.ax;
  // The positions whose window lies inside the image.
  int64_t first = std::min((std::max<int64_t>(ax.begin, 0) + ax.stride - 1) / ax.stride, ax.output);
  int64_t room = ax.input - 1 - ax.offset(ax.kernel - 1);
  int64_t last = room < 0 ? first : std::clamp(room / ax.stride + 1, first, ax.output), at = 0;
  for (; at < first; ++at) positions<1>(r, at, c, load, store);
  for (; at + 4 <= last; at += 4) positions<4>(r, at, c, load, store);
  for (; at < ax.output; ++at) positions<1>(r, at, c, load, store);
}

// Has the compiler keep a vector that is used several times, where it would read the memory again.
HWY_INLINE V in_register(V v) {
#if HWY_ARCH_X86
  asm("" : "+v"(v.raw));
#endif
  return v;
}

constexpr int64_t group = 7;  // divides the image sizes of most networks

// Elements under the windows of a group: in the image, or where a table says.
struct Inside {
  const float* x;
  int64_t line, step;
  HWY_INLINE const float* at(int64_t ty, int64_t j) const { return x + ty * line + j * step; }
  // Fetches what the next row of results needs in addition.
  template <int64_t stride>
  HWY_INLINE void fetch(int64_t c) const {
#pragma GCC unroll 2
    for (int64_t i = 0; i < stride; ++i)
#pragma GCC unroll 16
      for (int64_t j = 0; j < stride * group; ++j) __builtin_prefetch(at(3 + i, j) + c, 0, 2);
  }
};
struct Border {
  const float* table[3][2 * group + 1];
  HWY_INLINE const float* at(int64_t ty, int64_t j) const { return table[ty][j]; }
  template <int64_t>
  void fetch(int64_t) const {}
};

// `count` positions from `at` on, for all channels. Rows of taps [y0, y1) are inside the image.
template <int64_t stride, bool far, class Elements, class Load, class Store>
HWY_INLINE void group_vector(const DepthwiseRow& r, int64_t at, int64_t count, int64_t c, const Elements& x, int64_t y0,
                             int64_t y1, Load load, Store store) {
  const D d;
  constexpr int64_t columns = (group - 1) * stride + 3;
  const V bias = r.bias ? load(r.bias + c) : hn::Zero(d);
  V sums[group];
#pragma GCC unroll 8
  for (int64_t i = 0; i < group; ++i) sums[i] = bias;
  if (far) {
    x.template fetch<stride>(c);
#pragma GCC unroll 8
    for (int64_t i = 0; i < group; ++i) __builtin_prefetch(r.y + (at + group + i) * r.channels + c, 1, 2);
  }
  for (int64_t ty = y0; ty < y1; ++ty) {
    const float* w = r.w + ty * 3 * r.channels + c;
    const V weights[3] = {load(w), load(w + r.channels), load(w + 2 * r.channels)};
#pragma GCC unroll 16
    for (int64_t j = 0; j < columns; ++j) {
      const V value = in_register(load(x.at(ty, j) + c));
#pragma GCC unroll 3
      for (int64_t tx = 0; tx < 3; ++tx) {
        const int64_t i = (j - tx) / stride;
        if (j >= tx && (j - tx) % stride == 0 && i < group) sums[i] = hn::MulAdd(weights[tx], value, sums[i]);
      }
    }
  }
  const V low = hn::Set(d, r.low), high = hn::Set(d, r.high);
  const int64_t to = at * r.channels + c;
#pragma GCC unroll 8
  for (int64_t i = 0; i < group; ++i) {
    if (i >= count) break;
    if (r.sum) sums[i] = hn::Add(sums[i], load(r.sum + to + i * r.channels));
    store(bounded(sums[i], low, high), r.y + to + i * r.channels);
  }
}

template <int64_t stride, bool far, class Elements>
void group_positions(const DepthwiseRow& r, int64_t at, int64_t count, const Elements& x) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto [y0, y1] = r.ay->taps(r.row);
  int64_t c = 0;
  for (; c + lanes <= r.channels; c += lanes)
    group_vector<stride, far>(
        r, at, count, c, x, y0, y1, [&](const float* p) { return hn::LoadU(d, p); },
        [&](V v, float* p) { hn::StoreU(v, d, p); });
  if (c == r.channels) return;
  const auto n = static_cast<size_t>(r.channels - c);
  group_vector<stride, far>(
      r, at, count, c, x, y0, y1, [&](const float* p) { return load_first(d, p, n); },
      [&](V v, float* p) { store_first(v, d, p, n); });
}

template <int64_t stride>
void row_of_groups(const DepthwiseRow& r) {
  const WindowAxis& ax = *r.ax;
  constexpr int64_t columns = (group - 1) * stride + 3;
  int64_t line = ax.input * r.channels, top = r.row * stride - r.ay->begin;
  for (int64_t at = 0; at < ax.output; at += group) {
    int64_t count = std::min(group, ax.output - at), left = at * stride - ax.begin;
    if (left >= 0 && left + columns <= ax.input) {
      Inside inside{r.x + top * line + left * r.channels, line, r.channels};
      if (r.far) group_positions<stride, true>(r, at, count, inside);
      else group_positions<stride, false>(r, at, count, inside);
      continue;
    }
    Border border;
    for (int64_t ty = 0; ty < 3; ++ty)
      for (int64_t j = 0; j < columns; ++j) {
        bool inside = left + j >= 0 && left + j < ax.input;
        border.table[ty][j] = inside ? r.x + (top + ty) * line + (left + j) * r.channels : r.zeros;
      }
    group_positions<stride, false>(r, at, count, border);
  }
}

bool in_groups(const WindowAxis& w) { return w.kernel == 3 && w.dilation == 1; }

}  // namespace
void depthwise_row(const DepthwiseRow& r) {
  const D d;
  if (in_groups(*r.ay) && in_groups(*r.ax) && r.ay->stride == r.ax->stride && r.ax->stride <= 2)
    return r.ax->stride == 1 ? row_of_groups<1>(r) : row_of_groups<2>(r);
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes <= r.channels; c += lanes)
    all_positions(
        r, c, [&](const float* p) { return hn::LoadU(d, p); }, [&](V v, float* p) { hn::StoreU(v, d, p); });
  if (c == r.channels) return;
  const auto n = static_cast<size_t>(r.channels - c);
  all_positions(
      r, c, [&](const float* p) { return load_first(d, p, n); }, [&](V v, float* p) { store_first(v, d, p, n); });
}

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(depthwise_row);

struct DepthwiseWeights {
  Floats by_tap;
  Floats odd = {};  // as they are, if not all are finite
};
DepthwiseWeights depthwise_pack(Pack& ctx) {
  TensorView w = ctx.take(1);
  if (!w) return {};
  int64_t channels = w.dim(0), taps = channels ? w.size() / channels : 0;
  DepthwiseWeights out{allocate_floats(static_cast<size_t>(w.size()))};
  const float* from = w.data<float>();
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t t = 0; t < taps; ++t) out.by_tap[static_cast<size_t>(t * channels + c)] = *from++;
  out.odd = not_finite(w);
  return out;
}

struct DepthwiseState {
  WindowAxes axes;
  int64_t batch = 0, channels = 0;
  const float* weights = nullptr;
  Epilogue epilogue;
  ConvolutionSizes sizes;
  const float* odd = nullptr;  // weights that are not all finite
};

void depthwise_accept(Accept& ctx) {
  fused_accept(ctx);
  Shape w = ctx.shape(1);
  if (!ctx.attr<bool>("grouped") || w[1].value() != 1 || w[2].value() != 1)
    unsupported("expected one input and one output channel per group, got weights of shape ", w);
}

DepthwiseState depthwise_prepare(Prepare& ctx, const FusedAttributes& a) {
  ConvolutionSizes sizes = image_sizes(ctx, a);
  const auto& weights = ctx.packed<DepthwiseWeights>();
  if (!weights.by_tap) unsupported("requires weights that are stored in the model");
  return {sizes.axes, sizes.batch, sizes.groups, weights.by_tap.get(), epilogue_of(ctx, a), sizes, weights.odd.get()};
}

void depthwise_run(Run& ctx, const FusedAttributes&, const DepthwiseState& s) {
  OutputView out = ctx.output(0);
  if (out.size() == 0) return;
  if (s.odd) return fused_inside(ctx, s.epilogue, s.sizes, s.odd);
  const WindowAxis &ay = s.axes[1], &ax = s.axes[2];
  const float* x = ctx.input(0).channels_last<const float>();
  const float* bias = ctx.has_input(2) ? ctx.input(2).data<const float>() : nullptr;
  const float* sum = ctx.has_input(3) ? ctx.input(3).channels_last<const float>() : nullptr;
  float* y = out.channels_last<float>();
  auto run = HWY_DYNAMIC_DISPATCH(depthwise_row);
  constexpr int64_t cached = 1 << 18;  // elements
  const bool far = ay.input * ax.input * s.channels > cached;
  int64_t row = ax.output * s.channels, work = row * ay.kernel * ax.kernel;
  ctx.parallel_for(
      s.batch * ay.output, std::max<int64_t>(1, (1 << 17) / std::max<int64_t>(work, 1)),
      [&](int64_t begin, int64_t end) {
        float* zeros = thread_floats(static_cast<size_t>(s.channels));
        std::fill(zeros, zeros + s.channels, 0.0f);
        for (int64_t i = begin; i < end; ++i) {
          run({&ay, &ax, s.channels, i % ay.output, x + i / ay.output * ay.input * ax.input * s.channels, s.weights,
               bias, sum ? sum + i * row : nullptr, y + i * row, s.epilogue.low, s.epilogue.high, zeros, far});
          s.epilogue.activate(y + i * row, 1, 0, row);
        }
      });
}

}  // namespace

Definitions depthwise_last_convolution() {
  return Kernel("CPU", "depthwise_f32")
      .of(fused_convolution, "graft")
      .accept(depthwise_accept)
      .layouts(fused_layouts())
      .pack(depthwise_pack)
      .run(depthwise_prepare, depthwise_run);
}

}  // namespace graft
#endif
