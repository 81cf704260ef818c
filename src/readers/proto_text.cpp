#include "readers/proto_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"

namespace graft {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) { return is_name_start(c) || is_digit(c); }
int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void put_utf8(std::string& out, uint32_t code) {
  auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) put(code);
  else if (code < 0x800) put(0xc0 | code >> 6), put(0x80 | (code & 63));
  else if (code < 0x10000) put(0xe0 | code >> 12), put(0x80 | (code >> 6 & 63)), put(0x80 | (code & 63));
  else put(0xf0 | code >> 18), put(0x80 | (code >> 12 & 63)), put(0x80 | (code >> 6 & 63)), put(0x80 | (code & 63));
}

class ProtoTextParser {
 public:
  ProtoTextParser(std::string_view bytes, const std::string& file, const ProtoTextLimits& limits)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()), file_(file), limits_(limits) {
    if (bytes.starts_with("\xef\xbb\xbf")) at_ += 3;
    // A field takes a hundred bytes of memory; a text of nothing but short ones is refused.
    limits_.fields = std::min(limits_.fields, 1'000'000 + bytes.size() / 8);
  }

  ProtoNode whole() {
    ProtoNode root;
    root.line = 1;
    skip_space();
    while (at_ != end_) field(root.fields, 1);
    return root;
  }

 private:
  template <class... Parts>
  [[noreturn]] void broken(const Parts&... parts) const {
    throw_user(file_, ':', line_, ": ", parts...);
  }
  std::string found() const {
    if (at_ == end_) return "the end of the file";
    auto c = static_cast<unsigned char>(*at_);
    if (c < 0x20 || c >= 0x7f) return text("byte ", static_cast<int>(c));
    return text('\'', *at_, '\'');
  }

  void skip_space() {
    for (; at_ != end_; ++at_) {
      if (*at_ == '#') {
        while (at_ != end_ && *at_ != '\n') ++at_;
        if (at_ == end_) return;
      }
      if (*at_ == '\n') ++line_;
      else if (*at_ != ' ' && *at_ != '\t' && *at_ != '\r' && *at_ != '\f' && *at_ != '\v') return;
    }
  }
  bool accept(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    skip_space();
    return true;
  }

  void field(std::vector<ProtoNode>& out, int depth) {
    ProtoNode head;
    head.line = line_;
    head.name = field_name();
    bool colon = accept(':');
    if (at_ != end_ && *at_ == '[' && colon) {
      accept('[');
      if (!accept(']')) {
        do {
          ProtoNode item = head;
          item.listed = true;
          value(item, depth);
          out.push_back(std::move(item));
        } while (accept(','));
        if (!accept(']')) broken("expected ',' or ']' in the list of '", head.name, "', got ", found());
      }
    } else if (colon || (at_ != end_ && (*at_ == '{' || *at_ == '<'))) {
      value(head, depth);
      out.push_back(std::move(head));
    } else {
      broken("expected ':' or '{' after '", head.name, "', got ", found());
    }
    if (!accept(',')) accept(';');
  }

  std::string field_name() {
    if (at_ != end_ && *at_ == '[') {  // an extension's full name
      const char* begin = at_;
      while (at_ != end_ && *at_ != ']' && *at_ != '\n') ++at_;
      if (at_ == end_ || *at_ != ']') broken("expected ']' at the end of the name that begins with '['");
      std::string name(begin, ++at_);
      skip_space();
      return name;
    }
    if (at_ == end_ || !is_name_start(*at_)) broken("expected the name of a field, got ", found());
    return name_token();
  }
  std::string name_token() {
    const char* begin = at_;
    while (at_ != end_ && is_name(*at_)) ++at_;
    std::string name(begin, at_);
    skip_space();
    return name;
  }

  void value(ProtoNode& node, int depth) {
    node.line = line_;
    if (++fields_ > limits_.fields) broken("the file has more than ", limits_.fields, " fields");
    if (at_ == end_) broken("expected a value of '", node.name, "', got the end of the file");
    char c = *at_;
    if (c == '{' || c == '<') return message(node, depth);
    if (c == '"' || c == '\'') {
      node.kind = ProtoNode::text;
      while (at_ != end_ && (*at_ == '"' || *at_ == '\'')) quoted(node.value);
      return;
    }
    if (accept('-')) {
      node.value = "-";
      if (at_ == end_) broken("expected a number after '-', got the end of the file");
      c = *at_;
    }
    if (is_digit(c) || c == '.') return number(node);
    if (!is_name_start(c)) broken("expected a value of '", node.name, "', got ", found());
    bool negative = !node.value.empty();
    node.value += name_token();
    node.kind = ProtoNode::word;
    if (negative && !node.real()) broken("expected a number, got '", node.value, "'");
  }

  void message(ProtoNode& node, int depth) {
    if (depth >= limits_.depth) broken("messages are nested more than ", limits_.depth, " deep");
    size_t begin = line_;
    char close = *at_ == '{' ? '}' : '>';
    accept(*at_);
    node.kind = ProtoNode::message;
    while (!accept(close)) {
      if (at_ == end_)
        broken("expected '", close, "' to close '", node.name, "' of line ", begin, ", got the end of the file");
      field(node.fields, depth + 1);
    }
  }

  void number(ProtoNode& node) {
    const char* begin = at_;
    while (at_ != end_ && (is_name(*at_) || *at_ == '.' || ((*at_ == '+' || *at_ == '-') && exponent(begin)))) ++at_;
    node.value.append(begin, at_);
    node.kind = ProtoNode::number;
    if (!node.integer() && !node.real()) broken("expected a number, got '", node.value, "'");
    skip_space();
  }
  bool exponent(const char* begin) const {
    bool hex = at_ - begin > 1 && begin[0] == '0' && (begin[1] == 'x' || begin[1] == 'X');
    return at_ != begin && !hex && (at_[-1] == 'e' || at_[-1] == 'E');
  }

  void quoted(std::string& out) {
    char close = *at_++;
    for (;; ++at_) {
      if (at_ == end_ || *at_ == '\n') broken("unterminated string");
      if (*at_ == close) break;
      if (*at_ != '\\') {
        out += *at_;
        continue;
      }
      if (++at_ == end_) broken("unterminated string");
      escape(out);
    }
    ++at_;
    skip_space();
  }

  // At the character after the backslash; stays at the last one of the escape.
  void escape(std::string& out) {
    switch (*at_) {
      case 'n': out += '\n'; return;
      case 't': out += '\t'; return;
      case 'r': out += '\r'; return;
      case 'a': out += '\a'; return;
      case 'b': out += '\b'; return;
      case 'f': out += '\f'; return;
      case 'v': out += '\v'; return;
      case '\\':
      case '\'':
      case '"':
      case '?': out += *at_; return;
      case 'x':
      case 'X': out += static_cast<char>(digits(2, 16, 1)); return;
      case 'u': put_utf8(out, digits(4, 16, 4)); return;
      case 'U': {
        uint32_t code = digits(8, 16, 8);
        if (code > 0x10ffff) broken("invalid code point ", code);
        put_utf8(out, code);
        return;
      }
      default: break;
    }
    if (*at_ < '0' || *at_ > '7') broken("unknown escape '\\", *at_, "'");
    --at_;
    out += static_cast<char>(digits(3, 8, 1));
  }
  // Up to `most` digits after the current character.
  uint32_t digits(int most, int base, int least) {
    uint32_t v = 0;
    int n = 0;
    for (; n < most && at_ + 1 != end_; ++n) {
      int d = hex_digit(at_[1]);
      if (d < 0 || d >= base) break;
      v = v * static_cast<uint32_t>(base) + static_cast<uint32_t>(d);
      ++at_;
    }
    if (n < least) broken("expected ", least, " digits in an escape, got ", n);
    return v;
  }

  const char* at_;
  const char* end_;
  size_t line_ = 1;
  size_t fields_ = 0;
  const std::string& file_;
  ProtoTextLimits limits_;
};

}  // namespace

