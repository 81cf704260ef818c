// Letters in UTF-8.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace graft {

// Converts the case of Latin, Greek and Cyrillic letters; everything else stays unchanged.
inline char32_t letter_with_case(char32_t c, bool up) {
  struct Range {
    char32_t first, last;  // uppercase letters
    char32_t step;         // distance to the lowercase letter
  };
  constexpr Range ranges[] = {{U'A', U'Z', 32},   {0xC0, 0xD6, 32},   {0xD8, 0xDE, 32},  {0x391, 0x3A1, 32},
                              {0x3A3, 0x3A9, 32}, {0x410, 0x42F, 32}, {0x400, 0x40F, 80}};
  for (const Range& r : ranges) {
    if (!up && c >= r.first && c <= r.last) return c + r.step;
    if (up && c >= r.first + r.step && c <= r.last + r.step) return c - r.step;
  }
  // Uppercase and lowercase letters alternate, starting with an even or odd code point.
  bool even = (c >= 0x100 && c <= 0x137 && c != 0x130 && c != 0x131) || (c >= 0x14A && c <= 0x177) ||
              (c >= 0x460 && c <= 0x481) || (c >= 0x48A && c <= 0x4BF);
  bool odd = (c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E);
  if (even || odd) {
    bool capital = (c % 2 == 0) == even;
    return up && !capital ? c - 1 : !up && capital ? c + 1 : c;
  }
  return c;
}

// Converts a string; bytes that are not valid UTF-8 stay unchanged.
inline std::string with_case(std::string_view s, bool up) {
  std::string out;
  for (size_t i = 0; i < s.size();) {
    auto byte = [&](size_t k) { return static_cast<unsigned char>(s[k]); };
    bool two = byte(i) >= 0xC2 && byte(i) < 0xE0 && i + 1 < s.size() && (byte(i + 1) & 0xC0) == 0x80;
    char32_t c = two ? static_cast<char32_t>((byte(i) & 0x1F) << 6 | (byte(i + 1) & 0x3F)) : byte(i);
    if (!two && c >= 0x80) {
      out += s[i++];
      continue;
    }
    c = letter_with_case(c, up);
    if (c < 0x80) out += static_cast<char>(c);
    else out += static_cast<char>(0xC0 | c >> 6), out += static_cast<char>(0x80 | (c & 0x3F));
    i += two ? 2 : 1;
  }
  return out;
}

// The number of bytes of the character that begins here; a byte that begins none counts as a character.
inline size_t character_bytes(std::string_view s, size_t at) {
  auto byte = [&](size_t k) { return static_cast<unsigned char>(s[k]); };
  size_t n = byte(at) < 0x80 ? 1 : byte(at) >> 5 == 6 ? 2 : byte(at) >> 4 == 14 ? 3 : byte(at) >> 3 == 30 ? 4 : 1;
  for (size_t k = 1; k < n; ++k)
    if (at + k >= s.size() || (byte(at + k) & 0xC0) != 0x80) return 1;
  return n;
}

// Where each character begins, and the end.
inline std::vector<size_t> character_places(std::string_view s) {
  std::vector<size_t> places;
  for (size_t at = 0; at < s.size(); at += character_bytes(s, at)) places.push_back(at);
  places.push_back(s.size());
  return places;
}

}  // namespace graft
