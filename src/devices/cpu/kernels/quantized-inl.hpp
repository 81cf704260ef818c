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
HWY_INLINE V load_bytes(const T* from) {
  const hn::Rebind<int32_t, D> wide;
  return hn::ConvertTo(D(), hn::PromoteTo(wide, hn::LoadU(DByte<T>(), from)));
}
template <class T>
HWY_INLINE V load_bytes(const T* from, int64_t n) {
  if (n == byte_lanes) return load_bytes(from);
  HWY_ALIGN T part[byte_lanes] = {};
  std::memcpy(part, from, static_cast<size_t>(std::min<int64_t>(n, byte_lanes)));
  return load_bytes(part);
}
// Levels that lie within the range of the type once `zero` is added.
template <class T>
HWY_INLINE void store_bytes(V levels, int32_t zero, T* to, int64_t n) {
  // With this number added, the lowest bits are those of the nearest integer, halves to even.
  constexpr float shift = 12582912.0f;
  constexpr int32_t bits = 0x4b400000;
  const hn::Rebind<int32_t, D> wide;
  const auto whole = hn::BitCast(wide, hn::Add(levels, hn::Set(D(), shift)));
  const auto bytes = hn::DemoteTo(DByte<T>(), hn::Sub(whole, hn::Set(wide, bits - zero)));
  if (n == byte_lanes) return hn::StoreU(bytes, DByte<T>(), to);
  HWY_ALIGN T part[byte_lanes];
  hn::StoreU(bytes, DByte<T>(), part);
  std::memcpy(to, part, static_cast<size_t>(std::min<int64_t>(n, byte_lanes)));
}
HWY_INLINE V load_some(const float* from, int64_t n) {
  return n == byte_lanes ? hn::LoadU(D(), from) : hn::MaskedLoad(hn::FirstN(D(), static_cast<size_t>(n)), D(), from);
}
HWY_INLINE void store_some(V v, float* to, int64_t n) {
  if (n == byte_lanes) hn::StoreU(v, D(), to);
  else hn::BlendedStore(v, hn::FirstN(D(), static_cast<size_t>(n)), D(), to);
}

// QuantizedEpilogue with its numbers in vectors. What there is to do is known when the code is compiled.
template <bool rounds, class Sum, class Y>
class End {
 public:
  explicit HWY_INLINE End(const QuantizedNumbers& e)
      : level_factor_(set(e.level_factor)),
        level_low_(set(e.level_low)),
        level_high_(set(e.level_high)),
        level_step_(set(e.level_step)),
        sum_zero_(set(e.sum_zero)),
        sum_scale_(set(e.sum_scale)),
        low_(set(bytes ? std::max(e.low * e.factor, static_cast<float>(-e.zero)) : e.low)),
        high_(set(bytes ? std::min(e.high * e.factor, static_cast<float>(255 - e.zero)) : e.high)),
        factor_(set(e.factor)),
        zero_(e.zero) {}

  // `n` numbers; the sum and the result are `offset` elements from the beginning.
  HWY_INLINE void finish(V x, const QuantizedPlaces& at, int64_t offset, int64_t n) const {
    if constexpr (rounds)
      x = hn::Mul(hn::Min(hn::Max(hn::Round(hn::Mul(x, level_factor_)), level_low_), level_high_), level_step_);
    if constexpr (std::is_same_v<Sum, uint8_t>)
      x = hn::MulAdd(hn::Sub(load_bytes(at.sum8 + offset, n), sum_zero_), sum_scale_, x);
    if constexpr (std::is_same_v<Sum, float>)
      x = hn::MulAdd(hn::Sub(load_some(at.sum + offset, n), sum_zero_), sum_scale_, x);
    if constexpr (bytes) x = hn::Mul(x, factor_);
    x = hn::Min(hn::Max(x, low_), high_);
    if constexpr (bytes) store_bytes(x, zero_, at.y8 + offset, n);
    else store_some(x, at.y + offset, n);
  }

 private:
  static constexpr bool bytes = std::is_same_v<Y, uint8_t>;
  static HWY_INLINE V set(float v) { return hn::Set(D(), v); }
  V level_factor_, level_low_, level_high_, level_step_, sum_zero_, sum_scale_, low_, high_, factor_;
  int32_t zero_;
};

}  // namespace
}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
