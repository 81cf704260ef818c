// Vectors of numbers to and from bytes, and the end of a computation in 8 bits.
#include "math-inl.hpp"

#if defined(GRAFT_CPU_QUANTIZED_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_CPU_QUANTIZED_INL
#undef GRAFT_CPU_QUANTIZED_INL
#else
#define GRAFT_CPU_QUANTIZED_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
template <class T>
using DByte = hn::Rebind<T, D>;
constexpr int64_t byte_lanes = static_cast<int64_t>(hn::MaxLanes(D()));

// u8 or i8 as f32, a vector or the first `n`.
template <class T>
HWY_INLINE V load_bytes(const T* from, int64_t n = byte_lanes) {
  HWY_ALIGN T part[byte_lanes] = {};
  if (n < byte_lanes) std::memcpy(part, from, static_cast<size_t>(n)), from = part;
  const hn::Rebind<int32_t, D> wide;
  return hn::ConvertTo(D(), hn::PromoteTo(wide, hn::LoadU(DByte<T>(), from)));
}
// Levels that lie within the range of the type once `zero` is added.
template <class T>
HWY_INLINE void store_bytes(V levels, int32_t zero, T* to, int64_t n = byte_lanes) {
  const hn::Rebind<int32_t, D> wide;
  const auto bytes = hn::DemoteTo(DByte<T>(), hn::Add(hn::NearestInt(levels), hn::Set(wide, zero)));
  if (n == byte_lanes) return hn::StoreU(bytes, DByte<T>(), to);
  HWY_ALIGN T part[byte_lanes];
  hn::StoreU(bytes, DByte<T>(), part);
  std::memcpy(to, part, static_cast<size_t>(n));
}
HWY_INLINE V load_some(const float* from, int64_t n) {
  return n == byte_lanes ? hn::LoadU(D(), from) : hn::MaskedLoad(hn::FirstN(D(), static_cast<size_t>(n)), D(), from);
}
HWY_INLINE void store_some(V v, float* to, int64_t n) {
  if (n == byte_lanes) hn::StoreU(v, D(), to);
  else hn::BlendedStore(v, hn::FirstN(D(), static_cast<size_t>(n)), D(), to);
}

// QuantizedEnd for `n` numbers, whose sum and result are `offset` elements from the beginning.
HWY_INLINE void quantized_finish(V x, const QuantizedNumbers& e, const QuantizedPlaces& at, int64_t offset, int64_t n) {
  const D d;
  auto set = [&](float v) { return hn::Set(d, v); };
  if (e.level_factor > 0) {
    const V level = hn::Round(hn::Mul(x, set(e.level_factor)));
    x = hn::Mul(hn::Min(hn::Max(level, set(e.level_low)), set(e.level_high)), set(e.level_step));
  }
  if (at.sum8) x = hn::MulAdd(hn::Sub(load_bytes(at.sum8 + offset, n), set(e.sum_zero)), set(e.sum_scale), x);
  else if (at.sum) x = hn::MulAdd(hn::Sub(load_some(at.sum + offset, n), set(e.sum_zero)), set(e.sum_scale), x);
  x = hn::Min(hn::Max(x, set(e.low)), set(e.high));
  if (at.y) return store_some(x, at.y + offset, n);
  auto zero = static_cast<float>(e.zero);
  store_bytes(hn::Min(hn::Max(hn::Mul(x, set(e.factor)), set(-zero)), set(255 - zero)), e.zero, at.y8 + offset, n);
}

}  // namespace
}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
