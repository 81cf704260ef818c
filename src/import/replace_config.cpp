#include "import/replace_config.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "import/replace_json.hpp"
#include "readers/json.hpp"

namespace graft {

using nlohmann::json;

json parse_replacement_json(std::string_view bytes, const std::string& file, const ReplacementLimits& limits) {
  if (bytes.size() > limits.bytes) throw_user(file, ": expected at most ", limits.bytes, " bytes, got ", bytes.size());
  return parse_json(
      bytes, file,
      {.depth = limits.depth,
       .too_deep = {},
       .values = limits.values,
       .unique_keys = true,
       .hint = "strings need \"double quotes\", the last item of a list has no comma, comments are not allowed"});
}

namespace {

std::string_view word_for(const json& j) {
  switch (j.type()) {
    case json::value_t::null: return "null";
    case json::value_t::object: return "an object";
    case json::value_t::array: return "a list";
    case json::value_t::string: return "a string";
    case json::value_t::boolean: return "a boolean";
    default: return "a number";
  }
}

class EntryReader {
 public:
  EntryReader(const json& j, const std::string& file, size_t number) : j_(j), file_(file), number_(number) {}

  Replacement run() {
    if (!j_.is_object()) broken("expected an object, got ", word_for(j_));
    r_.id = required_text("id");
    title_ = text(" ('", r_.id, "')");
    std::string kind = required_text("match_kind");
    std::vector<std::string> known = {"id", "match_kind", "custom_attributes"};
    if (kind == "scope") r_.kind = Replacement::scope, add(known, {"instances", "inputs", "outputs", "op"});
    else if (kind == "points")
      r_.kind = Replacement::points,
      add(known, {"instances", "include_inputs_to_sub_graph", "include_outputs_to_sub_graph", "op"});
    else if (kind == "general") r_.kind = Replacement::general;
    else broken("match_kind: expected scope, points or general, got '", kind, "'");
    for (const auto& [key, value] : j_.items())
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        auto close = key.size() > 3 ? nearest(key, known) : std::nullopt;
        broken("unknown key '", key, "' for match_kind ", kind, ", ",
               close ? text("did you mean ", *close, "?") : text("known keys are ", join(known, ", ")));
      }
    if (j_.contains("custom_attributes")) {
      if (!j_["custom_attributes"].is_object())
        broken("custom_attributes: expected an object, got ", word_for(j_["custom_attributes"]));
      attributes("", j_["custom_attributes"]);
    }
    if (j_.contains("op")) r_.op = required_text("op");
    if (r_.kind == Replacement::scope) scope();
    if (r_.kind == Replacement::points) points();
    return std::move(r_);
  }

 private:
  static void add(std::vector<std::string>& to, std::initializer_list<const char*> more) {
    to.insert(to.end(), more.begin(), more.end());
  }
  template <class... Parts>
  [[noreturn]] void broken(const Parts&... parts) const {
    throw_user(file_, ", entry ", number_, title_, ": ", parts...);
  }
  std::string required_text(const char* key) const {
    if (!j_.contains(key)) broken("missing key '", key, "'");
    if (!j_[key].is_string()) broken("'", key, "': expected a string, got ", word_for(j_[key]));
    auto s = j_[key].get<std::string>();
    if (trim(s).empty()) broken("'", key, "' is empty");
    return s;
  }

  // ---- custom attributes ----

