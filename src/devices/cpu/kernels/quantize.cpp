// Bytes from numbers and numbers from bytes, and the maximum of windows of bytes.
#include "pool.hpp"
#include "quantized.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantize.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

#include "quantized-inl.hpp"

#ifndef GRAFT_CPU_QUANTIZE_ONCE
#define GRAFT_CPU_QUANTIZE_ONCE
namespace graft {
struct Steps {
  float scale;
  int32_t zero;
};
struct ByteWindow {
  int64_t rows, row_step, columns, column_step;
};
}  // namespace graft
#endif

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {

template <class T>
void to_bytes(const float* x, int64_t n, const Steps& s, T* y) {
  const D d;
  const V scale = hn::Set(d, s.scale);
  constexpr float least = std::is_signed_v<T> ? -128 : 0;
  auto zero = static_cast<float>(s.zero);
  const V low = hn::Set(d, least - zero), high = hn::Set(d, least + 255 - zero);
  for (int64_t i = 0; i < n; i += byte_lanes) {
    int64_t part = std::min(byte_lanes, n - i);
    const V level = hn::Div(load_some(x + i, part), scale);
    const V kept = hn::IfThenElse(hn::IsNaN(level), low, level);
    store_bytes(hn::Min(hn::Max(kept, low), high), s.zero, y + i, part);
  }
}
template <class T>
void from_bytes(const T* x, int64_t n, const Steps& s, float* y) {
  const V scale = hn::Set(D(), s.scale), zero = hn::Set(D(), static_cast<float>(s.zero));
  for (int64_t i = 0; i < n; i += byte_lanes) {
    int64_t part = std::min(byte_lanes, n - i);
    store_some(hn::Mul(hn::Sub(load_bytes(x + i, part), zero), scale), y + i, part);
  }
}

}  // namespace

void quantize_u8(const float* x, int64_t n, const Steps& s, uint8_t* y) { to_bytes(x, n, s, y); }
void quantize_i8(const float* x, int64_t n, const Steps& s, int8_t* y) { to_bytes(x, n, s, y); }
void dequantize_u8(const uint8_t* x, int64_t n, const Steps& s, float* y) { from_bytes(x, n, s, y); }
void dequantize_i8(const int8_t* x, int64_t n, const Steps& s, float* y) { from_bytes(x, n, s, y); }

// y[i] = the maximum of x[i] in a window
void greatest_bytes(const ByteWindow& w, const uint8_t* x, int64_t n, uint8_t* y) {
  const hn::ScalableTag<uint8_t> d;
  constexpr auto lanes = static_cast<int64_t>(hn::MaxLanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    auto best = hn::Zero(d);
    for (int64_t r = 0; r < w.rows; ++r)
      for (int64_t c = 0; c < w.columns; ++c)
        best = hn::Max(best, hn::LoadU(d, x + r * w.row_step + c * w.column_step + i));
    hn::StoreU(best, d, y + i);
  }
  for (; i < n; ++i) {
    y[i] = 0;
    for (int64_t r = 0; r < w.rows; ++r)
      for (int64_t c = 0; c < w.columns; ++c) y[i] = std::max(y[i], x[r * w.row_step + c * w.column_step + i]);
  }
}

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(quantize_u8);
HWY_EXPORT(quantize_i8);
HWY_EXPORT(dequantize_u8);
HWY_EXPORT(dequantize_i8);
HWY_EXPORT(greatest_bytes);

constexpr int64_t grain = 32768;

Steps steps_prepare(Prepare& ctx) {
  return {static_cast<float>(ctx.attr<double>("scale")), static_cast<int32_t>(ctx.attr<int64_t>("zero"))};
}
void quantize_run(Run& ctx, const Steps& s) {
  OutputView y = ctx.output(0);
  const float* x = ctx.input(0).data<const float>();
  bool is_signed = y.type() == DType::i8;
  ctx.parallel_for(y.size(), grain, [&](int64_t begin, int64_t end) {
    if (is_signed) HWY_DYNAMIC_DISPATCH(quantize_i8)(x + begin, end - begin, s, y.data<int8_t>() + begin);
    else HWY_DYNAMIC_DISPATCH(quantize_u8)(x + begin, end - begin, s, y.data<uint8_t>() + begin);
  });
}
void dequantize_run(Run& ctx, const Steps& s) {
  TensorView x = ctx.input(0);
  float* y = ctx.output(0).data<float>();
  bool is_signed = x.type() == DType::i8;
  ctx.parallel_for(x.size(), grain, [&](int64_t begin, int64_t end) {
    if (is_signed) HWY_DYNAMIC_DISPATCH(dequantize_i8)(x.data<const int8_t>() + begin, end - begin, s, y + begin);
    else HWY_DYNAMIC_DISPATCH(dequantize_u8)(x.data<const uint8_t>() + begin, end - begin, s, y + begin);
  });
}

// ---- MaxPool of bytes with the channels last ----

void byte_pool_accept(Accept& ctx) {
  if (ctx.type(0) != DType::u8) unsupported("expected u8, got ", ctx.type(0));
  if (!ctx.shape(0).is_static() || !ctx.output(0).shape.is_static()) unsupported("requires static shapes");
  if (ctx.shape(0).rank() > 4) unsupported("expected at most two spatial axes, got ", ctx.shape(0));
  accept_full_windows(pool_axes(ctx));
}
struct BytePool {
  WindowAxes axes;
  std::vector<std::pair<int64_t, int64_t>> taps;  // of the positions in a line
};
BytePool byte_pool_prepare(Prepare& ctx) {
  BytePool s{pool_axes(ctx), {}};
  for (int64_t x = 0; x < s.axes[2].output; ++x) s.taps.push_back(s.axes[2].taps(x));
  return s;
}

void byte_pool_run(Run& ctx, const BytePool& s) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  const auto* from = x.channels_last<const uint8_t>();
  auto* to = y.channels_last<uint8_t>();
  const WindowAxis &ay = s.axes[1], &ax = s.axes[2];
  int64_t channels = x.dim(1), row = ax.input * channels;
  auto greatest = HWY_DYNAMIC_DISPATCH(greatest_bytes);
  ctx.parallel_for(x.dim(0) * ay.output, 1, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      int64_t oy = line % ay.output;
      auto [y0, y1] = ay.taps(oy);
      const uint8_t* first = from + (line / ay.output * ay.input + oy * ay.stride + ay.offset(y0)) * row;
      for (int64_t ox = 0; ox < ax.output; ++ox) {
        auto [x0, x1] = s.taps[static_cast<size_t>(ox)];
        greatest({y1 - y0, ay.dilation * row, x1 - x0, ax.dilation * channels},
                 first + (ox * ax.stride + ax.offset(x0)) * channels, channels,
                 to + (line * ax.output + ox) * channels);
      }
    }
  });
}

}  // namespace

Definitions cpu_quantize() {
  constexpr Layout any = Layout::any;
  return {
      Kernel("CPU", "simd_8").of("Quantize", "graft").layouts({{{any}, {any}}}).run(steps_prepare, quantize_run),
      Kernel("CPU", "simd_8").of("Dequantize", "graft").layouts({{{any}, {any}}}).run(steps_prepare, dequantize_run),
  };
}

Definitions byte_pool() {
  constexpr Layout last = Layout::channels_last;
  return Kernel("CPU", "windows_u8")
      .of("MaxPool", "opset1")
      .accept(byte_pool_accept)
      .layouts({{{last}, {last}}})
      .run(byte_pool_prepare, byte_pool_run);
}

}  // namespace graft
#endif
