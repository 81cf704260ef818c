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

// e^x for finite x: 2^n * e^r with |r| up to ln(2) / 2. The polynomial is a minimax fit with an error of 2e-8.
template <class D, class V>
HWY_INLINE V finite_exponential(D d, V x) {
  const V n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504f)));
  const V r = hn::NegMulAdd(n, hn::Set(d, 1.42860677e-6f), hn::NegMulAdd(n, hn::Set(d, 0.693145751953125f), x));
  V y = hn::Set(d, 0.0013843372f);
  for (float c : {0.008374397643f, 0.04166801646f, 0.1666642874f, 0.4999999404f, 1.0f, 1.0f})
    y = hn::MulAdd(y, r, hn::Set(d, c));
  return times_power(y, n);
}
// e^x. The order of the operands lets NaN pass.
template <class D, class V>
HWY_INLINE V exponential(D d, V x) {
  return finite_exponential(d, hn::Min(hn::Set(d, 89.0f), hn::Max(hn::Set(d, -150.0f), x)));
}
#else
// e^x for x below 2^7 * ln(2).
template <class D, class V>
HWY_INLINE V finite_exponential(D d, V x) {
  return hn::Exp(d, x);
}
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

template <class D, class V>
HWY_INLINE V polynomial(D d, V x, std::initializer_list<float> coefficients) {
  V sum = hn::Zero(d);
  for (const float* c = coefficients.end(); c-- != coefficients.begin();) sum = hn::MulAdd(sum, x, hn::Set(d, *c));
  return sum;
}

// For |x| up to 1 an odd polynomial; beyond, 1 - e^(-x^2) times a polynomial of 1 / (1 + x / 2). Both are least-squares
// fits at Chebyshev nodes with an error below 2e-7.
template <class D, class V>
HWY_INLINE V error_function(D d, V x) {
  const V one = hn::Set(d, 1.0f), a = hn::Min(hn::Abs(x), hn::Set(d, 4.0f)), square = hn::Mul(a, a);
  const V small = hn::Mul(a, polynomial(d, square,
                                        {1.1283791065f, -0.3761262596f, 0.1128359735f, -0.0268543288f, 0.0051893122f,
                                         -0.0008018855f, 0.0000788250f}));
  const V t = hn::Div(one, hn::MulAdd(a, hn::Set(d, 0.5f), one));
  const V tail = polynomial(d, t,
                            {-0.0001604576f, 0.2850055397f, 0.2591044605f, 0.3498076200f, -0.1076931804f, 0.5681912899f,
                             -0.4744580090f, 0.1202621087f});
  const V large = hn::NegMulAdd(finite_exponential(d, hn::Neg(square)), tail, one);
  const V y = hn::IfThenElse(hn::Lt(a, one), small, large);
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(y, x));
}

// x times the normal distribution, from erfc(z) / 2 = e^(-z^2) * t * polynomial(t), t = 1 / (1 + 0.3275911 z), for z >=
// 0. The polynomial has a relative error of 4e-7 up to z = 14, so that small results for negative x keep their digits.
template <class D, class V>
HWY_INLINE V gelu_by_erf(D d, V x) {
  const V one = hn::Set(d, 1.0f), z = hn::Mul(at_most(hn::Abs(x), hn::Set(d, 20.0f)), hn::Set(d, 0.70710678f));
  const V t = hn::Div(one, hn::MulAdd(z, hn::Set(d, 0.3275911f), one));
  const V tail = polynomial(d, t,
                            {0.09247377514839172f, 0.09114101529121399f, 0.09826438874006271f, 0.027721384540200233f,
                             0.19893823564052582f, -0.17348478734493256f, 0.23153243958950043f, -0.06658624857664108f});
  const V half = hn::Mul(hn::Mul(tail, t), finite_exponential(d, hn::Neg(hn::Mul(z, z))));  // erfc(z) / 2
  return hn::Mul(x, hn::IfThenElse(hn::Lt(x, hn::Zero(d)), half, hn::Sub(one, half)));
}
// (1 + tanh(u)) / 2 is sigmoid(2u), which avoids cancellation.
template <class D, class V>
HWY_INLINE V gelu_by_tanh(D d, V x) {
  const V bend = hn::MulAdd(hn::Mul(x, x), hn::Set(d, 0.044715f), hn::Set(d, 1.0f));
  return hn::Mul(x, sigmoid(d, hn::Mul(hn::Mul(x, hn::Set(d, 1.59576912f)), bend)));
}

}  // namespace
}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
