// Convolution and GroupConvolution in f32.
//
// Computed as a matrix product (im2col): weights [O, I * taps] times the window matrix [I * taps, positions]. Only a
// block of the latter exists at a time, packed by the thread that needs it directly into the panels that gemm.hpp
// multiplies. For a 1 x 1 window without padding, the window matrix is the image itself. Constant weights are packed
// once.
#include "inside.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "convolution_gemm.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Copies `n` elements that are `step` apart. `readable`: number of elements that are safe to load, counted from the
// first. May write up to one vector past the end.
HWY_INLINE void copy_run(const float* from, int64_t step, int64_t readable, int64_t n, float* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  if (step == 1) {
    for (; i < n && i + lanes <= readable; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  } else if (step == 2) {
    for (; i < n && 2 * (i + lanes) <= readable; i += lanes) {
      hn::Vec<decltype(d)> even, odd;
      hn::LoadInterleaved2(d, from + 2 * i, even, odd);
      hn::StoreU(even, d, to + i);
    }
  }
  for (; i < n; ++i) to[i] = from[i * step];
}

// Packs rows [k, k + depth) and `columns` columns from position `first` on of the window matrix into panels of `nr`
// columns. A row is a channel and a tap, a column an output position.
void pack_windows(const WindowAxes& axes, const float* x, int64_t k, int64_t rows, int64_t depth, int64_t first,
                  int64_t columns, int64_t nr, float* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const WindowAxis &az = axes[0], &ay = axes[1], &ax = axes[2];
  int64_t plane = input_plane(axes), taps = az.kernel * ay.kernel * ax.kernel, padded = gemm_round_up(columns, nr);
  HWY_ALIGN float row[gemm_columns + HWY_MAX_BYTES / sizeof(float)];
  const int64_t first_x = first % ax.output, first_y = first / ax.output % ay.output,
                first_z = first / ax.output / ay.output;
  const float* image = x + k / taps * plane;
  int64_t tz = k % taps / (ay.kernel * ax.kernel), ty = k % taps / ax.kernel % ay.kernel, tx = k % taps % ax.kernel;
  for (int64_t r = 0; r < rows; ++r) {
    auto [x0, x1] = ax.inside(tx);
    int64_t ox = first_x, oy = first_y, oz = first_z;
    for (int64_t at = 0; at < columns;) {
      int64_t n = std::min(columns - at, ax.output - ox);
      int64_t iz = oz * az.stride + az.offset(tz), iy = oy * ay.stride + ay.offset(ty);
      int64_t begin = std::clamp(x0 - ox, int64_t{0}, n), end = std::clamp(x1 - ox, begin, n);
      if (iz < 0 || iz >= az.input || iy < 0 || iy >= ay.input) begin = end = n;
      for (int64_t i = 0; i < begin; ++i) row[at + i] = 0;
      if (begin < end) {
        int64_t from = (iz * ay.input + iy) * ax.input + (ox + begin) * ax.stride + ax.offset(tx);
        copy_run(image + from, ax.stride, plane - from, end - begin, row + at + begin);
      }
      for (int64_t i = end; i < n; ++i) row[at + i] = 0;
      at += n;
      ox = 0;
      if (++oy == ay.output) oy = 0, ++oz;
    }
    // Copies may have written past the last column.
    for (int64_t i = columns; i < padded; ++i) row[i] = 0;
    for (int64_t p = 0; p < padded; p += nr)
      for (int64_t i = 0; i < nr; i += lanes) hn::Store(hn::Load(d, row + p + i), d, to + p * depth + r * nr + i);
    if (++tx < ax.kernel) continue;
    tx = 0;
    if (++ty < ay.kernel) continue;
    ty = 0;
    if (++tz < az.kernel) continue;
    tz = 0;
    image += plane;
  }
}

}  // namespace
void convolution_windows(const WindowAxes& axes, const float* x, int64_t k, int64_t rows, int64_t depth, int64_t first,
                         int64_t columns, int64_t nr, float* to) {
  pack_windows(axes, x, k, rows, depth, first, columns, nr, to);
}

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(convolution_windows);

// Constant weights, group by group; empty if they are not constant.
struct ConvolutionWeights {
  Floats packed;
  Floats odd = {};  // as they are, if not all are finite
};

