#include "readers/json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"

namespace graft {

using nlohmann::json;

namespace {

// Builds the value itself: with a callback, nlohmann-json searches the whole array at the end of each of its objects.
class JsonBuilder : public nlohmann::json_sax<json> {
 public:
  JsonBuilder(const std::string& file, const JsonRules& rules) : file_(file), rules_(rules) {}

  json root;
  std::optional<size_t> error_byte;  // 0: of the value, not of its place

  bool null() override { return add(nullptr); }
  bool boolean(bool v) override { return add(v); }
  bool number_integer(int64_t v) override { return add(v); }
  bool number_unsigned(uint64_t v) override { return add(v); }
  bool number_float(double v, const std::string&) override { return add(v); }
  bool string(std::string& v) override { return add(std::move(v)); }
  bool binary(binary_t& v) override { return add(std::move(v)); }
  bool start_object(size_t) override { return open(json::object()); }
  bool start_array(size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    check();
    if (rules_.unique_keys && open_.back()->contains(name)) throw_user(file_, ": duplicate key '", name, "'");
    key_ = std::move(name);
    return true;
  }
  bool parse_error(size_t byte, const std::string&, const nlohmann::detail::exception& e) override {
    error_byte = dynamic_cast<const json::parse_error*>(&e) ? byte : 0;
    return false;
  }

 private:
  void check() {
    if (open_.size() > static_cast<size_t>(rules_.depth)) {
      if (rules_.too_deep) rules_.too_deep();
      throw_user(file_, ": values are nested more than ", rules_.depth, " deep");
    }
    if (++values_ > rules_.values) throw_user(file_, ": the file has more than ", rules_.values, " values");
  }
  json& place(json v) {
    check();
    if (open_.empty()) return root = std::move(v);
    json& in = *open_.back();
    if (in.is_array()) return in.emplace_back(std::move(v));
    return in[key_] = std::move(v);
  }
  bool add(json v) {
    place(std::move(v));
    return true;
  }
  bool open(json v) {
    open_.push_back(&place(std::move(v)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& file_;
  const JsonRules& rules_;
  std::vector<json*> open_;
  std::string key_;
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
  JsonBuilder out(file, rules);
  json::sax_parse(bytes.begin(), bytes.end(), &out);
  if (!out.error_byte) return std::move(out.root);
  if (*out.error_byte == 0) throw Error(ErrorKind::user, text(file, ": invalid JSON"), rules.hint);
  size_t at = std::min(*out.error_byte - 1, bytes.size());
  auto line = 1 + std::count(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(at), '\n');
  std::string where = at == bytes.size() ? ": unexpected end of the file" : shown(bytes.substr(at));
  throw Error(ErrorKind::user, text(file, ':', line, ": invalid JSON", where), rules.hint);
}

}  // namespace graft
