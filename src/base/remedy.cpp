// Remedies in texts: `shapes[data]=[1,3,224,224]`.
#include "base/error.hpp"

namespace graft {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
}

void append_doubling(std::string& out, std::string_view s, std::string_view doubled) {
  for (char c : s) {
    if (doubled.find(c) != doubled.npos) out += c;
    out += c;
  }
}

// Takes characters up to a single `end`. False: there is none.
bool take_until(std::string_view& rest, char end, std::string& out) {
  for (size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == end) {
      if (i + 1 == rest.size() || rest[i + 1] != end) {
        rest.remove_prefix(i + 1);
        return true;
      }
      ++i;
    }
    out += rest[i];
  }
  return false;
}

// The remedy that begins at the start of `rest`, without its first backquote; removes it from there.
std::optional<Remedy> take_remedy(std::string_view& rest) {
  std::string_view after = rest;
  std::string inside;
  if (!take_until(after, '`', inside)) return std::nullopt;
  std::string_view s = inside;
  size_t n = 0;
  while (n < s.size() && is_name_char(s[n])) ++n;
  Remedy r{std::string(s.substr(0, n)), {}, {}};
  s.remove_prefix(n);
  if (!s.empty() && s[0] == '[') {
    s.remove_prefix(1);
    if (!take_until(s, ']', r.place)) return std::nullopt;
  }
  if (n == 0 || (!s.empty() && s[0] != '=')) return std::nullopt;
  if (!s.empty()) r.value = s.substr(1);
  rest = after;
  return r;
}

// Calls `plain` for the characters between remedies and `found` for each remedy with its text.
template <class Plain, class Found>
void scan(std::string_view text, Plain&& plain, Found&& found) {
  while (!text.empty()) {
    size_t at = std::min(text.find('`'), text.size());
    plain(text.substr(0, at));
    text.remove_prefix(at);
    if (text.empty()) return;
    std::string_view rest = text.substr(1);
    if (std::optional<Remedy> r = take_remedy(rest)) {
      found(*r, text.substr(0, text.size() - rest.size()));
      text = rest;
    } else {
      plain(text.substr(0, 1));
      text.remove_prefix(1);
    }
  }
}

}  // namespace

std::string Remedy::to_text() const {
  std::string inside = option;
  if (!place.empty()) {
    inside += '[';
    append_doubling(inside, place, "]");
    inside += ']';
  }
  if (!value.empty()) inside += "=" + value;
  std::string out = "`";
  append_doubling(out, inside, "`");
  return out + '`';
}

void append_text(std::string& out, const Remedy& remedy) { out += remedy.to_text(); }

std::vector<Remedy> remedies_in(std::string_view text) {
  std::vector<Remedy> out;
  scan(
      text, [](std::string_view) {}, [&](const Remedy& r, std::string_view) { out.push_back(r); });
  return out;
}

std::string reworded(std::string_view text, const RemedyWords& words) {
  std::string out;
  scan(
      text, [&](std::string_view s) { out += s; },
      [&](const Remedy& r, std::string_view own) {
        std::optional<std::string> other = words(r);
        out += other ? *other : std::string(own);
      });
  return out;
}

Error coded_error(ErrorKind kind, std::string message, std::string hint) {
  ErrorCode code = ErrorCode::other;
  for (const Remedy& r : remedies_in(hint)) {
    if (r.option == "shapes" && r.place.empty()) code = ErrorCode::shape_needed;
    if (r.option == "limits" && !r.place.empty()) code = ErrorCode::limit_reached;
  }
  return Error(kind, std::move(message), std::move(hint), code);
}

}  // namespace graft
