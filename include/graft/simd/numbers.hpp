// What formulas write and the library lacks for plain numbers: std::max(x, 0.5f), std::min and std::clamp of numbers of
// different types, and std::abs of unsigned integers.
//
// They are for the numbers that formulas get, so that slips elsewhere stay errors: one of the operands is a float, a
// double, a long long or an unsigned long long, which elements of 64 bits are passed as, and never, say, a size_t and
// an int. std::max<int64_t>(a, b) and the like mean what they always meant.
#pragma once

// The C++ library's own versions: with them abs(x), without std::, has overloads for floats and doubles.
#include <math.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <type_traits>

namespace [[gnu::visibility("hidden")]] graft {
namespace simd {

template <class N>
concept Number = std::is_integral_v<N> || std::is_same_v<N, float> || std::is_same_v<N, double>;

template <class N>
concept ElementNumber =
    std::is_floating_point_v<N> || std::is_same_v<N, long long> || std::is_same_v<N, unsigned long long>;

// The type of a result of both: integers of 64 bits do not fit into a float.
template <class T, class U>
using Wider =
    std::conditional_t<std::is_floating_point_v<T> == std::is_floating_point_v<U> || (sizeof(T) <= 4 && sizeof(U) <= 4),
                       std::common_type_t<T, U>, double>;

template <class T, class U>
constexpr bool is_less(T a, U b) {
  if constexpr (std::is_integral_v<T> && std::is_integral_v<U> && std::is_signed_v<T> != std::is_signed_v<U>) {
    if constexpr (std::is_signed_v<T>) return a < 0 || static_cast<std::make_unsigned_t<T>>(a) < b;
    else return b >= 0 && a < static_cast<std::make_unsigned_t<U>>(b);
  } else {
    return static_cast<Wider<T, U>>(a) < static_cast<Wider<T, U>>(b);
  }
}

template <class T, class U>
concept MixedNumbers = Number<T> && Number<U> && !std::is_same_v<T, U> && !std::is_same_v<T, bool> &&
                       !std::is_same_v<U, bool> && (ElementNumber<T> || ElementNumber<U>);

}  // namespace simd
}  // namespace graft

#ifdef __clang__  // which calls std::abs of elements of u64 useless
#pragma clang diagnostic ignored "-Wabsolute-value"
#endif

// The number in front keeps std::max<int64_t> away from these.
namespace std {
template <int = 0, class T, class U>
requires graft::simd::MixedNumbers<T, U>
constexpr graft::simd::Wider<T, U> max(const T& a, const U& b) {
  using R = graft::simd::Wider<T, U>;
  return graft::simd::is_less(a, b) ? static_cast<R>(b) : static_cast<R>(a);
}
template <int = 0, class T, class U>
requires graft::simd::MixedNumbers<T, U>
constexpr graft::simd::Wider<T, U> min(const T& a, const U& b) {
  using R = graft::simd::Wider<T, U>;
  return graft::simd::is_less(b, a) ? static_cast<R>(b) : static_cast<R>(a);
}
template <int = 0, class T, class L, class H>
requires((graft::simd::MixedNumbers<T, L> && graft::simd::Number<H>) ||
         (graft::simd::MixedNumbers<T, H> && graft::simd::Number<L>)) constexpr auto clamp(const T& x, const L& low,
                                                                                           const H& high) {
  return std::min(std::max(x, low), high);
}
template <int = 0, class T>
requires std::is_same_v<T, unsigned long long>
constexpr T abs(T x) { return x; }
}  // namespace std
using std::abs;  // with the one above, for formulas without std::