  void attributes(const std::string& path, const json& value) {
    auto below = [&](const std::string& name) { return path.empty() ? name : path + "." + name; };
    if (value.is_object()) {
      for (const auto& [key, v] : value.items()) {
        if (key.empty()) broken("an attribute in custom_attributes", path.empty() ? "" : "." + path, " has no name");
        attributes(below(key), v);
      }
    } else if (value.is_array() &&
               std::any_of(value.begin(), value.end(), [](const json& v) { return v.is_structured(); })) {
      for (size_t i = 0; i < value.size(); ++i) attributes(below(text(i)), value[i]);
    } else {
      if (r_.attributes.size() == 10'000) broken("there are more than 10000 custom attributes");
      if (r_.attributes.find(path)) broken("duplicate custom attribute '", path, "'");
      r_.attributes[path] = value.is_array() ? list(path, value) : scalar(path, value);
    }
  }
  int64_t whole(const std::string& path, const json& v) const {
    if (v.is_number_unsigned() && v.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
      broken("attribute '", path, "' is ", v.get<uint64_t>(), ", which is too large");
    return v.get<int64_t>();
  }
  Attribute scalar(const std::string& path, const json& v) const {
    if (v.is_boolean()) return v.get<bool>();
    if (v.is_number_integer()) return whole(path, v);
    if (v.is_number()) return v.get<double>();
    if (v.is_string()) return v.get<std::string>();
    broken("attribute '", path, "': expected a number, a string, a boolean or a list of them, got ", word_for(v));
  }
  Attribute list(const std::string& path, const json& v) const {
    auto all = [&](auto&& is) { return std::all_of(v.begin(), v.end(), is); };
    if (all([](const json& x) { return x.is_string(); }) && !v.empty()) return v.get<std::vector<std::string>>();
    if (all([](const json& x) { return x.is_number_integer() || x.is_boolean(); })) {
      std::vector<int64_t> out;
      for (const json& x : v) out.push_back(x.is_boolean() ? x.get<bool>() : whole(path, x));
      return out;
    }
    if (all([](const json& x) { return x.is_number(); })) return v.get<std::vector<double>>();
    broken("attribute '", path, "': expected list items of one kind");
  }

  // ---- scope ----

  const json& instances(const char* wanted) const {
    if (!j_.contains("instances")) broken("missing key 'instances', expected ", wanted);
    return j_["instances"];
  }

  void scope() {
    const json& list = instances("a list of regular expressions");
    if (!list.is_array()) broken("'instances': expected a list of regular expressions, got ", word_for(list));
    if (list.empty()) broken("'instances': expected at least one regular expression, got an empty list");
    for (const json& i : list) {
      if (!i.is_string()) broken("'instances': expected regular expressions, got ", word_for(i));
      r_.instances.push_back(pattern(i.get<std::string>(), "instances"));
    }
    if ((r_.has_inputs = j_.contains("inputs"))) inputs();
    if ((r_.has_outputs = j_.contains("outputs"))) outputs();
    // Port patterns are appended to each instance: report combinations that do not compile right away.
    for (const Pattern& instance : r_.instances) {
      for (const auto& group : r_.inputs)
        for (const ScopePort& p : group) pattern(scope_port_pattern(instance, p.node), "inputs");
      for (const ScopePort& p : r_.outputs) pattern(scope_port_pattern(instance, p.node), "outputs");
    }
  }
  Pattern pattern(const std::string& source, std::string_view key) const {
    if (trim(source).empty()) broken("'", key, "' contains an empty regular expression");
    try {
      return Pattern(source);
    } catch (const Error& e) {
      broken("'", key, "': ", e.message());
    }
  }

  ScopePort port(const json& j, std::string_view key) const {
    if (!j.is_object()) broken("'", key, "': expected objects {\"node\": ..., \"port\": ...}, got ", word_for(j));
    for (const auto& [name, value] : j.items())
      if (name != "node" && name != "port") broken("'", key, "': expected the keys node and port, got '", name, "'");
    if (!j.contains("node") || !j["node"].is_string()) broken("'", key, "' has an item without a string 'node'");
    ScopePort p{j["node"].get<std::string>(), 0};
    if (!j.contains("port")) broken("'", key, "' has the node '", p.node, "' without its 'port'");
    if (!j["port"].is_number_integer() || j["port"].get<int64_t>() < 0 || j["port"].get<int64_t>() > 65535)
      broken("'port' of the node '", p.node, "' in '", key, "': expected an integer of at least 0, got ",
             j["port"].dump().substr(0, 40));
    p.port = j["port"].get<size_t>();
    return p;
  }
  void inputs() {
    const json& list = j_["inputs"];
    if (!list.is_array()) broken("'inputs': expected a list of lists, got ", word_for(list));
    for (const json& group : list) {
      if (!group.is_array())
        broken("'inputs': expected a list of {\"node\", \"port\"} for each tensor, got ", word_for(group));
      if (group.empty()) broken("'inputs' contains an empty list, a tensor has at least one consumer");
      auto& ports = r_.inputs.emplace_back();
      for (const json& p : group) ports.push_back(port(p, "inputs"));
    }
  }
  void outputs() {
    const json& list = j_["outputs"];
    if (!list.is_array()) broken("'outputs': expected a list, got ", word_for(list));
    if (list.empty()) broken("'outputs': expected at least one output, got an empty list");
    for (const json& p : list) r_.outputs.push_back(port(p, "outputs"));
  }

  // ---- points ----

  std::vector<std::string> names(const json& from, const char* key) const {
    if (!from.contains(key)) broken("'instances' has no '", key, "'");
    const json& list = from[key];
    if (!list.is_array()) broken("'", key, "': expected a list of node names, got ", word_for(list));
    if (list.empty()) broken("'", key, "' is empty");
    std::vector<std::string> out;
    for (const json& n : list) {
      if (!n.is_string()) broken("'", key, "': expected node names, got ", word_for(n));
      out.push_back(n.get<std::string>());
      if (std::count(out.begin(), out.end(), out.back()) > 1) broken("'", key, "' names '", out.back(), "' twice");
    }
    return out;
  }
  bool flag(const char* key) const {
    if (!j_.contains(key)) return true;
    if (!j_[key].is_boolean()) broken("'", key, "': expected true or false, got ", word_for(j_[key]));
    return j_[key].get<bool>();
  }
  void points() {
    const json& i = instances("an object with start_points and end_points");
    if (!i.is_object()) broken("'instances': expected an object with start_points and end_points, got ", word_for(i));
    if (i.empty()) broken("'instances': expected start_points and end_points, got an empty object");
    for (const auto& [key, value] : i.items())
      if (key != "start_points" && key != "end_points")
        broken("'instances': expected the keys start_points and end_points, got '", key, "'");
    r_.start = names(i, "start_points");
    r_.end = names(i, "end_points");
    r_.include_inputs = flag("include_inputs_to_sub_graph");
    r_.include_outputs = flag("include_outputs_to_sub_graph");
  }

  const json& j_;
  const std::string& file_;
  size_t number_;
  std::string title_;
  Replacement r_;
};

}  // namespace

std::string scope_port_pattern(const Pattern& instance, const std::string& node) {
  const std::string& source = instance.source();
  std::string scope = source.find('|') == source.npos ? source : text("(?:", source, ")");
  if (node.empty() || node == "$") return scope + "$";
  return scope + (source.ends_with('/') ? "" : "/") + node;
}

ReplacementConfig parse_replacements(std::string_view bytes, const std::string& name, const ReplacementLimits& limits) {
  json all = parse_replacement_json(bytes, name, limits);
  if (!all.is_array()) throw_user(name, ": expected a list of entries, got ", word_for(all));
  ReplacementConfig out{name, {}};
  for (size_t i = 0; i < all.size(); ++i) {
    out.entries.push_back(EntryReader(all[i], name, i + 1).run());
    out.entries.back().json = all[i].dump();
  }
  return out;
}

ReplacementConfig read_replacements(const std::string& path, const ReplacementLimits& limits) {
  return with_context([&] { return parse_replacements(MappedFile::open(path)->chars(), path, limits); },
                      [&] { return text("reading the replacement file '", path, "'"); });
}

}  // namespace graft
