#include "ir/forms.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "readers/json.hpp"

namespace graft {
namespace {

using nlohmann::json;

constexpr std::string_view forms_element = "graft";
constexpr const char* form_kinds[] = {"tensor", "sequence", "run", "optional", "map"};
constexpr std::string_view subject = "the description of inputs or outputs in <rt_info>";
constexpr int deepest = 8;
constexpr size_t most_forms = 65'536;

std::optional<size_t> port_of(const Graph& g, const Form& f, const std::vector<NodeId>& ports) {
  for (size_t i = 0; i < ports.size(); ++i)
    if (g[ports[i]].name == f.node) return i;
  return std::nullopt;
}
// A part that a cut or a pass took away makes a form meaningless.
bool complete(const Graph& g, const Form& f, const std::vector<NodeId>& ports) {
  if (f.kind == Form::tensor) return port_of(g, f, ports).has_value();
  return std::all_of(f.parts.begin(), f.parts.end(), [&](const Form& p) { return complete(g, p, ports); });
}

json form_json(const Graph& g, const Form& f, const std::vector<NodeId>& ports) {
  if (f.kind == Form::tensor) return *port_of(g, f, ports);
  json parts = json::array();
  for (const Form& p : f.parts) parts.push_back(form_json(g, p, ports));
  return {{form_kinds[f.kind], parts}};
}

std::string forms_text(const Graph& g, const std::vector<NamedForm>& forms, const std::vector<NodeId>& ports) {
  json out = json::array();
  for (const NamedForm& f : forms)
    if (complete(g, f.form, ports)) {
      if (!is_valid_utf8(f.name))
        throw_user("expected UTF-8 in the name of an input or output, got ", in_quotes(f.name));
      out.push_back({{"name", f.name}, {"form", form_json(g, f.form, ports)}});
    }
  return out.dump();
}

class FormReader {
 public:
  FormReader(const Graph& g, const std::vector<NodeId>& ports) : g_(g), ports_(ports) {}

  std::vector<NamedForm> read(const std::string& text) {
    JsonRules rules;
    rules.too_deep = [] { refuse("is nested too deeply"); };
    rules.unique_keys = true;
    json list = parse_json(text, std::string(subject), rules);
    if (!list.is_array()) refuse("is not a list");
    if (list.size() > most_forms) refuse("has too many entries");
    std::vector<NamedForm> out;
    for (const json& entry : list) {
      if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string() || !entry.contains("form"))
        refuse("has an entry without name and form");
      out.push_back({entry["name"], form(entry["form"], 0)});
    }
    return out;
  }

 private:
  [[noreturn]] static void refuse(std::string_view why) { throw_user(subject, ' ', why); }

  Form form(const json& j, int depth) {
    if (depth > deepest) refuse("is nested too deeply");
    if (j.is_number_unsigned()) {
      auto i = j.get<uint64_t>();
      if (i >= ports_.size() || !used_.insert(i).second)
        refuse(text("names port ", i, ", which does not exist or is named twice"));
      return {Form::tensor, g_[ports_[i]].name, {}};
    }
    if (!j.is_object() || j.size() != 1 || !j.begin().value().is_array()) refuse("has a form of no known kind");
    Form out;
    auto kind = std::find(std::begin(form_kinds) + 1, std::end(form_kinds), j.begin().key());
    if (kind == std::end(form_kinds)) refuse("has a form of no known kind");
    out.kind = static_cast<Form::Kind>(kind - std::begin(form_kinds));
    for (const json& part : j.begin().value()) out.parts.push_back(form(part, depth + 1));
    size_t n = out.parts.size();
    bool fits = out.kind == Form::sequence || (out.kind == Form::run && n == 1) ||
                (out.kind == Form::optional && n <= 1) ||
                (out.kind == Form::map && n == 2 && !out.parts[0].kind && !out.parts[1].kind);
    if (!fits || (out.kind == Form::run && depth == 0)) refuse("has a form with the wrong number or kind of parts");
    return out;
  }

  const Graph& g_;
  const std::vector<NodeId>& ports_;
  std::set<uint64_t> used_;
};

}  // namespace

std::shared_ptr<const Xml> with_forms(const Graph& g) {
  if (g.input_forms.empty() && g.output_forms.empty()) return g.rt_info;
  Xml own{std::string(forms_element), {}, {}, {}};
  auto add = [&](const char* name, const std::vector<NamedForm>& forms, const std::vector<NodeId>& ports) {
    if (!forms.empty()) own.children.push_back({name, {{"value", forms_text(g, forms, ports)}}, {}, {}});
  };
  add("inputs", g.input_forms, g.parameters());
  add("outputs", g.output_forms, g.results());
  auto all = std::make_shared<Xml>(g.rt_info ? *g.rt_info : Xml{"rt_info", {}, {}, {}});
  all->children.push_back(std::move(own));
  return all;
}

void take_forms(Graph& g) {
  if (!g.rt_info) return;
  Xml rest = *g.rt_info;
  auto own =
      std::find_if(rest.children.begin(), rest.children.end(), [](const Xml& x) { return x.name == forms_element; });
  if (own == rest.children.end()) return;
  for (const Xml& side : own->children)
    for (const auto& [name, value] : side.attributes) {
      if (name != "value") continue;
      if (side.name == "inputs") g.input_forms = FormReader(g, g.parameters()).read(value);
      if (side.name == "outputs") g.output_forms = FormReader(g, g.results()).read(value);
    }
  rest.children.erase(own);
  g.rt_info = rest.children.empty() ? nullptr : std::make_shared<Xml>(std::move(rest));
}

}  // namespace graft
