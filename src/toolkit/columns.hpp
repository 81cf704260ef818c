// Text in columns, for the to_text functions.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace graft {

inline std::string padded(std::string_view s, size_t width) {
  return std::string(s) + std::string(s.size() < width ? width - s.size() : 0, ' ');
}
inline std::string padded_left(std::string_view s, size_t width) {
  return std::string(s.size() < width ? width - s.size() : 0, ' ') + std::string(s);
}
inline std::string fixed(double v, int digits) {
  char out[64];
  std::snprintf(out, sizeof out, "%.*f", digits, v);
  return out;
}

}  // namespace graft
