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

// One row of the input for the windows: `columns` elements in each phase, `phase` apart. Element i of phase p is column
// i * stride + p - begin; what lies outside is zero. `readable` elements from the row's first on may be looked at. Writes up
// to a vector's length behind the columns.
void fill_row(const WindowAxis& ax, const float* row, int64_t readable, int64_t columns, int64_t phase, float* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto plain = [&](int64_t p, int64_t from, int64_t until) {
    for (int64_t i = from; i < until; ++i) {
      int64_t c = i * ax.stride + p - ax.begin;
      to[p * phase + i] = c >= 0 && c < ax.input ? row[c] : 0.0f;
    }
  };
  if (ax.stride > 2) {
    for (int64_t p = 0; p < ax.stride; ++p) plain(p, 0, columns);
    return;
  }
  int64_t first = std::min(ax.begin > 0 ? (ax.begin + ax.stride - 1) / ax.stride : 0, columns), i = first;
  if (ax.stride == 1) {
    for (; i < columns && i - ax.begin + lanes <= readable; i += lanes)
      hn::StoreU(hn::LoadU(d, row + (i - ax.begin)), d, to + i);
  } else {
    for (; i < columns && 2 * (i + lanes) - ax.begin <= readable; i += lanes) {
      hn::Vec<decltype(d)> even, odd;
      hn::LoadInterleaved2(d, row + (2 * i - ax.begin), even, odd);
      hn::StoreU(even, d, to + i);
      hn::StoreU(odd, d, to + phase + i);
    }
  }
  for (int64_t p = 0; p < ax.stride; ++p) {
    plain(p, 0, first);
    plain(p, i, columns);
    int64_t past = ax.input + ax.begin - p;  // where the columns of the image end
    int64_t last = std::clamp(past > 0 ? (past + ax.stride - 1) / ax.stride : 0, first, std::max(first, columns));
    for (int64_t k = last; k < columns; ++k) to[p * phase + k] = 0.0f;
  }
}

// What the windows of one plane see, and where their results go.
struct DepthwiseRows {
  const float* x;              // first row under the first line of windows
  int64_t line, down;          // from one line of windows to the next, from one row of taps to the next
  const int64_t* right;        // where each tap of a row lies
  const float* w;
  int64_t taps_y, taps_x;
  float *y, *end;              // of the plane of results
  int64_t width;               // of a line of results
};

// `wide` vectors of `high` lines. Full vectors are stored as long as they stay in the plane: what they write into the
// next line is overwritten when that is computed. `ky` and `kx` are the window's size where it is known beforehand, else 0.
template <int64_t ky, int64_t kx, int64_t wide, int64_t high>
HWY_INLINE void piece(const DepthwiseRows& r, int64_t line, int64_t at) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sum[high][wide];
#pragma GCC unroll 4
  for (int64_t h = 0; h < high; ++h)
#pragma GCC unroll 4
    for (int64_t v = 0; v < wide; ++v) sum[h][v] = hn::Zero(d);
  const float* HWY_RESTRICT x = r.x + line * r.line + at;
  const float* HWY_RESTRICT w = r.w;
  for (int64_t y = 0; y < (ky ? ky : r.taps_y); ++y, x += r.down)
#pragma GCC unroll 8
    for (int64_t c = 0; c < (kx ? kx : r.taps_x); ++c) {
      const auto weight = hn::Set(d, *w++);
#pragma GCC unroll 4
      for (int64_t h = 0; h < high; ++h)
#pragma GCC unroll 4
        for (int64_t v = 0; v < wide; ++v)
          sum[h][v] = hn::MulAdd(weight, hn::LoadU(d, x + h * r.line + r.right[c] + v * lanes), sum[h][v]);
    }
#pragma GCC unroll 4
  for (int64_t h = 0; h < high; ++h)
#pragma GCC unroll 4
    for (int64_t v = 0; v < wide; ++v) {
      float* to = r.y + (line + h) * r.width + at + v * lanes;
      if (r.end - to >= lanes) {
        hn::StoreU(sum[h][v], d, to);
      } else {
        HWY_ALIGN float rest[HWY_MAX_BYTES / sizeof(float)] = {};
        hn::Store(sum[h][v], d, rest);
        for (int64_t k = 0; to + k < r.end; ++k) to[k] = rest[k];
      }
    }
}

template <int64_t ky, int64_t kx>
void lines_of_results(const DepthwiseRows& r, int64_t lines) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  int64_t line = 0;
  if (r.width <= lanes) {
    for (; line + 4 <= lines; line += 4) piece<ky, kx, 1, 4>(r, line, 0);
    for (; line < lines; ++line) piece<ky, kx, 1, 1>(r, line, 0);
    return;
  }
  for (; line < lines; ++line) {
    int64_t i = 0;
    for (; i + 3 * lanes < r.width; i += 4 * lanes) piece<ky, kx, 4, 1>(r, line, i);
    for (; i + lanes < r.width; i += 2 * lanes) piece<ky, kx, 2, 1>(r, line, i);
    for (; i < r.width; i += lanes) piece<ky, kx, 1, 1>(r, line, i);
  }
}

// `count` planes of results from one of the input.
void plane(const WindowAxes& axes, const float* x, const float* w, int64_t count, float* y) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  const WindowAxis &ay = axes[1], &ax = axes[2];
  // Vectors read behind the last window, never behind the row.
  int64_t columns = ax.output + (ax.kernel - 1) * ax.dilation / ax.stride;
  int64_t phase = gemm_round_up(columns + 4 * lanes, 16), pitch = phase * ax.stride;
  int64_t window = (ay.kernel - 1) * ay.dilation + 1, taps = ay.kernel * ax.kernel;
  int64_t band = std::clamp<int64_t>((depthwise_band_floats / pitch - window) / ay.stride + 1, 1, ay.output);
  float* rows = thread_floats(static_cast<size_t>(((band - 1) * ay.stride + window) * pitch));
  int64_t right[depthwise_most_taps];
  for (int64_t c = 0; c < ax.kernel; ++c) right[c] = c * ax.dilation % ax.stride * phase + c * ax.dilation / ax.stride;
  auto lines = ay.kernel == 3 && ax.kernel == 3   ? lines_of_results<3, 3>
               : ay.kernel == 5 && ax.kernel == 5 ? lines_of_results<5, 5>
                                                  : lines_of_results<0, 0>;
  for (int64_t oy = 0; oy < ay.output; oy += band) {
    int64_t n = std::min(band, ay.output - oy), first = oy * ay.stride - ay.begin;
    for (int64_t r = 0; r < (n - 1) * ay.stride + window; ++r) {
      float* to = rows + r * pitch;
      int64_t iy = first + r;
      if (iy < 0 || iy >= ay.input) std::fill(to, to + pitch, 0.0f);
      else fill_row(ax, x + iy * ax.input, (ay.input - iy) * ax.input, columns, phase, to);
    }
    for (int64_t o = 0; o < count; ++o) {
      float* start = y + o * ay.output * ax.output;
      lines({rows, ay.stride * pitch, ay.dilation * pitch, right, w + o * taps, ay.kernel, ax.kernel,
             start + oy * ax.output, start + ay.output * ax.output, ax.output},
            n);
    }
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
