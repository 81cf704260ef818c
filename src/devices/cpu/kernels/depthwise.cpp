// GroupConvolution in f32 where each group has one input channel, over one or two spatial axes.
//
// A thread copies the rows that a band of windows sees into its own memory, with the padding written out and the
// columns of a stride sorted into phases: elements 0, s, 2s, ... first, then 1, s + 1, ... After that every tap is a
// plain row of neighbours, and a vector of results is the sum of taps times one unaligned load each. Too few
// multiplications per element for a product of matrices to pay.
#include "convolution.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "depthwise.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// A band of one plane: its rows lie `pitch` apart, each as `axes[2].stride` phases that lie `phase` apart.
struct DepthwiseBand {
  int64_t first_row, rows, phase, pitch;  // rows of the input
};

void fill_band(const WindowAxis& ay, const WindowAxis& ax, const DepthwiseBand& b, const float* x, float* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < b.rows; ++r, to += b.pitch) {
    int64_t iy = b.first_row + r;
    if (iy < 0 || iy >= ay.input) {
      std::fill(to, to + b.pitch, 0.0f);
      continue;
    }
    const float* row = x + iy * ax.input;
    for (int64_t p = 0; p < ax.stride; ++p) {
      // Element i of this phase is column i * stride + p - begin of the input.
      float* target = to + p * b.phase;
      int64_t at = p - ax.begin;
      int64_t first = std::min(at >= 0 ? 0 : (-at + ax.stride - 1) / ax.stride, b.phase);
      int64_t last = std::clamp(at >= ax.input ? 0 : (ax.input - 1 - at) / ax.stride + 1, first, b.phase);
      std::fill(target, target + first, 0.0f);
      int64_t i = first;
      if (ax.stride == 1) {
        for (; i + lanes <= last; i += lanes) hn::StoreU(hn::LoadU(d, row + (at + i)), d, target + i);
      } else if (ax.stride == 2) {
        for (; 2 * (i + lanes) + at <= ax.input && i + lanes <= last; i += lanes) {
          hn::Vec<decltype(d)> even, odd;
          hn::LoadInterleaved2(d, row + (at + 2 * i), even, odd);
          hn::StoreU(even, d, target + i);
        }
      }
      for (; i < last; ++i) target[i] = row[at + i * ax.stride];
      std::fill(target + last, target + b.phase, 0.0f);
    }
  }
}

// `width` vectors of one row of results. `ky` and `kx` are the window's size where it is known beforehand, else 0.
template <int64_t ky, int64_t kx, int64_t width>
HWY_INLINE void row_piece(const float* HWY_RESTRICT x, int64_t down, const int64_t* HWY_RESTRICT right,
                          const float* HWY_RESTRICT w, int64_t taps_y, int64_t taps_x, float* HWY_RESTRICT y) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sum[width];
#pragma GCC unroll 4
  for (int64_t v = 0; v < width; ++v) sum[v] = hn::Zero(d);
  for (int64_t r = 0; r < (ky ? ky : taps_y); ++r, x += down)
#pragma GCC unroll 8
    for (int64_t c = 0; c < (kx ? kx : taps_x); ++c) {
      const auto weight = hn::Set(d, *w++);
#pragma GCC unroll 4
      for (int64_t v = 0; v < width; ++v) sum[v] = hn::MulAdd(weight, hn::LoadU(d, x + right[c] + v * lanes), sum[v]);
    }
#pragma GCC unroll 4
  for (int64_t v = 0; v < width; ++v) hn::StoreU(sum[v], d, y + v * lanes);
}

template <int64_t ky, int64_t kx>
void row_of_results(const float* x, int64_t down, const int64_t* right, const float* w, const WindowAxis& ay,
                    const WindowAxis& ax, float* y) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 4 * lanes <= ax.output; i += 4 * lanes)
    row_piece<ky, kx, 4>(x + i, down, right, w, ay.kernel, ax.kernel, y + i);
  for (; i + lanes <= ax.output; i += lanes) row_piece<ky, kx, 1>(x + i, down, right, w, ay.kernel, ax.kernel, y + i);
  if (i == ax.output) return;
  HWY_ALIGN float rest[HWY_MAX_BYTES / sizeof(float)];
  row_piece<ky, kx, 1>(x + i, down, right, w, ay.kernel, ax.kernel, rest);
  std::copy(rest, rest + (ax.output - i), y + i);
}

