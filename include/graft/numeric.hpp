// Arithmetic that is defined for every input: whole numbers wrap instead of overflowing.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace [[gnu::visibility("hidden")]] graft {

template <class T>
T wrap_add(T a, T b) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else return a + b;
}
template <class T>
T wrap_sub(T a, T b) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  else return a - b;
}
template <class T>
T wrap_mul(T a, T b) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else return a * b;
}
template <class T>
T wrap_neg(T a) {
  return wrap_sub(T{}, a);
}
// Towards zero; a whole number divided by zero is zero.
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
// Downwards.
template <class T>
T floor_div(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return std::floor(a / b);
  else if constexpr (std::is_signed_v<T>) {
    T q = safe_div(a, b);
    return b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
  } else return safe_div(a, b);
}
// Sign of the dividend.
template <class T>
T truncated_mod(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return std::fmod(a, b);
  else if (b == 0) return 0;
  else if constexpr (std::is_signed_v<T>) return b == -1 ? 0 : a % b;
  else return a % b;
}
// Sign of the divisor.
template <class T>
T floored_mod(T a, T b) {
  T r = truncated_mod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

}  // namespace graft
