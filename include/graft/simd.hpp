// Vectors of floats that a formula is compiled with, so that it runs at the speed of the processor:
//
//   .elementwise([](auto x, const Shrink& a) { return graft::select(x > a.limit, x - a.limit, 0 * x); })
//
// `x` is a float, a double or an integer, and a `Floats` of as many lanes as the processor has. Floats have the
// operators of a number and the functions of <cmath>, with or without std:: in front. What a formula does besides stays
// correct, but is slower where lanes differ: a condition (`x > 0 ? x : -x`, `if`), or a function that takes a float or
// a double, is computed lane by lane. `select` chooses without a condition.
//
// Exponentials, logarithms, roots and trigonometric functions have an error of at most 4 units in the last place, and
// the ends of the range, infinities and NaN have the results of <cmath>; erfc has one of at most 13. pow (other than
// simple exponents), atan2, cbrt, lgamma, tgamma, fmod and hypot call the library for each lane. A formula whose
// vectors and floats disagree, because it computes in double on purpose, for example, is not run so; `graft explain`
// tells.
//
// Two instruction sets are compiled: AVX-512 and AVX2; the processor decides at run time. Others use floats.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <utility>

#include "simd/numbers.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#define GRAFT_HAS_SIMD 1
#else
#define GRAFT_HAS_SIMD 0
#endif

#if GRAFT_HAS_SIMD
namespace [[gnu::visibility("hidden")]] graft {
namespace simd::lanes16 {
struct Floats;
}
namespace simd::lanes8 {
struct Floats;
}
}  // namespace graft
// A formula that asks what kind of number x is gets the answers for a float.
namespace std {
#define GRAFT_SIMD_TRAITS(Floats)                                 \
  template <>                                                     \
  class numeric_limits<Floats> : public numeric_limits<float> {}; \
  template <>                                                     \
  struct is_floating_point<Floats> : true_type {};                \
  template <>                                                     \
  inline constexpr bool is_floating_point_v<Floats> = true;
GRAFT_SIMD_TRAITS(graft::simd::lanes16::Floats)
GRAFT_SIMD_TRAITS(graft::simd::lanes8::Floats)
#undef GRAFT_SIMD_TRAITS
}  // namespace std
#endif

namespace [[gnu::visibility("hidden")]] graft {

// For formulas that are also compiled with plain numbers.
template <simd::Number T, simd::Number U>
constexpr std::common_type_t<T, U> select(bool c, T yes, U no) {
  return c ? static_cast<std::common_type_t<T, U>>(yes) : static_cast<std::common_type_t<T, U>>(no);
}

#if GRAFT_HAS_SIMD

// The functions between these are compiled for an instruction set.
#define GRAFT_SIMD_PRAGMA(x) _Pragma(#x)
#define GRAFT_SIMD_AVX512 "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma"
#define GRAFT_SIMD_AVX2 "avx2,fma,f16c"
#ifdef __clang__
#define GRAFT_SIMD_BEGIN(set) GRAFT_SIMD_PRAGMA(clang attribute push(__attribute__((target(set))), apply_to = function))
#define GRAFT_SIMD_END GRAFT_SIMD_PRAGMA(clang attribute pop)
#else
#define GRAFT_SIMD_BEGIN(set) GRAFT_SIMD_PRAGMA(GCC push_options) GRAFT_SIMD_PRAGMA(GCC target(set))
#define GRAFT_SIMD_END GRAFT_SIMD_PRAGMA(GCC pop_options)
#endif

// Instructions have other names with each compiler. GCC's stay the same. Clang's come and go, and it answers for them
// only where the instruction set is on; it has a square root of vectors from version 16 on, which can be asked for.
#if defined(__clang__) && __has_builtin(__builtin_elementwise_sqrt)
#define GRAFT_SIMD_ELEMENTWISE_SQRT 1
#else
#define GRAFT_SIMD_ELEMENTWISE_SQRT 0
#endif

namespace simd {

// Whether lanes of a vector would have taken different ways since this was set to false.
inline thread_local bool diverged = false;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

GRAFT_SIMD_BEGIN(GRAFT_SIMD_AVX512)
namespace lanes16 {
#define GRAFT_SIMD_LANES 16
#include "simd/floats-inl.hpp"
#if GRAFT_SIMD_ELEMENTWISE_SQRT
inline V square_root(V x) { return __builtin_elementwise_sqrt(x); }
#elif defined(__clang__)
inline V square_root(V x) { return __builtin_ia32_sqrtps512(x, 4); }
#else
inline V square_root(V x) { return __builtin_ia32_sqrtps512_mask(x, V{}, static_cast<short>(-1), 4); }
#endif
#include "simd/halves-inl.hpp"
#include "simd/math-inl.hpp"
#undef GRAFT_SIMD_LANES
}  // namespace lanes16
GRAFT_SIMD_END

GRAFT_SIMD_BEGIN(GRAFT_SIMD_AVX2)
namespace lanes8 {
#define GRAFT_SIMD_LANES 8
#include "simd/floats-inl.hpp"
#if GRAFT_SIMD_ELEMENTWISE_SQRT
inline V square_root(V x) { return __builtin_elementwise_sqrt(x); }
#else
inline V square_root(V x) { return __builtin_ia32_sqrtps256(x); }
#endif
#include "simd/halves-inl.hpp"
#include "simd/math-inl.hpp"
#undef GRAFT_SIMD_LANES
}  // namespace lanes8
GRAFT_SIMD_END

#pragma GCC diagnostic pop

}  // namespace simd

using simd::lanes16::select;
using simd::lanes8::select;
#endif

// Halves without an instruction set, which every processor can.
namespace simd::lanes4 {
#define GRAFT_SIMD_LANES 4
using V = float __attribute__((vector_size(4 * GRAFT_SIMD_LANES)));
using I = int32_t __attribute__((vector_size(4 * GRAFT_SIMD_LANES)));
inline I bits(V v) { return reinterpret_cast<I>(v); }
inline V floats(I i) { return reinterpret_cast<V>(i); }
inline V choose(I mask, V yes, V no) { return floats((bits(yes) & mask) | (bits(no) & ~mask)); }
#include "simd/halves-inl.hpp"
#undef GRAFT_SIMD_LANES
}  // namespace simd::lanes4

}  // namespace graft

