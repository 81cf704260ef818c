// ConvolutionBackpropData and GroupConvolutionBackpropData in f32.
//
// The contributions of all positions are a matrix product: weights [O * taps, I] times data [I, positions]. Each thread
// owns some output channels, computes their rows of the product for one block of positions at a time, and scatter-adds
// them to the output (col2im); the whole product never exists at once.
#include "convolution_backprop.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "convolution_backprop_gemm.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE void add_run(const float* from, int64_t n, float* to, int64_t step) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  if (step == 1)
    for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Add(hn::LoadU(d, to + i), hn::LoadU(d, from + i)), d, to + i);
  for (; i < n; ++i) to[i * step] += from[i];
}

}  // namespace

// Adds the contribution of one tap at `columns` positions from `first` on.
void spread_tap(const WindowAxes& axes, int64_t tap, int64_t first, int64_t columns, const float* from, float* y) {
  const WindowAxis &az = axes[0], &ay = axes[1], &ax = axes[2];
  int64_t tz = tap / (ay.kernel * ax.kernel), ty = tap / ax.kernel % ay.kernel, tx = tap % ax.kernel;
  int64_t ox = first % ax.output, oy = first / ax.output % ay.output, oz = first / ax.output / ay.output;
  auto [x0, x1] = ax.inside(tx);
  for (int64_t at = 0; at < columns;) {
    int64_t n = std::min(columns - at, ax.output - ox);
    int64_t iz = oz * az.stride + az.offset(tz), iy = oy * ay.stride + ay.offset(ty);
    int64_t begin = std::clamp(x0 - ox, int64_t{0}, n), end = std::clamp(x1 - ox, begin, n);
    if (begin < end && iz >= 0 && iz < az.input && iy >= 0 && iy < ay.input) {
      int64_t to = (iz * ay.input + iy) * ax.input + (ox + begin) * ax.stride + ax.offset(tx);
      add_run(from + at + begin, end - begin, y + to, ax.stride);
    }
    at += n;
    ox = 0;
    if (++oy == ay.output) oy = 0, ++oz;
  }
}

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(spread_tap);

struct BackpropWeights {
  int64_t groups = 1, inputs = 0, outputs = 0, taps = 1;
  Floats packed;  // empty: packed into scratch memory on each run

  // `leading`: the dimensions before the taps
  static BackpropWeights of(std::span<const int64_t> dims, size_t leading) {
    return {leading == 3 ? dims[0] : 1, dims[leading - 2], dims[leading - 1], count_of(dims.subspan(leading)), {}};
  }
  int64_t size() const { return inputs * outputs * taps; }
  // Output channels that a thread processes together.
  int64_t channels() const { return std::max<int64_t>(1, 6 * gemm().mr / std::max<int64_t>(1, taps)); }
};

struct BackpropState : BackpropSizes {
  int64_t channels = 1;
  const float* packed = nullptr;  // weights; null: packed into scratch memory on each run
  int64_t packed_size() const { return inputs * outputs * taps(); }
};

// Channels that are processed together are packed together.
void pack_weights(const BackpropWeights& s, const float* w, float* to) {
  for (int64_t g = 0; g < s.groups; ++g, w += s.size(), to += s.size())
    for (int64_t o = 0; o < s.outputs; o += s.channels())
      gemm().pack_a({w + o * s.taps, 1, s.outputs * s.taps}, std::min(s.channels(), s.outputs - o) * s.taps, s.inputs,
                    to + o * s.taps * s.inputs);
}

template <size_t leading>
BackpropWeights backprop_pack(Pack& ctx) {
  TensorView w = ctx.take(1);
  if (!w) return {};
  BackpropWeights out = BackpropWeights::of(w.dims(), leading);
  out.packed = allocate_floats(static_cast<size_t>(w.size()));
  if (w.size() > 0) pack_weights(out, w.data<float>(), out.packed.get());
  return out;
}

BackpropState backprop_prepare(Prepare& ctx, const BackpropAttributes& attributes) {
  BackpropState s{backprop_sizes(ctx, attributes)};
  s.channels = BackpropWeights{s.groups, s.inputs, s.outputs, s.taps(), {}}.channels();
  s.packed = ctx.is_constant(1) ? ctx.packed<BackpropWeights>().packed.get() : nullptr;
  if (!s.packed) ctx.scratch(static_cast<size_t>(s.groups * s.packed_size()) * sizeof(float));
  return s;
}

// Computes output channels from `o` on, of one image and group.
void backprop_channels(const BackpropState& s, const float* x, const float* w, int64_t o, float* y) {
  const Gemm& g = gemm();
  int64_t taps = s.taps(), rows = std::min(s.channels, s.outputs - o) * taps;
  int64_t positions = output_plane(s.axes), image = input_plane(s.axes);
  std::fill(y + o * image, y + (o + rows / taps) * image, 0.0f);
  constexpr int64_t columns = gemm_columns / 2;
  int64_t depth = std::min(s.inputs, gemm_depth);
  float* panels = thread_floats(static_cast<size_t>(gemm_packed_b(g, depth, columns) + rows * columns));
  float* product = panels + gemm_packed_b(g, depth, columns);
  for (int64_t j = 0; j < positions; j += columns) {
    int64_t n = std::min(columns, positions - j);
    for (int64_t k = 0; k < s.inputs; k += depth) {
      int64_t now = std::min(depth, s.inputs - k);
      g.pack_b({x + k * positions + j, positions, 1}, now, n, panels);
      g.multiply(rows, n, now, w + o * taps * s.inputs, s.inputs, k, panels, now, 0, product, columns, k > 0);
    }
    for (int64_t r = 0; r < rows; ++r)
      HWY_DYNAMIC_DISPATCH(spread_tap)(s.axes, r % taps, j, n, product + r * columns, y + (o + r / taps) * image);
  }
}

void backprop_run(Run& ctx, const BackpropAttributes&, const BackpropState& s) {
  OutputView out = ctx.output(0);
  float* y = out.data<float>();
  if (out.size() == 0) return;
  if (s.inputs == 0 || ctx.input(0).size() == 0) return void(std::fill(y, y + out.size(), 0.0f));
  const float* x = ctx.input(0).data<const float>();
  const float* w = s.packed;
  if (!w) {
    pack_weights({s.groups, s.inputs, s.outputs, s.taps(), {}}, ctx.input(1).data<float>(),
                 static_cast<float*>(ctx.scratch()));
    w = static_cast<const float*>(ctx.scratch());
  }
  int64_t parts = (s.outputs + s.channels - 1) / s.channels;
  int64_t from = s.inputs * output_plane(s.axes), to = s.outputs * input_plane(s.axes);
  ctx.parallel_for(s.batch * s.groups * parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      int64_t which = t / parts;
      backprop_channels(s, x + which * from, w + which % s.groups * s.packed_size(), t % parts * s.channels,
                        y + which * to);
    }
  });
}

}  // namespace

Definitions gemm_backprop() {
  auto kernel = [](std::string_view type) {
    return Kernel("CPU", "gemm_f32").of(type, "opset1").accept(backprop_accept);
  };
  return {kernel("ConvolutionBackpropData").pack(backprop_pack<2>).run(backprop_prepare, backprop_run),
          kernel("GroupConvolutionBackpropData").pack(backprop_pack<3>).run(backprop_prepare, backprop_run)};
}

}  // namespace graft
#endif