struct ConvolutionState {
  ConvolutionSizes sizes;
  GemmBlocks blocks{};
  const float* packed = nullptr;  // weights; null: packed into scratch memory on each run
  const float* odd = nullptr;     // weights that are not all finite
  int64_t depth = 0, packed_size = 0;
  int64_t windows_size = 0;  // size of the complete window matrix in scratch memory; 0: packed block by block
  bool plain = false;        // the window matrix is the image itself
};

// A small image has too few positions to distribute among threads. Its channels are distributed instead, and all
// threads share a window matrix that is written once.
bool is_shared(const ConvolutionState& s, int64_t windows) {
  constexpr int64_t few = 8, most_floats = 1 << 20;
  return output_plane(s.sizes.axes) <= gemm_columns && s.sizes.batch * s.sizes.groups < few && windows <= most_floats;
}

void pack_weights(int64_t groups, int64_t outputs, int64_t depth, const float* w, float* to) {
  for (int64_t g = 0; g < groups; ++g)
    gemm().pack_a({w + g * outputs * depth, depth, 1}, outputs, depth, to + g * outputs * depth);
}

template <bool grouped>
ConvolutionWeights convolution_pack(Pack& ctx) {
  TensorView w = ctx.take(1);
  if (!w) return {};
  ConvolutionWeights out{allocate_floats(static_cast<size_t>(w.size()))};
  int64_t groups = grouped ? w.dim(0) : 1, outputs = w.dim(grouped ? 1 : 0);
  if (w.size() > 0) pack_weights(groups, outputs, w.size() / (groups * outputs), w.data<float>(), out.packed.get());
  out.odd = not_finite(w);
  return out;
}

template <class A>
ConvolutionState convolution_prepare(Prepare& ctx, const A& a) {
  ConvolutionState s;
  s.sizes = convolution_sizes(ctx, a);
  const WindowAxes& axes = s.sizes.axes;
  s.depth = s.sizes.inputs * s.sizes.taps();
  s.packed_size = s.sizes.outputs * s.depth;
  s.plain = s.sizes.taps() == 1;
  for (const WindowAxis& w : axes) s.plain = s.plain && w.stride == 1 && w.begin == 0 && w.input == w.output;
  int64_t windows = gemm_packed_b(gemm(), s.depth, output_plane(axes));
  bool shared = is_shared(s, windows);
  if (shared) s.windows_size = windows;
  s.blocks = gemm_blocks(gemm(), s.sizes.outputs, output_plane(axes), s.depth, shared ? GemmPacks::none : GemmPacks::b,
                         shared ? 1 : s.sizes.batch * s.sizes.groups);
  auto size = static_cast<size_t>(s.sizes.groups * s.packed_size), scratch = static_cast<size_t>(s.windows_size);
  if (ctx.is_constant(1)) {
    const auto& weights = ctx.packed<ConvolutionWeights>();
    s.packed = weights.packed.get(), s.odd = weights.odd.get();
  }
  if (!s.packed) scratch += size;
  ctx.scratch(scratch * sizeof(float));
  return s;
}

// Writes `rows` rows from `k` on and `columns` columns from `j` on of the window matrix, in panels of `depth` rows.
void write_windows(const ConvolutionState& s, const float* x, int64_t k, int64_t rows, int64_t depth, int64_t j,
                   int64_t columns, float* to) {
  HWY_DYNAMIC_DISPATCH(convolution_windows)(s.sizes.axes, x, k, rows, depth, j, columns, gemm().nr, to);
}

// Computes one block of the result. `windows` is the complete window matrix, or null.
void convolution_block(const ConvolutionState& s, const float* x, const float* windows, const float* w, int64_t block,
                       float* y) {
  const Gemm& g = gemm();
  int64_t positions = output_plane(s.sizes.axes), depth = s.blocks.depth;
  int64_t i = block % s.blocks.down * s.blocks.rows, j = block / s.blocks.down * s.blocks.columns;
  int64_t rows = std::min(s.blocks.rows, s.sizes.outputs - i), columns = std::min(s.blocks.columns, positions - j);
  float* panels = windows ? nullptr : thread_floats(static_cast<size_t>(gemm_packed_b(g, depth, columns)));
  for (int64_t k = 0; k < s.depth; k += depth) {
    int64_t now = std::min(depth, s.depth - k);
    const float* left = w + i * s.depth;
    float* to = y + i * positions + j;
    if (windows) {
      g.multiply(rows, columns, now, left, s.depth, k, windows + j * s.depth, s.depth, k, to, positions, k > 0);
      continue;
    }
    if (s.plain) g.pack_b({x + k * positions + j, positions, 1}, now, columns, panels);
    else write_windows(s, x, k, now, now, j, columns, panels);
    g.multiply(rows, columns, now, left, s.depth, k, panels, now, 0, to, positions, k > 0);
  }
}

