// Numbers in strings, whatever the locale.
#pragma once

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

namespace graft {

// The whole text as a number, apart from white space at its ends; none if it is not one. Real numbers beyond the range
// of the type become infinite or 0, integers are none.
template <class T>
std::optional<T> number_from(std::string_view s) {
  constexpr std::string_view blanks = " \t\n\r\f\v";
  s.remove_prefix(std::min(s.find_first_not_of(blanks), s.size()));
  s = s.substr(0, s.find_last_not_of(blanks) + 1);
  if (s.starts_with('+') && !s.starts_with("+-")) s.remove_prefix(1);
  T v{};
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (s.empty() || end != s.data() + s.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error != std::errc::result_out_of_range) return v;
  if constexpr (!std::is_floating_point_v<T>) return std::nullopt;
  bool negative = s.starts_with('-');
  if (negative) s.remove_prefix(1);
  size_t exponent = s.find_first_of("eE");
  bool small = exponent != s.npos ? s.substr(exponent + 1).starts_with('-') : s.starts_with("0.") || s.starts_with('.');
  T size = small ? T{} : std::numeric_limits<T>::infinity();
  return negative ? -size : size;
}

}  // namespace graft
