#include "base/text.hpp"

#include <algorithm>
#include <cmath>

namespace graft {

std::vector<std::string_view> split(std::string_view s, char separator) {
  std::vector<std::string_view> out;
  if (s.empty()) return out;
  for (;;) {
    size_t at = s.find(separator);
    out.push_back(s.substr(0, at));
    if (at == s.npos) return out;
    s.remove_prefix(at + 1);
  }
}

std::string_view trim(std::string_view s) {
  constexpr std::string_view blank = " \t\r\n";
  size_t a = s.find_first_not_of(blank);
  if (a == s.npos) return {};
  return s.substr(a, s.find_last_not_of(blank) - a + 1);
}

template <class S>
static std::string join_any(const std::vector<S>& parts, std::string_view between) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i) out += between;
    out += parts[i];
  }
  return out;
}
std::string join(const std::vector<std::string_view>& parts, std::string_view between) {
  return join_any(parts, between);
}
std::string join(const std::vector<std::string>& parts, std::string_view between) { return join_any(parts, between); }

static char lower_char(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
std::string to_lower(std::string_view s) {
  std::string out(s);
  std::transform(out.begin(), out.end(), out.begin(), lower_char);
  return out;
}
std::string to_upper(std::string_view s) {
  std::string out(s);
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
}
bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower_char(x) == lower_char(y); });
}

template <class T>
static std::optional<T> parse_whole(std::string_view s) {
  T v{};
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (error != std::errc() || end != s.data() + s.size() || s.empty()) return std::nullopt;
  return v;
}
std::optional<int64_t> parse_int(std::string_view s) {
  if (s.starts_with('+')) s.remove_prefix(1);
  return parse_whole<int64_t>(s);
}
std::optional<double> parse_number(std::string_view s) {
  if (s.starts_with('+')) s.remove_prefix(1);
  return parse_whole<double>(s);
}
std::optional<bool> parse_bool(std::string_view s) {
  if (s == "1" || equal_ignoring_case(s, "true")) return true;
  if (s == "0" || equal_ignoring_case(s, "false")) return false;
  return std::nullopt;
}

std::optional<DType> parse_dtype(std::string_view s) {
  std::string l = to_lower(s);
  for (const DTypeTraits& t : dtype_table)
    if (t.name == l) return t.type;
  constexpr std::pair<std::string_view, DType> others[] = {{"fp64", DType::f64},
                                                           {"fp32", DType::f32},
                                                           {"fp16", DType::f16},
                                                           {"bool", DType::boolean},
                                                           {"bin", DType::u1},
                                                           {"unspecified", DType::undefined},
                                                           {"undefined", DType::undefined},
                                                           {"mixed", DType::undefined},
                                                           {"float32", DType::f32},
                                                           {"float64", DType::f64},
                                                           {"float16", DType::f16},
                                                           {"bfloat16", DType::bf16},
                                                           {"int64", DType::i64},
                                                           {"int32", DType::i32},
                                                           {"int16", DType::i16},
                                                           {"int8", DType::i8},
                                                           {"uint64", DType::u64},
                                                           {"uint32", DType::u32},
                                                           {"uint16", DType::u16},
                                                           {"uint8", DType::u8},
                                                           {"float", DType::f32},
                                                           {"half", DType::f16},
                                                           {"double", DType::f64}};
  for (auto [name, type] : others)
    if (name == l) return type;
  return std::nullopt;
}

std::string port_precision(DType type) {
  switch (type) {
    case DType::undefined: return "UNSPECIFIED";
    case DType::boolean: return "BOOL";
    case DType::u1: return "BIN";
    case DType::f16: return "FP16";
    case DType::f32: return "FP32";
    case DType::f64: return "FP64";
    default: return to_upper(name_of(type));
  }
}

std::optional<Dim> parse_dim(std::string_view s) {
  s = trim(s);
  if (s == "?" || s == "-1") return Dim();
  if (size_t at = s.find(".."); at != s.npos) {
    std::string_view low = s.substr(0, at), high = s.substr(at + 2);
    auto a = low.empty() ? std::optional<int64_t>(0) : parse_int(low);
    auto b = high.empty() ? std::optional<int64_t>(Dim::unbounded) : parse_int(high);
    if (!a || !b || *a < 0 || *b < *a || (low.empty() && high.empty())) return std::nullopt;
    return Dim::between(*a, *b);
  }
  auto v = parse_int(s);
  if (!v || *v < 0) return std::nullopt;
  return Dim(*v);
}

std::optional<Shape> parse_shape(std::string_view s) {
  s = trim(s);
  if (s.starts_with('[') && s.ends_with(']')) s = trim(s.substr(1, s.size() - 2));
  if (s == "...") return Shape::unknown();
  Shape out;
  for (std::string_view part : split(s, ',')) {
    auto d = parse_dim(part);
    if (!d) return std::nullopt;
    out.push_back(*d);
  }
  return out;
}

std::string number_text(double v) {
  char buffer[64];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr};
}
std::string number_text_17(double v) {
  char buffer[64];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::general, 17).ptr};
}

