#include "readers/python_text.hpp"

#include "base/text.hpp"

namespace graft {
namespace {

// Parses without errors: a string that is not a dictionary stays a string.
class PythonText {
 public:
  explicit PythonText(std::string_view s) : s_(s) {}

  bool whole(Attribute& out) {
    skip();
    return value(out) && at_ == s_.size();
  }
  bool whole(std::vector<std::pair<std::string, Attribute>>& out) {
    skip();
    bool braces = accept('{');
    if (!entries(braces ? '}' : '\0', "", out, 0)) return false;
    return at_ == s_.size() && !out.empty();
  }

 private:
  void skip() {
    while (at_ < s_.size() && (s_[at_] == ' ' || s_[at_] == '\t' || s_[at_] == '\n' || s_[at_] == '\r')) ++at_;
  }
  bool peek(char c) const { return at_ < s_.size() && s_[at_] == c; }
  bool accept(char c) {
    if (!peek(c)) return false;
    ++at_;
    skip();
    return true;
  }

  bool entries(char close, const std::string& prefix, std::vector<std::pair<std::string, Attribute>>& out, int depth) {
    if (depth > 16) return false;
    while (true) {
      if (close ? accept(close) : at_ == s_.size()) return true;
      std::string key;
      if (!(peek('\'') || peek('"') ? quoted(key) : bare(key)) || key.empty()) return false;
      if (!accept(':') || !is_key(key)) return false;
      if (accept('{')) {
        if (!entries('}', prefix + key + ".", out, depth + 1)) return false;
      } else {
        Attribute v;
        if (!value(v)) return false;
        out.emplace_back(prefix + key, std::move(v));
      }
      if (accept(',')) continue;
      // One entry per line, as in YAML.
      if (!close && at_ < s_.size() && at_ > 0 && s_.substr(0, at_).find_last_of('\n') != s_.npos) continue;
      if (close ? !peek(close) : at_ != s_.size()) return false;
    }
  }

  // Keys become components of attribute names.
  static bool is_key(std::string_view key) {
    for (char c : key)
      if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')) return false;
    return true;
  }
  bool quoted(std::string& out) {
    char close = s_[at_++];
    for (; at_ < s_.size() && s_[at_] != close; ++at_) {
      if (s_[at_] == '\\' && at_ + 1 < s_.size()) ++at_;
      out += s_[at_];
    }
    if (at_ == s_.size()) return false;
    ++at_;
    skip();
    return true;
  }
  bool bare(std::string& out) {
    while (at_ < s_.size() && std::string_view(",:{}[]()'\"\n").find(s_[at_]) == std::string_view::npos)
      out += s_[at_++];
    out = trim(out);
    skip();
    return !out.empty();
  }

  // Python 2 wrote 3L for some integers.
  static std::optional<int64_t> long_integer(std::string_view word) {
    if (!word.ends_with('L')) return std::nullopt;
    return parse_int(word.substr(0, word.size() - 1));
  }
  bool value(Attribute& out) {
    if (peek('[') || peek('(')) return list(out);
    std::string word;
    if (peek('\'') || peek('"')) {
      if (!quoted(word)) return false;
      out = std::move(word);
      return true;
    }
    if (!bare(word)) return false;
    if (word == "True" || word == "true") out = true;
    else if (word == "False" || word == "false") out = false;
    else if (auto i = parse_int(word)) out = *i;
    else if (auto l = long_integer(word)) out = *l;
    else if (auto f = parse_number(word)) out = *f;
    else out = std::move(word);
    return true;
  }
  bool list(Attribute& out) {
    char close = peek('[') ? ']' : ')';
    ++at_;
    skip();
    std::vector<int64_t> ints;
    std::vector<double> reals;
    std::vector<std::string> texts;
    bool all_ints = true, all_numbers = true;
    while (!accept(close)) {
      Attribute v;
      if (peek('[') || peek('(') || !value(v)) return false;
      if (auto i = v.get_if<int64_t>())
        ints.push_back(*i), reals.push_back(static_cast<double>(*i)), texts.push_back(text(*i));
      else if (auto f = v.get_if<double>()) reals.push_back(*f), texts.push_back(text(*f)), all_ints = false;
      else if (auto s = v.get_if<std::string>()) texts.push_back(*s), all_numbers = all_ints = false;
      else return false;
      if (!accept(',') && !peek(close)) return false;
    }
    if (all_ints) out = std::move(ints);
    else if (all_numbers) out = std::move(reals);
    else out = std::move(texts);
    return true;
  }

  std::string_view s_;
  size_t at_ = 0;
};

}  // namespace

std::vector<std::pair<std::string, Attribute>> parse_python_fields(std::string_view text) {
  std::vector<std::pair<std::string, Attribute>> out;
  if (!PythonText(text).whole(out)) out.clear();
  return out;
}

std::optional<Attribute> parse_python_value(std::string_view text) {
  Attribute out;
  if (!PythonText(text).whole(out)) return std::nullopt;
  return out;
}

}  // namespace graft
