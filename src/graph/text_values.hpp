// The textual form below the level of graphs: words, numbers, types, shapes, tensors, attributes. For text_parse.cpp.
#pragma once

#include <bit>
#include <charconv>
#include <cmath>
#include <random>

#include "base/limits.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "graph/attribute.hpp"
#include "graph/graph.hpp"

namespace graft {

// Total number of elements that fill(), iota() and random() may create in one input.
inline constexpr int64_t max_generated = int64_t{1} << 22;

// Words, numbers, quoted strings and punctuation, with their line numbers.
class Lexer {
 public:
  explicit Lexer(std::string_view s) : s_(s) {}

  enum Kind { end, word, number, text_literal, sign };
  struct Token {
    Kind kind = end;
    std::string_view raw;
    std::string value;  // of a quoted string
    int line = 1;
  };

  const Token& peek() {
    if (!ahead_) token_ = read(), ahead_ = true;
    return token_;
  }
  Token next() {
    peek();
    ahead_ = false;
    return std::move(token_);
  }
  std::string_view rest_of_line() {
    if (ahead_) at_ = static_cast<size_t>(token_.raw.data() - s_.data()), ahead_ = false, line_ = token_.line;
    size_t nl = std::min(s_.find('\n', at_), s_.size());
    std::string_view r = s_.substr(at_, nl - at_);
    at_ = nl;
    return trim(r);
  }
  int line() { return ahead_ ? token_.line : line_; }

  template <class... Parts>
  [[noreturn]] void broken(const Parts&... parts) {
    int where = peek_line();
    throw_user("line ", where, ": ", parts...);
  }
  [[noreturn]] void unknown_argument(std::string_view name) {
    throw Error(ErrorKind::user, text("line ", peek_line(), ": unknown argument '$", name, "'"), {},
                ErrorCode::missing_argument);
  }

 private:
  int peek_line() { return ahead_ ? token_.line : line_; }
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '/' ||
           c == '$';
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  Token read() {
    for (; at_ < s_.size(); ++at_) {
      if (s_[at_] == '#') at_ = std::min(s_.find('\n', at_), s_.size());
      if (at_ >= s_.size()) break;
      if (s_[at_] == '\n') ++line_;
      else if (s_[at_] != ' ' && s_[at_] != '\t' && s_[at_] != '\r') break;
    }
    Token t;
    t.line = line_;
    if (at_ >= s_.size()) {
      t.raw = s_.substr(s_.size());
      return t;
    }
    size_t start = at_;
    char c = s_[at_];
    if (c == '"') return quoted_text();
    bool minus = c == '-' && at_ + 1 < s_.size() &&
                 (is_digit(s_[at_ + 1]) || s_[at_ + 1] == '.' || s_.substr(at_ + 1, 3) == "inf" ||
                  s_.substr(at_ + 1, 3) == "nan");
    if (is_digit(c) || minus) {
      ++at_;
      while (at_ < s_.size()) {
        char d = s_[at_];
        bool exponent_sign = (d == '-' || d == '+') && (s_[at_ - 1] == 'e' || s_[at_ - 1] == 'E');
        if (s_.substr(at_, 2) == "..") break;  // 8..64 is two numbers
        if (!is_word(d) && d != '.' && !exponent_sign) break;
        if (d == '/' || d == '$') break;
        ++at_;
      }
      t.kind = number;
    } else if (is_word(c)) {
      while (at_ < s_.size() && is_word(s_[at_])) ++at_;
      t.kind = word;
    } else {
      for (std::string_view two : {"->", "<-", "..."})
        if (s_.substr(at_, two.size()) == two) at_ += two.size();
      if (at_ == start) at_ += s_.substr(at_, 2) == ".." ? 2 : 1;
      t.kind = sign;
    }
    t.raw = s_.substr(start, at_ - start);
    return t;
  }

  Token quoted_text() {
    Token t;
    t.kind = text_literal;
    t.line = line_;
    size_t start = at_++;
    for (; at_ < s_.size() && s_[at_] != '"'; ++at_) {
      char c = s_[at_];
      if (c == '\n') throw_user("line ", line_, ": unterminated string");
      if (c != '\\') {
        t.value += c;
        continue;
      }
      if (++at_ >= s_.size()) break;
      switch (s_[at_]) {
        case 'n': t.value += '\n'; break;
        case 't': t.value += '\t'; break;
        case 'x': {
          unsigned v = 0;
          auto [p, e] = std::from_chars(s_.data() + std::min(at_ + 1, s_.size()),
                                        s_.data() + std::min(at_ + 3, s_.size()), v, 16);
          if (e != std::errc() || p != s_.data() + at_ + 3)
            throw_user("line ", line_, ": expected two hexadecimal digits after \\x");
          t.value += static_cast<char>(v);
          at_ += 2;
          break;
        }
        default: t.value += s_[at_];
      }
    }
    if (at_ >= s_.size()) throw_user("line ", line_, ": unterminated string");
    ++at_;
    t.raw = s_.substr(start, at_ - start);
    return t;
  }

