// Arithmetic that is defined for all operands.
//
// Reference kernels get their operands from models and users, so nothing here has undefined behavior: integers wrap
// around on overflow, as in two's complement, and an integer divided by zero is zero. Floating-point operands follow
// IEEE 754. T is int64_t, uint64_t or double in practice (see with_number_type in shapes.hpp); sums and products of
// narrower integers are right after truncation to their type.
//
//   wrap_add<int64_t>(INT64_MAX, 1)   // INT64_MIN
//   safe_div<int64_t>(7, 0)           // 0
//   floor_div<int64_t>(-7, 2)         // -4, while safe_div gives -3
//   floored_mod<int64_t>(-7, 2)       // 1, while truncated_mod gives -1
//
// All functions are pure and may be called from any thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "simd.hpp"
#include "types.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// a + b. Unsigned arithmetic does the wrapping, since signed overflow is undefined behavior in C++.
template <class T>
T wrap_add(T a, T b) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else return a + b;
}
// a - b, modulo 2^64.
template <class T>
T wrap_sub(T a, T b) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  else return a - b;
}
// a * b, modulo 2^64.
template <class T>
T wrap_mul(T a, T b) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else return a * b;
}
// -a; the lowest value is its own negative.
template <class T>
T wrap_neg(T a) {
  return wrap_sub(T{}, a);
}
// a / b, truncated toward zero as in C. An integer divided by zero is 0; INT64_MIN / -1 wraps around instead of
// trapping, as the hardware instruction would.
template <class T>
T safe_div(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return wrap_neg(a);
    return a / b;
  } else {
    return a / b;
  }
}
// The quotient rounded toward negative infinity, as // in Python. For floating-point operands floor(a / b).
template <class T>
T floor_div(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return std::floor(a / b);
  else if constexpr (std::is_signed_v<T>) {
    T q = safe_div(a, b);
    return b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
  } else return safe_div(a, b);
}
// The remainder with the sign of the dividend, as % in C and fmod. An integer modulo 0 or -1 is 0, where the hardware
// would trap.
template <class T>
T truncated_mod(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return std::fmod(a, b);
  else if (b == 0) return 0;
  else if constexpr (std::is_signed_v<T>) return b == -1 ? 0 : a % b;
  else return a % b;
}
// The remainder with the sign of the divisor, as % in Python: a == b * floor_div(a, b) + floored_mod(a, b).
template <class T>
T floored_mod(T a, T b) {
  T r = truncated_mod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// The lowest finite value of a type.
inline double lowest_of(DType type) {
  switch (type) {
    case DType::f64: return std::numeric_limits<double>::lowest();
    case DType::f32: return std::numeric_limits<float>::lowest();
    case DType::bf16: return -0x1.fep127;
    case DType::f16: return -65504;
    case DType::f8e4m3: return -448;
    case DType::f8e4m3fnuz: return -240;
    case DType::f8e5m2:
    case DType::f8e5m2fnuz: return -57344;
    case DType::f4e2m1: return -6;
    case DType::nf4: return -1;
    default: return is_signed_integer(type) ? -std::ldexp(1.0, bits_of(type) - 1) : 0;
  }
}

}  // namespace graft
