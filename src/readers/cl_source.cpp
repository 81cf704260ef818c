#include "readers/cl_source.hpp"

#include <algorithm>
#include <span>

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

// Qualifiers do not count as types.
void add_word(ClArgument& a, std::string_view word) {
  static constexpr std::string_view spaces[] = {"global", "local", "constant", "private"};
  static constexpr std::string_view other[] = {"const", "volatile", "restrict", "__restrict", "__restrict__", "signed"};
  for (std::string_view s : spaces)
    if (word == s || (word.starts_with("__") && word.substr(2) == s)) {
      a.space = s;
      return;
    }
  for (std::string_view o : other)
    if (word == o) return;
  static constexpr std::string_view whole[] = {"char", "short", "int", "long"};
  if (a.type.empty()) a.type = word;
  else if (a.type == "unsigned" && std::find(std::begin(whole), std::end(whole), word) != std::end(whole))
    a.type = text("u", word);
  else a.name = word;
}

// One parameter, from its tokens.
ClArgument parameter(std::span<const std::string_view> t) {
  ClArgument a{"", "", "private", false};
  for (std::string_view word : t) {
    a.pointer = a.pointer || word == "*" || word == "[";
    if (word == "[") break;  // its size is no name
    if (is_word(word[0])) add_word(a, word);
  }
  if (a.type == "unsigned") a.type = "uint";
  return a;
}

class HalfSyntax {
 public:
  explicit HalfSyntax(std::string_view source) : s_(source) {}

  std::string removed() {
    for (bool line_start = true; i_ < s_.size();) {
      char c = s_[i_];
      if (c == '#' && line_start && enables_half()) i_ = end_of_line();
      else if (s_.substr(i_, 2) == "//") copy(end_of_line());
      else if (s_.substr(i_, 2) == "/*") copy(after(s_.find("*/", i_ + 2), 2));
      else if (c == '"' || c == '\'') copy(end_of_string());
      else if (is_word(c) || (c == '.' && is_digit(i_ + 1))) word();
      else copy(i_ + 1);
      line_start = c == '\n' || (line_start && (c == ' ' || c == '\t' || c == '\r'));
    }
    return std::move(out_);
  }

 private:
  bool is_digit(size_t i) const { return i < s_.size() && s_[i] >= '0' && s_[i] <= '9'; }
  size_t end_of_line() const { return std::min(s_.find('\n', i_), s_.size()); }
  size_t after(size_t found, size_t length) const { return found == s_.npos ? s_.size() : found + length; }
  size_t end_of_string() const {
    size_t end = i_ + 1;
    while (end < s_.size() && s_[end] != s_[i_] && s_[end] != '\n') end += s_[end] == '\\' ? 2 : 1;
    return std::min(end + 1, s_.size());
  }
  bool enables_half() const {
    std::string_view line = s_.substr(i_, end_of_line() - i_);
    return line.find("pragma") != line.npos && line.find("cl_khr_fp16") != line.npos;
  }
  void copy(size_t end) {
    out_ += s_.substr(i_, end - i_);
    i_ = end;
  }
  void word() {
    bool number = s_[i_] == '.' || is_digit(i_);
    size_t end = i_ + 1;
    auto goes_on = [&](char c) {
      return is_word(c) || (number && (c == '.' || ((c == '+' || c == '-') && (s_[end - 1] | 32) == 'e')));
    };
    while (end < s_.size() && goes_on(s_[end])) ++end;
    std::string_view w = s_.substr(i_, end - i_);
    bool hex = w.size() > 1 && w[0] == '0' && (w[1] | 32) == 'x';
    if (!number || hex || (w.back() | 32) != 'h') return copy(end);
    std::string_view digits = w.substr(0, w.size() - 1);
    out_ += text("((half)", digits, digits.find_first_of(".eE") == digits.npos ? ".0f)" : "f)");
    i_ = end;
  }

  std::string_view s_;
  std::string out_;
  size_t i_ = 0;
};

}  // namespace

std::optional<ClFunction> cl_function(std::string_view source, std::string_view name) {
  std::vector<std::string_view> t = tokens(source);
  for (size_t i = 0; i + 1 < t.size(); ++i) {
    if (t[i] != name || t[i + 1] != "(") continue;
    ClFunction out;
    size_t first = i + 2, start = first, k = first;
    for (int depth = 1; k < t.size(); ++k) {
      depth += t[k] == "(" || t[k] == "[" ? 1 : t[k] == ")" || t[k] == "]" ? -1 : 0;
      if (depth != 0 && !(depth == 1 && t[k] == ",")) continue;
      if (k > start || t[k] == ",") out.arguments.push_back(parameter(std::span(t).subspan(start, k - start)));
      start = k + 1;
      if (depth == 0) break;
    }
    if (k + 1 >= t.size() || t[k + 1] != "{") continue;  // a call, or a declaration
    if (out.arguments.size() == 1 && out.arguments[0].type == "void" && !out.arguments[0].pointer)
      out.arguments.clear();
    if (k > first) out.parameters = std::string(t[first].data(), t[k].data());
    return out;
  }
  return std::nullopt;
}

std::string without_half_syntax(std::string_view source) { return HalfSyntax(source).removed(); }

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