  std::string_view s_;
  size_t at_ = 0;
  int line_ = 1;
  bool ahead_ = false;
  Token token_;
};

// Parses values.
class ValueParser {
 public:
  explicit ValueParser(std::string_view s, const Limits& limits = {}) : lex(s), limits(limits) {}
  Lexer lex;
  Limits limits;
  const Attributes* arguments = nullptr;

  bool accept(std::string_view raw) {
    const auto& t = lex.peek();
    if (t.kind == Lexer::end || t.kind == Lexer::text_literal || t.raw != raw) return false;
    lex.next();
    return true;
  }
  void expect(std::string_view raw) {
    if (!accept(raw)) lex.broken("expected '", raw, "', got ", found());
  }
  std::string found() {
    const auto& t = lex.peek();
    return t.kind == Lexer::end ? std::string("the end") : text("'", t.raw.substr(0, 40), "'");
  }
  std::string name() {
    const auto& t = lex.peek();
    if (t.kind != Lexer::word && t.kind != Lexer::text_literal) lex.broken("expected a name, got ", found());
    Lexer::Token taken = lex.next();
    return taken.kind == Lexer::text_literal ? taken.value : std::string(taken.raw);
  }
  std::string quoted() {
    if (lex.peek().kind != Lexer::text_literal) lex.broken("expected a quoted string, got ", found());
    return lex.next().value;
  }
  // `$name` where a number is expected: an attribute of the decomposed node.
  const Attribute* argument() {
    if (!arguments || lex.peek().kind != Lexer::word || !lex.peek().raw.starts_with('$')) return nullptr;
    std::string which(lex.next().raw.substr(1));
    const Attribute* a = arguments->find(which);
    if (!a) lex.unknown_argument(which);
    return a;
  }
  int64_t integer() {
    if (const Attribute* a = argument()) {
      if (auto i = a->get_if<int64_t>()) return *i;
      if (auto b = a->get_if<bool>()) return *b;
      lex.broken("expected an integer, got an argument that is a ", kind_name(a->kind()));
    }
    auto v = lex.peek().kind == Lexer::number ? parse_int(lex.peek().raw) : std::nullopt;
    if (!v) lex.broken("expected an integer, got ", found());
    lex.next();
    return *v;
  }
  bool at_number() {
    const auto& t = lex.peek();
    return t.kind == Lexer::number || (t.kind == Lexer::word && (t.raw == "inf" || t.raw == "nan"));
  }
  double real() {
    if (const Attribute* a = argument()) {
      if (auto f = a->get_if<double>()) return *f;
      if (auto i = a->get_if<int64_t>()) return static_cast<double>(*i);
      lex.broken("expected a number, got an argument that is a ", kind_name(a->kind()));
    }
    auto v = at_number() ? parse_number(lex.peek().raw) : std::nullopt;
    if (!v) lex.broken("expected a number, got ", found());
    lex.next();
    return std::isnan(*v) && accept("(") ? nan_bits() : *v;
  }
  // Behind `nan(`: the bits of a NaN, 0x7ff8000000000001.
  double nan_bits() {
    std::string_view raw = lex.peek().kind == Lexer::number ? lex.peek().raw : "";
    uint64_t bits = 0;
    bool hex = raw.starts_with("0x");
    if (hex) raw.remove_prefix(2);
    auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), bits, 16);
    double v = std::bit_cast<double>(bits);
    if (!hex || error != std::errc() || end != raw.data() + raw.size() || !std::isnan(v))
      lex.broken("expected the bits of a NaN, such as 0x7ff8000000000001, got ", found());
    lex.next();
    expect(")");
    return v;
  }

  // ---- types, shapes, tensors ----

  DType dtype() {
    auto t = lex.peek().kind == Lexer::word ? parse_dtype(lex.peek().raw) : std::nullopt;
    if (!t) lex.broken("expected an element type, got ", found());
    lex.next();
    return *t;
  }
  Dim dim() {
    if (accept("?")) return Dim();
    bool open = accept("..");
    int64_t low = open ? 0 : integer();
    if (low < 0) {
      if (low == -1 && !open) return Dim();
      lex.broken("expected a non-negative dimension, got ", low);
    }
    if (!open && !accept("..")) return Dim(low);
    if (!at_number())
      return open ? (lex.broken("expected a number after '..'"), Dim()) : Dim::between(low, Dim::unbounded);
    int64_t high = integer();
    if (high < low) lex.broken("expected a dimension range in ascending order, got ", low, "..", high);
    return Dim::between(low, high);
  }
  Shape shape() {
    expect("[");
    if (accept("...")) {
      expect("]");
      return Shape::unknown();
    }
    Shape s;
    if (accept("]")) return s;
    do {
      if (s.dims().size() >= limits.rank)
        over_limit(&Limits::rank, [&] { lex.broken("a shape has more than ", limits.rank, " dimensions"); });
      s.push_back(dim());
    } while (accept(","));
    expect("]");
    return s;
  }
  Info info() {
    DType t = dtype();
    return {t, shape()};
  }

  Tensor tensor() {
    Info i = info();
    if (!i.shape.is_static()) lex.broken("expected a static shape for a tensor, got ", i.shape);
    return values(i.type, i.shape.values());
  }
  Tensor values(DType type, std::vector<int64_t> dims) {
    int64_t count = count_checked(dims);
    if (type == DType::undefined) lex.broken("a tensor needs an element type");
    auto limit = [&] {
      if (count > max_generated - generated_)
        lex.broken("a tensor of ", count, " elements is too large for the textual form");
      generated_ += count;
    };
    if (accept("fill")) {
      limit();
      expect("(");
      double v = real();
      expect(")");
      return make_tensor<double>(dims, std::vector<double>(static_cast<size_t>(count), v)).to(type);
    }
    if (accept("iota")) {
      limit();
      expect("(");
      double start = real();
      expect(",");
      double step = real();
      expect(")");
      std::vector<double> v(static_cast<size_t>(count));
      for (size_t i = 0; i < v.size(); ++i) v[i] = start + step * static_cast<double>(i);
      return make_tensor<double>(dims, v).to(type);
    }
    if (accept("random")) {
      limit();
      expect("(");
      auto seed = static_cast<uint64_t>(integer());
      double low = 0, high = 1;
      if (accept(",")) {
        low = real();
        expect(",");
        high = real();
      }
      expect(")");
      std::mt19937_64 engine(seed);
      std::vector<double> v(static_cast<size_t>(count));
      for (double& x : v) x = low + (high - low) * static_cast<double>(engine() >> 11) * 0x1.0p-53;
      return make_tensor<double>(dims, v).to(type);
    }
    expect("{");
    std::vector<double> reals;
    std::vector<int64_t> ints;
    std::vector<std::string> texts;
    bool whole = !is_real(type);
    if (!accept("}")) {
      do {
        if (static_cast<int64_t>(reals.size() + ints.size() + texts.size()) >= count)
          lex.broken("expected ", count, " values, got more");
        if (type == DType::string) texts.push_back(quoted());
        else if (whole && accept("true")) ints.push_back(1);
        else if (whole && accept("false")) ints.push_back(0);
        else if (whole && type == DType::u64) {
          uint64_t u = 0;
          std::string_view raw = lex.peek().raw;
          auto [p, e] = std::from_chars(raw.data(), raw.data() + raw.size(), u);
          if (e != std::errc() || p != raw.data() + raw.size()) lex.broken("expected an integer, got ", found());
          lex.next();
          ints.push_back(static_cast<int64_t>(u));
        } else if (whole) ints.push_back(integer());
        else reals.push_back(real());
      } while (accept(","));
      expect("}");
    }
    auto given = static_cast<int64_t>(reals.size() + ints.size() + texts.size());
    if (given != count) lex.broken("expected ", count, " values for shape ", Shape::of(dims), ", got ", given);
    if (type == DType::string) return Tensor::strings(dims, texts);
    return whole ? make_tensor<int64_t>(dims, ints).to(type) : make_tensor<double>(dims, reals).to(type);
  }

  // ---- attributes ----

  Attribute attribute() {
    const auto& t = lex.peek();
    if (t.kind == Lexer::text_literal) return lex.next().value;
    if (t.kind == Lexer::word && t.raw.starts_with('$')) {
      std::string which(lex.next().raw.substr(1));
      const Attribute* a = arguments ? arguments->find(which) : nullptr;
      if (!a) lex.unknown_argument(which);
      return *a;
    }
    if (accept("true")) return true;
    if (accept("false")) return false;
    if (accept("none")) return {};
    if (accept("shape")) return shape();
    if (at_number()) return number();
    if (accept("[")) return list();
    if (t.kind == Lexer::word && parse_dtype(t.raw)) {
      DType type = dtype();
      if (lex.peek().raw != "[") return type;
      Shape s = shape();
      if (!s.is_static()) lex.broken("expected a static shape for a tensor, got ", s);
      return values(type, s.values());
    }
    lex.broken("expected a value, got ", found());
  }
  Attribute number() {
    std::string_view raw = lex.peek().raw;
    if (auto i = parse_int(raw)) {
      lex.next();
      return *i;
    }
    return real();
  }
  Attribute list() {
    std::vector<int64_t> ints;
    std::vector<double> reals;
    std::vector<std::string> texts;
    std::vector<DType> types;
    bool all_whole = true;
    if (accept("]")) return ints;
    do {
      const auto& t = lex.peek();
      if (t.kind == Lexer::text_literal) texts.push_back(lex.next().value);
      else if (at_number()) {
        Attribute n = number();
        if (auto i = n.get_if<int64_t>()) ints.push_back(*i), reals.push_back(static_cast<double>(*i));
        else reals.push_back(n.as<double>()), all_whole = false;
      } else types.push_back(dtype());
    } while (accept(","));
    expect("]");
    if ((texts.empty() ? 0 : 1) + (reals.empty() ? 0 : 1) + (types.empty() ? 0 : 1) > 1)
      lex.broken("expected list items of one kind");
    if (!texts.empty()) return texts;
    if (!types.empty()) return types;
    if (all_whole) return ints;
    return reals;
  }

 private:
  int64_t generated_ = 0;
};

}  // namespace graft
