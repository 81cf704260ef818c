#include "source_text.hpp"

#include <graft/text.hpp>
#include <set>

namespace graft::cli {
namespace {

const std::set<std::string, std::less<>>& taken_words() {
  static const std::set<std::string, std::less<>> words = {
      "NAN",       "NULL",          "EOF",          "INFINITY", "alignas",    "alignof",
      "and",       "and_eq",        "asm",          "assert",   "auto",       "bitand",
      "bitor",     "bool",          "break",        "case",     "catch",      "char",
      "char16_t",  "char32_t",      "char8_t",      "class",    "co_await",   "co_return",
      "co_yield",  "compl",         "concept",      "const",    "const_cast", "consteval",
      "constexpr", "constinit",     "continue",     "decltype", "default",    "delete",
      "do",        "double",        "dynamic_cast", "else",     "enum",       "errno",
      "explicit",  "export",        "extern",       "false",    "float",      "for",
      "friend",    "goto",          "graft",        "if",       "inline",     "int",
      "linux",     "long",          "main",         "mutable",  "namespace",  "new",
      "noexcept",  "not",           "not_eq",       "nullptr",  "operator",   "or",
      "or_eq",     "private",       "protected",    "public",   "register",   "reinterpret_cast",
      "requires",  "return",        "schema",       "short",    "signed",     "sizeof",
      "static",    "static_assert", "static_cast",  "std",      "stderr",     "stdin",
      "stdout",    "struct",        "switch",       "template", "this",       "thread_local",
      "throw",     "true",          "try",          "typedef",  "typeid",     "typename",
      "union",     "unix",          "unsigned",     "using",    "virtual",    "void",
      "volatile",  "wchar_t",       "while",        "xor",      "xor_eq"};
  return words;
}

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

// Octal escapes end after three digits; hexadecimal ones have no maximum length.
std::string cpp_literal(std::string_view s) {
  bool utf8 = is_valid_utf8(s);
  std::string out = "\"";
  for (char c : s) {
    auto u = static_cast<unsigned char>(c);
    auto digit = [&](int shift) { return static_cast<char>('0' + ((u >> shift) & 7)); };
    if (c == '"' || c == '\\') out += {'\\', c};
    else if (u < 0x20 || u == 0x7f || (u >= 0x80 && !utf8)) out += {'\\', digit(6), digit(3), digit(0)};
    else out += c;
  }
  return out + '"';
}

// A backslash at the end would continue the comment on the next line.
std::string cpp_comment(std::string_view s) {
  std::string line = "// " + on_one_line(s);
  if (line.ends_with('\\')) line += "x5c";
  return line;
}

// Like in C++, octal escapes; bytes that are not UTF-8 cannot be written in a str literal and are escaped as text.
std::string python_literal(std::string_view s) {
  if (!is_valid_utf8(s)) return python_literal(printable(s));
  std::string out = "'";
  for (char c : s) {
    auto u = static_cast<unsigned char>(c);
    auto digit = [&](int shift) { return static_cast<char>('0' + ((u >> shift) & 7)); };
    if (c == '\'' || c == '\\') out += {'\\', c};
    else if (u < 0x20 || u == 0x7f) out += {'\\', digit(6), digit(3), digit(0)};
    else out += c;
  }
  return out + "'";
}

std::string xml_escaped(std::string_view s) {
  std::string out;
  for (char c : printable(s)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\n': out += "&#10;"; break;
      case '\t': out += "&#9;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string identifier(std::string_view s) {
  std::string out;
  for (char c : s) out += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
  if (out.empty() || (out[0] >= '0' && out[0] <= '9') || out.starts_with('_')) out = "x" + out;
  return taken_words().count(out) ? out + "_" : out;
}

bool is_identifier(std::string_view s) {
  if (s.empty() || (s[0] >= '0' && s[0] <= '9')) return false;
  for (char c : s)
    if (!is_word_character(c)) return false;
  return true;
}

bool is_reserved_word(std::string_view s) { return taken_words().count(s) != 0; }

}  // namespace graft::cli
