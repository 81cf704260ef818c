#include "readers/cl_source.hpp"

#include "base/text.hpp"

namespace graft {
namespace {

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// Words and single characters, without comments, strings and directives of the preprocessor.
std::vector<std::string_view> tokens(std::string_view s) {
  std::vector<std::string_view> out;
  bool line_start = true;
  for (size_t i = 0; i < s.size();) {
    char c = s[i];
    if (c == '\n') line_start = true;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      ++i;
    } else if (s.substr(i, 2) == "//" || (c == '#' && line_start)) {
      while (i < s.size() && s[i] != '\n') i += s[i] == '\\' && i + 1 < s.size() ? 2 : 1;
    } else if (s.substr(i, 2) == "/*") {
      i = s.find("*/", i + 2);
      i = i == s.npos ? s.size() : i + 2;
    } else if (c == '"' || c == '\'') {
      for (++i; i < s.size() && s[i] != c && s[i] != '\n'; ++i) i += s[i] == '\\' ? 1 : 0;
      ++i;
      line_start = false;
    } else {
      size_t n = 1;
      if (is_word(c))
        while (i + n < s.size() && is_word(s[i + n])) ++n;
      out.push_back(s.substr(i, n));
      i += n;
      line_start = false;
    }
  }
  return out;
}

struct Found {
  std::string_view name;
  std::vector<std::string> arguments;
};

// The tokens after "__kernel": attributes, "void", the name, and the arguments in parentheses.
std::optional<Found> kernel_at(const std::vector<std::string_view>& t, size_t i) {
  while (i < t.size() && t[i] != "void") {
    if (t[i] == ";" || t[i] == "{") return std::nullopt;
    ++i;
  }
  // Attributes may also stand between "void" and the name; their parentheses are doubled.
  for (++i; i + 1 < t.size() && t[i] == "__attribute__";) {
    int depth = 0;
    for (++i; i < t.size(); ++i) {
      depth += t[i] == "(" ? 1 : t[i] == ")" ? -1 : 0;
      if (depth == 0) break;
    }
    ++i;
  }
  if (i + 1 >= t.size() || t[i + 1] != "(") return std::nullopt;
  Found out{t[i], {}};
  std::string_view last;
  int depth = 1;
  bool any = false;
  for (i += 2; i < t.size() && depth > 0; ++i) {
    depth += t[i] == "(" || t[i] == "[" ? 1 : t[i] == ")" || t[i] == "]" ? -1 : 0;
    if (depth == 0 || (depth == 1 && t[i] == ",")) {
      if (any || t[i] == ",") out.arguments.emplace_back(last);
      last = {};
      any = false;
    } else if (depth == 1 && is_word(t[i][0])) {
      last = t[i];
      any = true;
    }
  }
  if (out.arguments == std::vector<std::string>{"void"}) out.arguments.clear();
  return out;
}

std::vector<Found> kernels(std::string_view source) {
  std::vector<Found> out;
  std::vector<std::string_view> t = tokens(source);
  for (size_t i = 0; i < t.size(); ++i)
    if (t[i] == "__kernel" || t[i] == "kernel")
      if (auto found = kernel_at(t, i + 1)) out.push_back(std::move(*found));
  return out;
}

}  // namespace

std::optional<std::vector<std::string>> kernel_arguments(std::string_view source, std::string_view function) {
  for (Found& f : kernels(source))
    if (f.name == function) return std::move(f.arguments);
  return std::nullopt;
}

std::vector<std::string> kernel_functions(std::string_view source) {
  std::vector<std::string> out;
  for (const Found& f : kernels(source)) out.emplace_back(f.name);
  return out;
}

}  // namespace graft
