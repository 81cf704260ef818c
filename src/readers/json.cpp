#include "readers/json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"

namespace graft {

using nlohmann::json;

namespace {

class JsonCheck {
 public:
  JsonCheck(const std::string& file, const JsonRules& rules) : file_(file), rules_(rules) {}

  bool operator()(int depth, json::parse_event_t event, json& v) {
    using Event = json::parse_event_t;
    if (depth > rules_.depth) {
      if (rules_.too_deep) rules_.too_deep();
      throw_user(file_, ": values are nested more than ", rules_.depth, " deep");
    }
    if (++values_ > rules_.values) throw_user(file_, ": the file has more than ", rules_.values, " values");
    if (!rules_.unique_keys) return true;
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    if (event == Event::key && !keys_.back().insert(v.get<std::string>()).second)
      throw_user(file_, ": duplicate key '", v.get<std::string>(), "'");
    return true;
  }

 private:
  const std::string& file_;
  const JsonRules& rules_;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
  size_t values_ = 0;
};

// The file is text for people: what is shown of it must be, too.
std::string shown(std::string_view rest) {
  std::string_view line = rest.substr(0, std::min<size_t>(rest.find('\n'), 20));
  bool plain = std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c < '\x7f'; });
  return line.empty() || !plain ? std::string() : text(", at '", line, "'");
}

}  // namespace

json parse_json(std::string_view bytes, const std::string& file, const JsonRules& rules) {
  JsonCheck check(file, rules);
  try {
    return json::parse(bytes.begin(), bytes.end(),
                       [&](int depth, json::parse_event_t event, json& v) { return check(depth, event, v); });
  } catch (const json::parse_error& e) {
    size_t at = std::min(e.byte ? e.byte - 1 : 0, bytes.size());
    auto line = 1 + std::count(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(at), '\n');
    std::string where = at == bytes.size() ? ": unexpected end of the file" : shown(bytes.substr(at));
    throw Error(ErrorKind::user, text(file, ':', line, ": invalid JSON", where), rules.hint);
  } catch (const json::exception& e) {
    throw Error(ErrorKind::user, text(file, ": invalid JSON"), rules.hint);
  }
}

}  // namespace graft