namespace {
// Frameworks embed a layer's own name in long paths and number it: "out" is part of "call/model_1/out_1/Softmax".
// The last match is the layer's result; a path that begins with the name is more likely one of its variables.
std::optional<std::string> inside_path(const std::string& word, const std::vector<std::string>& candidates) {
  if (word.size() < 2) return std::nullopt;
  std::optional<std::string> variable;
  for (auto it = candidates.rbegin(); it != candidates.rend(); ++it) {
    if (it->find('/') == it->npos) continue;
    std::string path = to_lower(*it);
    bool first = true;
    for (std::string_view part : split(path, '/')) {
      bool found = part == word || part.starts_with(word + "_");
      if (found && !first) return *it;
      if (found && !variable) variable = *it;
      first = false;
    }
  }
  return variable;
}
}  // namespace

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string a = to_lower(word);
  std::optional<std::string> best;
  size_t best_distance = std::max<size_t>(2, a.size() / 3) + 1;
  std::vector<size_t> row;
  for (const std::string& candidate : candidates) {
    std::string b = to_lower(candidate);
    if (b.size() > a.size() + best_distance || a.size() > b.size() + best_distance) continue;
    row.resize(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= b.size(); ++j) {
        size_t change = diagonal + (a[i - 1] != b[j - 1]);
        diagonal = row[j];
        row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
      }
    }
    if (row[b.size()] < best_distance) {
      best_distance = row[b.size()];
      best = candidate;
    }
  }
  return best ? best : inside_path(a, candidates);
}

namespace {
// Bytes of the UTF-8 sequence that begins at `i`; 0 where none does.
size_t sequence_at(std::string_view s, size_t i) {
  auto c = static_cast<unsigned char>(s[i]);
  size_t n = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 0;
  return n && i + n <= s.size() && is_valid_utf8(s.substr(i, n)) ? n : 0;
}
}  // namespace

std::string in_quotes(std::string_view s) {
  std::string out = "\"";
  size_t whole = 0;  // end of the UTF-8 sequence that began last
  for (size_t i = 0; i < s.size(); ++i) {
    char c = s[i];
    auto u = static_cast<unsigned char>(c);
    if (i >= whole) whole = i + sequence_at(s, i);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (u < 0x20 || u == 0x7f || i >= whole) {
      constexpr char hex[] = "0123456789abcdef";
      out += "\\x";
      out += hex[u >> 4];
      out += hex[u & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

namespace {

// Control characters of ASCII, and those that UTF-8 writes as C2 80 to C2 9F.
bool is_control(std::string_view s, size_t i) {
  auto c = static_cast<unsigned char>(s[i]);
  if (c == 0xc2 && i + 1 < s.size()) return static_cast<unsigned char>(s[i + 1]) < 0xa0;
  if (i > 0 && c >= 0x80 && c < 0xa0) return static_cast<unsigned char>(s[i - 1]) == 0xc2;
  return c < 0x20 || c == 0x7f;
}

void append_escaped(std::string& out, char c) {
  constexpr char hex[] = "0123456789abcdef";
  auto u = static_cast<unsigned char>(c);
  if (c == '\n') out += "\\n";
  else if (c == '\t') out += "\\t";
  else out += {'\\', 'x', hex[u >> 4], hex[u & 15]};
}

}  // namespace

std::string printable(std::string_view s) {
  std::string out;
  for (size_t i = 0; i < s.size();) {
    size_t n = sequence_at(s, i);
    bool shown = n > 0 && (s[i] == '\n' || s[i] == '\t' || !is_control(s, i));
    for (size_t k = 0; k < std::max<size_t>(n, 1); ++k, ++i) {
      if (shown) out += s[i];
      else append_escaped(out, s[i]);
    }
  }
  return out;
}

std::string on_one_line(std::string_view s) {
  std::string out;
  for (size_t i = 0; i < s.size(); ++i) {
    if (is_control(s, i)) append_escaped(out, s[i]);
    else out += s[i];
  }
  return out;
}

std::string quoted_for_shell(std::string_view s) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!s.empty() && s.find_first_not_of(plain) == s.npos) return std::string(s);
  bool control = false;
  for (size_t i = 0; i < s.size(); ++i) control |= is_control(s, i);
  std::string out = control ? "$'" : "'";
  for (size_t i = 0; i < s.size(); ++i) {
    if (control && is_control(s, i)) append_escaped(out, s[i]);
    else if (control && (s[i] == '\'' || s[i] == '\\')) out += {'\\', s[i]};
    else if (s[i] == '\'') out += "'\\''";
    else out += s[i];
  }
  return out + "'";
}

std::string path_for_shell(const std::string& path) {
  return quoted_for_shell(path.starts_with('-') ? "./" + path : path);
}

bool is_valid_utf8(std::string_view s) {
  for (size_t i = 0; i < s.size();) {
    auto c = static_cast<unsigned char>(s[i]);
    size_t extra = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : 9;
    if (extra == 9 || i + extra >= s.size() + (extra == 0)) return false;
    for (size_t k = 1; k <= extra; ++k)
      if ((static_cast<unsigned char>(s[i + k]) & 0xc0) != 0x80) return false;
    if (extra == 2 && c == 0xe0 && static_cast<unsigned char>(s[i + 1]) < 0xa0) return false;
    if (extra == 2 && c == 0xed && static_cast<unsigned char>(s[i + 1]) > 0x9f) return false;
    if (extra == 3 && c == 0xf0 && static_cast<unsigned char>(s[i + 1]) < 0x90) return false;
    if (extra == 3 && c == 0xf4 && static_cast<unsigned char>(s[i + 1]) > 0x8f) return false;
    i += extra + 1;
  }
  return true;
}

}  // namespace graft
