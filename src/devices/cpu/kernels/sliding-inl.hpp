// Vectorized sliding windows over one plane.
//
// A thread copies the rows under a band of windows into its own memory, with materialized padding and the columns
// deinterleaved into phases by the stride: elements 0, s, 2s, ... first, then 1, s + 1, ... After that every tap is a
// contiguous row, and a vector of results combines one unaligned load per tap.
//
//   slide(axes, x, outside, count, [&](int64_t plane, int64_t line) { return F{...}; }, y);
//
// F defines the computation: start(d), step(tap number, d, element vector, accumulator), end(d, accumulator, line,
// column).
#include <hwy/highway.h>

#if defined(GRAFT_CPU_SLIDING_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_CPU_SLIDING_INL
#undef GRAFT_CPU_SLIDING_INL
#else
#define GRAFT_CPU_SLIDING_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// One row of the input for the windows: `columns` elements per phase, phases `phase` apart. Element i of phase p is
// column i * stride + p - begin; positions in the padding are `outside`. `readable`: number of elements that are safe
// to load, counted from the first of the row. Writes up to one vector past the columns.
inline void fill_row(const WindowAxis& ax, const float* row, int64_t readable, int64_t columns, int64_t phase,
                     float outside, float* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto plain = [&](int64_t p, int64_t from, int64_t until) {
    for (int64_t i = from; i < until; ++i) {
      int64_t c = i * ax.stride + p - ax.begin;
      to[p * phase + i] = c >= 0 && c < ax.input ? row[c] : outside;
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
    for (int64_t k = last; k < columns; ++k) to[p * phase + k] = outside;
  }
}

// The rows under the windows of one plane, and where the results go.
struct SlidingRows {
  const float* x;        // first row under the first line of windows
  int64_t line, down;    // distance to the next line of windows, and to the next row of taps
  const int64_t* right;  // offset of each tap within a row
  int64_t taps_y, taps_x;
  float *y, *end;  // of the plane of results
  int64_t width;   // of a line of results
};

// Computes `wide` vectors of `high` lines. Full vectors are stored as long as they stay within the plane: what spills
// into the next line is overwritten when that one is computed. `ky` and `kx` are the window size if it is a
// compile-time constant, otherwise 0.
template <int64_t ky, int64_t kx, int64_t wide, int64_t high, class F>
HWY_INLINE void piece(const SlidingRows& r, const F& f, int64_t line, int64_t at) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sum[high][wide];
#pragma GCC unroll 4
  for (int64_t h = 0; h < high; ++h)
#pragma GCC unroll 4
    for (int64_t v = 0; v < wide; ++v) sum[h][v] = f.start(d);
  const float* HWY_RESTRICT x = r.x + line * r.line + at;
  int64_t tap = 0;
  for (int64_t y = 0; y < (ky ? ky : r.taps_y); ++y, x += r.down)
#pragma GCC unroll 8
    for (int64_t c = 0; c < (kx ? kx : r.taps_x); ++c) {
      const auto weight = f.tap(d, tap++);
#pragma GCC unroll 4
      for (int64_t h = 0; h < high; ++h)
#pragma GCC unroll 4
        for (int64_t v = 0; v < wide; ++v)
          sum[h][v] = f.step(weight, hn::LoadU(d, x + h * r.line + r.right[c] + v * lanes), sum[h][v]);
    }
#pragma GCC unroll 4
  for (int64_t h = 0; h < high; ++h)
#pragma GCC unroll 4
    for (int64_t v = 0; v < wide; ++v) {
      const auto result = f.end(d, sum[h][v], line + h, at + v * lanes);
      float* to = r.y + (line + h) * r.width + at + v * lanes;
      if (r.end - to >= lanes) {
        hn::StoreU(result, d, to);
      } else {
        HWY_ALIGN float rest[HWY_MAX_BYTES / sizeof(float)] = {};
        hn::Store(result, d, rest);
        for (int64_t k = 0; to + k < r.end; ++k) to[k] = rest[k];
      }
    }
}

template <int64_t ky, int64_t kx, class F>
void lines_of_results(const SlidingRows& r, const F& f, int64_t lines) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  int64_t line = 0;
  if (r.width <= lanes) {
    for (; line + 4 <= lines; line += 4) piece<ky, kx, 1, 4>(r, f, line, 0);
    for (; line < lines; ++line) piece<ky, kx, 1, 1>(r, f, line, 0);
    return;
  }
  for (; line < lines; ++line) {
    int64_t i = 0;
    for (; i + 3 * lanes < r.width; i += 4 * lanes) piece<ky, kx, 4, 1>(r, f, line, i);
    for (; i + lanes < r.width; i += 2 * lanes) piece<ky, kx, 2, 1>(r, f, line, i);
    for (; i < r.width; i += lanes) piece<ky, kx, 1, 1>(r, f, line, i);
  }
}

// `count` output planes from one input plane.
template <class Make>
void slide(const WindowAxes& axes, const float* x, float outside, int64_t count, Make make, float* y) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  const WindowAxis &ay = axes[1], &ax = axes[2];
  // Vectors may load past the last window, but never past the row.
  int64_t columns = ax.output + (ax.kernel - 1) * ax.dilation / ax.stride;
  int64_t phase = (columns + 4 * lanes + 15) / 16 * 16, pitch = phase * ax.stride;
  int64_t window = (ay.kernel - 1) * ay.dilation + 1;
  int64_t band = std::clamp<int64_t>((sliding_band_floats / pitch - window) / ay.stride + 1, 1, ay.output);
  float* rows = thread_floats(static_cast<size_t>(((band - 1) * ay.stride + window) * pitch));
  int64_t right[sliding_most_taps];
  for (int64_t c = 0; c < ax.kernel; ++c) right[c] = c * ax.dilation % ax.stride * phase + c * ax.dilation / ax.stride;
  using F = decltype(make(int64_t{}, int64_t{}));
  auto lines = ay.kernel == 3 && ax.kernel == 3   ? lines_of_results<3, 3, F>
               : ay.kernel == 5 && ax.kernel == 5 ? lines_of_results<5, 5, F>
                                                  : lines_of_results<0, 0, F>;
  for (int64_t oy = 0; oy < ay.output; oy += band) {
    int64_t n = std::min(band, ay.output - oy), first = oy * ay.stride - ay.begin;
    for (int64_t r = 0; r < (n - 1) * ay.stride + window; ++r) {
      float* to = rows + r * pitch;
      int64_t iy = first + r;
      if (iy < 0 || iy >= ay.input) std::fill(to, to + pitch, outside);
      else fill_row(ax, x + iy * ax.input, (ay.input - iy) * ax.input, columns, phase, outside, to);
    }
    for (int64_t o = 0; o < count; ++o) {
      float* start = y + o * ay.output * ax.output;
      lines({rows, ay.stride * pitch, ay.dilation * pitch, right, ay.kernel, ax.kernel, start + oy * ax.output,
             start + ay.output * ax.output, ax.output},
            make(o, oy), n);
    }
  }
}

}  // namespace
}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