const ProtoNode* ProtoNode::find(std::string_view field) const {
  for (const ProtoNode& f : fields)
    if (f.name == field) return &f;
  return nullptr;
}
std::vector<const ProtoNode*> ProtoNode::all(std::string_view field) const {
  std::vector<const ProtoNode*> out;
  for (const ProtoNode& f : fields)
    if (f.name == field) out.push_back(&f);
  return out;
}
std::string ProtoNode::text_of(std::string_view field) const {
  const ProtoNode* f = find(field);
  return f && f->kind != message ? f->value : std::string();
}

std::optional<int64_t> ProtoNode::integer() const {
  if (kind != number) return std::nullopt;
  std::string_view s = value;
  bool negative = s.starts_with('-');
  if (negative) s.remove_prefix(1);
  int base = 10;
  if (s.starts_with("0x") || s.starts_with("0X")) base = 16, s.remove_prefix(2);
  else if (s.size() > 1 && s[0] == '0') base = 8;
  uint64_t v = 0;
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v, base);
  if (error != std::errc() || end != s.data() + s.size()) return std::nullopt;
  if (negative && v > uint64_t{1} << 63) return std::nullopt;
  return static_cast<int64_t>(negative ? 0 - v : v);
}

std::optional<double> ProtoNode::real() const {
  if (kind == message || kind == text) return std::nullopt;
  std::string_view s = value;
  bool negative = s.starts_with('-');
  if (negative) s.remove_prefix(1);
  std::optional<double> v;
  if (kind == word) {
    if (equal_ignoring_case(s, "inf") || equal_ignoring_case(s, "infinity")) v = INFINITY;
    else if (equal_ignoring_case(s, "nan")) v = NAN;
  } else if (auto i = integer()) {
    bool large = !negative && *i < 0;
    return large ? static_cast<double>(static_cast<uint64_t>(*i)) : static_cast<double>(*i);
  } else {
    if (s.ends_with('f') || s.ends_with('F')) s.remove_suffix(1);
    if (!s.empty() && (is_digit(s[0]) || s[0] == '.')) v = parse_number(s);
  }
  if (v && negative) *v = -*v;
  return v;
}

std::optional<bool> ProtoNode::boolean() const {
  if (kind == word && (value == "true" || value == "True" || value == "t")) return true;
  if (kind == word && (value == "false" || value == "False" || value == "f")) return false;
  auto i = integer();
  if (i && (*i == 0 || *i == 1)) return *i == 1;
  return std::nullopt;
}

ProtoNode parse_proto_text(std::string_view bytes, const std::string& file, const ProtoTextLimits& limits) {
  return ProtoTextParser(bytes, file, limits).whole();
}

}  // namespace graft
