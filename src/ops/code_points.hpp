// Characters of strings as numbers: Unicode's encodings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace graft {

enum class TextEncoding { utf8, utf16_be, utf16_le, utf32_be, latin1, ascii };

struct CodePoint {
  static constexpr int64_t malformed = -1;
  int64_t value;
  size_t at;  // its first byte
};
inline bool is_code_point(int64_t v) { return v >= 0 && v <= 0x10FFFF && !(v >= 0xD800 && v <= 0xDFFF); }

namespace detail {

// One character of UTF-8. Of malformed ones, the bytes are taken that could begin a character: Unicode's "substitution
// of maximal subparts".
inline CodePoint utf8_character(std::string_view s, size_t& at) {
  size_t first = at;
  auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  uint32_t lead = byte(at++);
  if (lead < 0x80) return {lead, first};
  int more = lead >= 0xC2 && lead < 0xE0 ? 1 : lead >= 0xE0 && lead < 0xF0 ? 2 : lead >= 0xF0 && lead < 0xF5 ? 3 : 0;
  if (more == 0) return {CodePoint::malformed, first};
  uint32_t v = lead & (0x3Fu >> more);
  // Neither longer forms than needed, surrogates, nor numbers beyond the last.
  uint32_t low = lead == 0xE0   ? 0xA0
                 : lead == 0xF0 ? 0x90
                                : 0x80,
           high = lead == 0xED   ? 0x9F
                  : lead == 0xF4 ? 0x8F
                                 : 0xBF;
  for (; more > 0; --more, low = 0x80, high = 0xBF) {
    if (at == s.size() || byte(at) < low || byte(at) > high) return {CodePoint::malformed, first};
    v = v << 6 | (byte(at++) & 0x3Fu);
  }
  return {v, first};
}
inline CodePoint utf16_character(std::string_view s, size_t& at, bool big) {
  size_t first = at;
  auto unit = [&](size_t i) -> uint32_t {
    auto a = static_cast<unsigned char>(s[i]), b = static_cast<unsigned char>(s[i + 1]);
    return big ? a << 8u | b : b << 8u | a;
  };
  if (s.size() - at < 2) return at = s.size(), CodePoint{CodePoint::malformed, first};
  uint32_t v = unit(at);
  at += 2;
  if (v < 0xD800 || v > 0xDFFF) return {v, first};
  if (v > 0xDBFF || s.size() - at < 2) {
    // Half of a pair at the end takes the odd byte with it.
    if (v <= 0xDBFF) at = s.size();
    return {CodePoint::malformed, first};
  }
  uint32_t second = unit(at);
  if (second < 0xDC00 || second > 0xDFFF) return {CodePoint::malformed, first};
  at += 2;
  return {0x10000 + ((v & 0x3FF) << 10) + (second & 0x3FF), first};
}
inline CodePoint utf32_character(std::string_view s, size_t& at) {
  size_t first = at;
  if (s.size() - at < 4) return at = s.size(), CodePoint{CodePoint::malformed, first};
  int64_t v = 0;
  for (int i = 0; i < 4; ++i) v = v << 8 | static_cast<unsigned char>(s[at++]);
  return {is_code_point(v) ? v : CodePoint::malformed, first};
}

}  // namespace detail

inline std::vector<CodePoint> code_points(std::string_view s, TextEncoding encoding) {
  std::vector<CodePoint> out;
  for (size_t at = 0; at < s.size();) switch (encoding) {
      case TextEncoding::utf8: out.push_back(detail::utf8_character(s, at)); break;
      case TextEncoding::utf16_be: out.push_back(detail::utf16_character(s, at, true)); break;
      case TextEncoding::utf16_le: out.push_back(detail::utf16_character(s, at, false)); break;
      case TextEncoding::utf32_be: out.push_back(detail::utf32_character(s, at)); break;
      case TextEncoding::latin1:
      case TextEncoding::ascii: {
        int64_t v = static_cast<unsigned char>(s[at]);
        out.push_back({encoding == TextEncoding::ascii && v > 127 ? CodePoint::malformed : v, at});
        ++at;
      }
    }
  return out;
}

// Appends a valid code point, as UTF-8, UTF-16-BE or UTF-32-BE.
inline void append_code_point(std::string& out, int64_t v, TextEncoding encoding) {
  auto c = static_cast<uint32_t>(v);
  auto put = [&](uint32_t byte) { out += static_cast<char>(byte & 0xFF); };
  auto unit = [&](uint32_t u) { put(u >> 8), put(u); };
  if (encoding == TextEncoding::utf32_be) return put(c >> 24), put(c >> 16), unit(c);
  if (encoding == TextEncoding::utf16_be) {
    if (c < 0x10000) return unit(c);
    return unit(0xD800 + ((c - 0x10000) >> 10)), unit(0xDC00 + ((c - 0x10000) & 0x3FF));
  }
  if (c < 0x80) return put(c);
  if (c < 0x800) return put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
  if (c < 0x10000) return put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
  put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
}

}  // namespace graft
