// Conversion between element types: those that networks convert large tensors between. The others are left to the
// reference.
#include "quantized.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "convert.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

#include "quantized-inl.hpp"

#ifndef GRAFT_CPU_CONVERT_ONCE
#define GRAFT_CPU_CONVERT_ONCE
namespace graft {
using ConvertFunction = void (*)(const void* x, int64_t n, void* y);
}  // namespace graft
#endif

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {

using DHalf = hn::Rebind<hwy::float16_t, D>;

void halves(const hwy::float16_t* x, int64_t n, float* y) {
  int64_t i = 0;
  for (; i + byte_lanes <= n; i += byte_lanes) hn::StoreU(hn::PromoteTo(D(), hn::LoadU(DHalf(), x + i)), D(), y + i);
  if (i == n) return;
  HWY_ALIGN hwy::float16_t part[byte_lanes] = {};
  std::memcpy(part, x + i, static_cast<size_t>(n - i) * sizeof *part);
  store_some(hn::PromoteTo(D(), hn::Load(DHalf(), part)), y + i, n - i);
}
void to_halves(const float* x, int64_t n, hwy::float16_t* y) {
  int64_t i = 0;
  for (; i + byte_lanes <= n; i += byte_lanes) hn::StoreU(hn::DemoteTo(DHalf(), hn::LoadU(D(), x + i)), DHalf(), y + i);
  if (i == n) return;
  HWY_ALIGN hwy::float16_t part[byte_lanes];
  hn::Store(hn::DemoteTo(DHalf(), load_some(x + i, n - i)), DHalf(), part);
  std::memcpy(y + i, part, static_cast<size_t>(n - i) * sizeof *part);
}

// Truncated and saturated; NaN becomes 0.
template <class T>
void to_bytes(const float* x, int64_t n, T* y) {
  const D d;
  const V low = hn::Set(d, std::is_signed_v<T> ? -128.0f : 0.0f),
          high = hn::Set(d, std::is_signed_v<T> ? 127.0f : 255.0f);
  for (int64_t i = 0; i < n; i += byte_lanes) {
    int64_t part = std::min(byte_lanes, n - i);
    const V v = load_some(x + i, part);
    store_bytes(hn::Trunc(hn::Min(hn::Max(hn::IfThenZeroElse(hn::IsNaN(v), v), low), high)), 0, y + i, part);
  }
}
template <class T>
void from_bytes(const T* x, int64_t n, float* y) {
  for (int64_t i = 0; i < n; i += byte_lanes) {
    int64_t part = std::min(byte_lanes, n - i);
    store_some(load_bytes(x + i, part), y + i, part);
  }
}
void from_i32(const int32_t* x, int64_t n, float* y) {
  const hn::Rebind<int32_t, D> d;
  int64_t i = 0;
  for (; i + byte_lanes <= n; i += byte_lanes) hn::StoreU(hn::ConvertTo(D(), hn::LoadU(d, x + i)), D(), y + i);
  for (; i < n; ++i) y[i] = static_cast<float>(x[i]);
}
template <class From, class To>
void each(const From* x, int64_t n, To* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<To>(x[i]);
}

}  // namespace

// Null: none for these types.
ConvertFunction convert_function(DType from, DType to) {
  static const struct {
    DType from, to;
    ConvertFunction f;
  } rows[] = {
#define GRAFT_CONVERSION(FROM, From, TO, To, f)                                                           \
  {                                                                                                       \
    DType::FROM, DType::TO,                                                                               \
        [](const void* x, int64_t n, void* y) { f(static_cast<const From*>(x), n, static_cast<To*>(y)); } \
  }
      GRAFT_CONVERSION(f16, hwy::float16_t, f32, float, halves),
      GRAFT_CONVERSION(f32, float, f16, hwy::float16_t, to_halves),
      GRAFT_CONVERSION(f32, float, u8, uint8_t, to_bytes),
      GRAFT_CONVERSION(f32, float, i8, int8_t, to_bytes),
      GRAFT_CONVERSION(u8, uint8_t, f32, float, from_bytes),
      GRAFT_CONVERSION(i8, int8_t, f32, float, from_bytes),
      GRAFT_CONVERSION(i32, int32_t, f32, float, from_i32),
      GRAFT_CONVERSION(u8, uint8_t, i32, int32_t, each),
      GRAFT_CONVERSION(i8, int8_t, i32, int32_t, each),
      GRAFT_CONVERSION(i32, int32_t, i64, int64_t, each),
      GRAFT_CONVERSION(i64, int64_t, i32, int32_t, each),
      GRAFT_CONVERSION(i64, int64_t, f32, float, each),
#undef GRAFT_CONVERSION
  };
  for (const auto& r : rows)
    if (r.from == from && r.to == to) return r.f;
  return nullptr;
}

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(convert_function);

void convert_accept(Accept& ctx) {
  if (!HWY_DYNAMIC_DISPATCH(convert_function)(ctx.type(0), ctx.output(0).type))
    unsupported("no conversion from ", ctx.type(0), " to ", ctx.output(0).type);
}

struct ConvertState {
  ConvertFunction f;
  int64_t from, to;  // bytes of an element
};
ConvertState convert_prepare(Prepare& ctx) {
  DType from = ctx.type(0), to = ctx.output(0).type;
  return {HWY_DYNAMIC_DISPATCH(convert_function)(from, to), bits_of(from) / 8, bits_of(to) / 8};
}
void convert_run(Run& ctx, const ConvertState& s) {
  TensorView x = ctx.input(0);
  const auto* from = static_cast<const unsigned char*>(x.raw()->data);
  auto* to = static_cast<unsigned char*>(ctx.output(0).raw()->data);
  ctx.parallel_for(x.size(), 32768,
                   [&](int64_t begin, int64_t end) { s.f(from + begin * s.from, end - begin, to + begin * s.to); });
}

}  // namespace

Definitions cpu_convert() {
  constexpr Layout any = Layout::any;
  return Kernel("CPU", "simd")
      .of("Convert", "opset1")
      .accept(convert_accept)
      .layouts({{{any}, {any}}})
      .run(convert_prepare, convert_run);
}

}  // namespace graft
#endif