// `count` planes of results from one of the input.
void plane(const WindowAxes& axes, const float* x, const float* w, int64_t count, float* y) {
  const hn::ScalableTag<float> d;
  const WindowAxis &ay = axes[1], &ax = axes[2];
  DepthwiseBand b{};
  // Vectors may read beyond the last window, never beyond the row.
  int64_t columns = ax.output + (ax.kernel - 1) * ax.dilation / ax.stride;
  b.phase = gemm_round_up(columns + static_cast<int64_t>(hn::Lanes(d)), 16);
  b.pitch = b.phase * ax.stride;
  int64_t window = (ay.kernel - 1) * ay.dilation + 1;
  int64_t band = std::clamp<int64_t>((depthwise_band_floats / b.pitch - window) / ay.stride + 1, 1, ay.output);
  int64_t most_rows = (band - 1) * ay.stride + window;
  float* rows = thread_floats(static_cast<size_t>(most_rows * b.pitch));
  int64_t right[depthwise_most_taps];
  for (int64_t c = 0; c < ax.kernel; ++c)
    right[c] = c * ax.dilation % ax.stride * b.phase + c * ax.dilation / ax.stride;
  int64_t taps = ay.kernel * ax.kernel;
  auto row = ay.kernel == 3 && ax.kernel == 3   ? row_of_results<3, 3>
             : ay.kernel == 5 && ax.kernel == 5 ? row_of_results<5, 5>
                                                : row_of_results<0, 0>;
  for (int64_t oy = 0; oy < ay.output; oy += band) {
    int64_t n = std::min(band, ay.output - oy);
    b.first_row = oy * ay.stride - ay.begin;
    b.rows = (n - 1) * ay.stride + window;
    fill_band(ay, ax, b, x, rows);
    for (int64_t o = 0; o < count; ++o)
      for (int64_t r = 0; r < n; ++r)
        row(rows + r * ay.stride * b.pitch, ay.dilation * b.pitch, right, w + o * taps, ay, ax,
            y + (o * ay.output + oy + r) * ax.output);
  }
}

}  // namespace
void depthwise_plane(const WindowAxes& axes, const float* x, const float* w, int64_t count, float* y) {
  plane(axes, x, w, count, y);
}

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(depthwise_plane);

void depthwise_accept(Accept& ctx) {
  convolution_accept(ctx);
  ConvolutionSizes s = convolution_sizes(ctx, ctx.attributes<ConvolutionAttributes>());
  const WindowAxis &az = s.axes[0], &ay = s.axes[1], &ax = s.axes[2];
  if (s.inputs != 1) unsupported("takes one input channel a group, not ", s.inputs);
  if (s.outputs > 8) unsupported("takes up to 8 outputs a group, not ", s.outputs);
  if (az.kernel != 1 || az.input != 1 || az.output != 1) unsupported("takes one or two spatial axes");
  if (ax.kernel > depthwise_most_taps)
    unsupported("takes up to ", depthwise_most_taps, " taps in a row, not ", ax.kernel);
  // The rows under one line of windows must fit a thread's memory.
  double width = static_cast<double>(ax.output + ax.kernel * ax.dilation + 64) * static_cast<double>(ax.stride);
  double height = static_cast<double>(ay.kernel) * static_cast<double>(ay.dilation);
  if (width * height > 16.0 * depthwise_band_floats)
    unsupported("takes windows of up to ", 16 * depthwise_band_floats, " elements");
}

ConvolutionSizes depthwise_prepare(Prepare& ctx, const ConvolutionAttributes& a) { return convolution_sizes(ctx, a); }

void depthwise_run(Run& ctx, const ConvolutionAttributes&, const ConvolutionSizes& s) {
  TensorView out = ctx.output(0);
  if (out.size() == 0) return;
  float* y = out.data<float>();
  const float* x = ctx.input(0).data<const float>();
  const float* w = ctx.input(1).data<const float>();
  int64_t from = input_plane(s.axes), to = output_plane(s.axes), taps = s.taps();
  int64_t grain = std::max<int64_t>(1, (1 << 17) / std::max<int64_t>(1, to * taps * s.outputs));
  auto f = HWY_DYNAMIC_DISPATCH(depthwise_plane);
  ctx.parallel_for(s.batch * s.groups, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t)
      f(s.axes, x + t * from, w + t % s.groups * s.outputs * taps, s.outputs, y + t * s.outputs * to);
  });
}

}  // namespace

Ops cpu_depthwise() {
  return Kernel("CPU", "depthwise_f32")
      .of("GroupConvolution", "opset1")
      .accept(depthwise_accept)
      .run(depthwise_prepare, depthwise_run);
}

}  // namespace graft
#endif