#if GRAFT_HAS_SIMD
// For formulas that write std::cosh(x).
namespace std {
#define GRAFT_SIMD_NAME(name)       \
  using graft::simd::lanes16::name; \
  using graft::simd::lanes8::name;
GRAFT_SIMD_NAME(abs)
GRAFT_SIMD_NAME(fabs)
GRAFT_SIMD_NAME(acos)
GRAFT_SIMD_NAME(acosh)
GRAFT_SIMD_NAME(asin)
GRAFT_SIMD_NAME(asinh)
GRAFT_SIMD_NAME(atan)
GRAFT_SIMD_NAME(atan2)
GRAFT_SIMD_NAME(atanh)
GRAFT_SIMD_NAME(cbrt)
GRAFT_SIMD_NAME(ceil)
GRAFT_SIMD_NAME(clamp)
GRAFT_SIMD_NAME(copysign)
GRAFT_SIMD_NAME(cos)
GRAFT_SIMD_NAME(cosh)
GRAFT_SIMD_NAME(erf)
GRAFT_SIMD_NAME(erfc)
GRAFT_SIMD_NAME(exp)
GRAFT_SIMD_NAME(exp2)
GRAFT_SIMD_NAME(expm1)
GRAFT_SIMD_NAME(floor)
GRAFT_SIMD_NAME(fma)
GRAFT_SIMD_NAME(fmax)
GRAFT_SIMD_NAME(fmin)
GRAFT_SIMD_NAME(fmod)
GRAFT_SIMD_NAME(hypot)
GRAFT_SIMD_NAME(isfinite)
GRAFT_SIMD_NAME(isinf)
GRAFT_SIMD_NAME(isnan)
GRAFT_SIMD_NAME(lgamma)
GRAFT_SIMD_NAME(log)
GRAFT_SIMD_NAME(log10)
GRAFT_SIMD_NAME(log1p)
GRAFT_SIMD_NAME(log2)
GRAFT_SIMD_NAME(max)
GRAFT_SIMD_NAME(min)
GRAFT_SIMD_NAME(nearbyint)
GRAFT_SIMD_NAME(pow)
GRAFT_SIMD_NAME(rint)
GRAFT_SIMD_NAME(round)
GRAFT_SIMD_NAME(signbit)
GRAFT_SIMD_NAME(sin)
GRAFT_SIMD_NAME(sinh)
GRAFT_SIMD_NAME(sqrt)
GRAFT_SIMD_NAME(tan)
GRAFT_SIMD_NAME(tanh)
GRAFT_SIMD_NAME(tgamma)
GRAFT_SIMD_NAME(trunc)
#undef GRAFT_SIMD_NAME
}  // namespace std
#endif