template <class A>
void convolution_run(Run& ctx, const A&, const ConvolutionState& s) {
  OutputView out = ctx.output(0);
  float* y = out.data<float>();
  if (out.size() == 0) return;
  if (s.depth == 0) return void(std::fill(y, y + out.size(), 0.0f));
  const float* x = ctx.input(0).data<const float>();
  auto* windows = static_cast<float*>(ctx.scratch());
  const float *w = s.packed, *odd = s.odd;
  if (!w && !all_finite(ctx.input(1).data<float>(), ctx.input(1).size())) odd = ctx.input(1).data<float>();
  if (odd)
    return convolve_inside(ctx, s.sizes, odd, false, x, y,
                           [](double sum, int64_t, int64_t) { return static_cast<float>(sum); });
  if (!w) {
    pack_weights(s.sizes.groups, s.sizes.outputs, s.depth, ctx.input(1).data<float>(), windows + s.windows_size);
    w = windows + s.windows_size;
  }
  int64_t count = s.blocks.count(), groups = s.sizes.groups, positions = output_plane(s.sizes.axes);
  int64_t from = s.sizes.inputs * input_plane(s.sizes.axes), to = s.sizes.outputs * positions;
  if (s.windows_size == 0) {
    ctx.parallel_for(s.sizes.batch * groups * count, s.blocks.grain, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        int64_t which = t / count;
        convolution_block(s, x + which * from, nullptr, w + which % groups * s.packed_size, t % count, y + which * to);
      }
    });
    return;
  }
  for (int64_t which = 0; which < s.sizes.batch * groups; ++which) {
    ctx.parallel_for(s.depth, std::max<int64_t>(16, 16384 / positions), [&](int64_t begin, int64_t end) {
      write_windows(s, x + which * from, begin, end - begin, s.depth, 0, positions, windows + begin * gemm().nr);
    });
    ctx.parallel_for(count, s.blocks.grain, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t)
        convolution_block(s, nullptr, windows, w + which % groups * s.packed_size, t, y + which * to);
    });
  }
}

// For plain tensors, when the shapes are known only at run time.
ConvolutionWeights fused_pack(Pack& ctx) {
  return ctx.attr<bool>("grouped") ? convolution_pack<true>(ctx) : convolution_pack<false>(ctx);
}
struct FusedState {
  ConvolutionState convolution;
  Epilogue epilogue;
};
FusedState fused_prepare(Prepare& ctx, const FusedAttributes& a) {
  return {convolution_prepare(ctx, a), epilogue_of(ctx, a)};
}
void fused_run(Run& ctx, const FusedAttributes& a, const FusedState& state) {
  const ConvolutionState& s = state.convolution;
  convolution_run(ctx, a, s);
  OutputView out = ctx.output(0);
  float* y = out.data<float>();
  const float* bias = ctx.has_input(2) ? ctx.input(2).data<const float>() : nullptr;
  const float* sum = ctx.has_input(3) ? ctx.input(3).data<const float>() : nullptr;
  int64_t channels = out.dim(1), plane = output_plane(s.sizes.axes);
  ctx.parallel_for(out.dim(0) * channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * plane; i < end * plane; ++i) {
      float v = y[i] + (bias ? bias[i / plane % channels] : 0.0f) + (sum ? sum[i] : 0.0f);
      y[i] = state.epilogue.bounded(v);
    }
    state.epilogue.activate(y + begin * plane, 1, 0, (end - begin) * plane);
  });
}

}  // namespace

Definitions gemm_convolution() {
  auto kernel = [](std::string_view type) {
    return Kernel("CPU", "gemm_f32").of(type, "opset1").accept(convolution_accept);
  };
  using A = ConvolutionAttributes;
  return {kernel("Convolution").pack(convolution_pack<false>).run(convolution_prepare<A>, convolution_run<A>),
          kernel("GroupConvolution").pack(convolution_pack<true>).run(convolution_prepare<A>, convolution_run<A>),
          Kernel("CPU", "gemm_f32")
              .of(fused_convolution, "graft")
              .accept(convolution_accept)
              .pack(fused_pack)
              .run(fused_prepare, fused_run)};
}

}  // namespace graft
#endif
