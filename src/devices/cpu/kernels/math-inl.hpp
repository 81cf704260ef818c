// Vector functions that Highway lacks, or that misbehave there for extreme arguments.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <limits>

#if defined(GRAFT_CPU_MATH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_CPU_MATH_INL
#undef GRAFT_CPU_MATH_INL
#else
#define GRAFT_CPU_MATH_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Clamps that propagate NaN.
template <class V>
HWY_INLINE V at_least(V x, V low) {
  return hn::IfThenElse(hn::Lt(x, low), low, x);
}
template <class V>
HWY_INLINE V at_most(V x, V high) {
  return hn::IfThenElse(hn::Gt(x, high), high, x);
}

// The larger of two; NaN if either is.
template <class V>
HWY_INLINE V highest(V a, V b) {
  return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);
}

#if HWY_TARGET <= HWY_AVX3
// x * 2^n for a whole n, rounded once, also to subnormal numbers and infinity.
HWY_INLINE hn::Vec512<float> times_power(hn::Vec512<float> x, hn::Vec512<float> n) {
  return {_mm512_scalef_ps(x.raw, n.raw)};
}
HWY_INLINE hn::Vec256<float> times_power(hn::Vec256<float> x, hn::Vec256<float> n) {
  return {_mm256_scalef_ps(x.raw, n.raw)};
}
template <size_t N>
HWY_INLINE hn::Vec128<float, N> times_power(hn::Vec128<float, N> x, hn::Vec128<float, N> n) {
  return hn::Vec128<float, N>{_mm_scalef_ps(x.raw, n.raw)};
}

// e^x: 2^n * e^r with |r| up to ln(2) / 2. The polynomial is a minimax fit with an error of 2e-8. The order of the
// operands lets NaN pass.
template <class D, class V>
HWY_INLINE V exponential(D d, V x) {
  x = hn::Min(hn::Set(d, 89.0f), hn::Max(hn::Set(d, -150.0f), x));
  const V n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504f)));
  const V r = hn::NegMulAdd(n, hn::Set(d, 1.42860677e-6f), hn::NegMulAdd(n, hn::Set(d, 0.693145751953125f), x));
  V y = hn::Set(d, 0.0013843372f);
  for (float c : {0.008374397643f, 0.04166801646f, 0.1666642874f, 0.4999999404f, 1.0f, 1.0f})
    y = hn::MulAdd(y, r, hn::Set(d, c));
  return times_power(y, n);
}
#else
// e^x. Highway assembles the exponent without a range check, so it wraps around from 2^128 on: e^89 overflows, and so
// does everything above. Below, its result is correct down to the smallest subnormal number.
template <class D, class V>
HWY_INLINE V exponential(D d, V x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, hn::Min(x, hn::Set(d, 89.0f))));
}
#endif

template <class D, class V>
HWY_INLINE V logarithm_of(D d, V x) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const V zero = hn::Zero(d);
  V y = hn::Log(d, x);
  y = hn::IfThenElse(hn::Eq(x, hn::Set(d, inf)), x, y);
  y = hn::IfThenElse(hn::Eq(x, zero), hn::Set(d, -inf), y);
  y = hn::IfThenElse(hn::Lt(x, zero), hn::Set(d, std::numeric_limits<float>::quiet_NaN()), y);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

// 1 / (1 + e^-x), from e^-|x|, which neither overflows nor loses small results.
template <class D, class V>
HWY_INLINE V sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f), e = exponential(d, hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
}

}  // namespace
}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
