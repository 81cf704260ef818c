#include "import/stub.hpp"

#include "base/text.hpp"
#include "import/layer.hpp"
#include "import/scope.hpp"

namespace graft {
namespace {

void collect_captured(const RawGraph& g, std::set<std::string>& out) {
  std::set<std::string> made, used;
  for (const RawValue& v : g.inputs) made.insert(v.name);
  for (const auto& [name, t] : g.constants) made.insert(name);
  for (const RawValue& v : g.outputs) used.insert(v.name);
  for (const RawNode& n : g.nodes) {
    made.insert(n.outputs.begin(), n.outputs.end());
    used.insert(n.inputs.begin(), n.inputs.end());
    for (const auto& [path, f] : n.fields)
      for (const auto& inner : f.graphs) collect_captured(*inner, used);
  }
  for (const std::string& name : used)
    if (!name.empty() && !made.count(name)) out.insert(name);
}

bool is_xml_text(std::string_view s) { return is_valid_utf8(s) && s.find('\0') == s.npos; }

bool is_plain(const Attribute& a) {
  if (a.kind() == GRAFT_NONE) return false;
  if (auto s = a.get_if<std::string>()) return is_xml_text(*s);
  if (auto list = a.get_if<std::vector<std::string>>()) return std::all_of(list->begin(), list->end(), is_xml_text);
  return true;
}

bool matches(const graft_rule& rule, const RawNode& layer, int64_t version) {
  if (version < rule.since || version >= rule.until) return false;
  for (size_t i = 0; i < rule.condition_count; ++i) {
    const RawField* f = layer.find(view(rule.conditions[i].name));
    if (!f) return false;
    Attribute expected = Attribute::from(rule.conditions[i].value);
    auto number = f->value.get_if<int64_t>();
    auto flag = expected.get_if<bool>();
    bool same = f->value == expected || (number && flag && (*number != 0) == *flag);
    if (!same) return false;
  }
  return true;
}

constexpr std::string_view mxnet_custom = "Custom";  // the domain of layers whose operator is Custom

const RuleDef* first_rule(const Registry& registry, std::string_view framework, const RawNode& layer,
                          std::string_view type, int64_t version) {
  for (const RuleDef* r : registry.rules(framework, layer.domain, type))
    if (matches(*r->record, layer, version)) return r;
  return nullptr;
}

// Imports the stubs of one graph, producers first.
class Resumption {
 public:
  Resumption(ImportState& state, RawModel& model) : state_(state), model_(model) {}

  void run(Graph& graph, Scope* parent, int depth) {
    if (depth >= state_.options.limits.levels())
      throw_limit(&Limits::depth, "bodies are nested more than ", depth, " deep");
    Scope scope(state_, parent, depth);
    scope.graph = std::move(graph);
    Graph& g = scope.graph;
    std::unordered_map<ValueId, ValueId, ValueHash> now;
    for (NodeId id : g.topological_order()) {
      for (ValueId& v : g[id].inputs)
        if (auto it = now.find(v); it != now.end()) v = it->second;
      if (g[id].stub) {
        layer(scope, id, now);
        continue;
      }
      require_tensors(scope, id);
      if (g[id].opaque) scope.mark_unknown(id, g[id].name);
      else infer(scope, id);
      scope.propagate_unknown(id);
    }
    scope.remove_lists();
    graph = std::move(scope.graph);
  }

 private:
  static void require_tensors(const Scope& scope, NodeId id) {
    const Node& n = scope.graph[id];
    for (size_t i = 0; i < n.inputs.size(); ++i)
      if (scope.is_list(n.inputs[i]) || scope.is_nothing(n.inputs[i]))
        throw_unsupported("'", n.name, "' (", n.type, "): expected a tensor as input ", i,
                          ", got a sequence or an optional; convert the original model with the extension");
  }

  void infer(Scope& scope, NodeId id) {
    Node& n = scope.graph[id];
    scope.inference.infer(id);  // bodies get the shapes of their parameters
    bool any = false;
    for (Body& b : n.bodies) {
      if (!count_stubs(*b.graph)) continue;
      run(*b.graph, &scope, scope.depth() + 1);
      any = true;
    }
    if (!any) return;
    scope.inference.forget(id);
    scope.inference.infer(id);
  }

  // The names of the values that the layer sees, for as long as it is imported.
  static std::vector<std::string> bind_inputs(Scope& scope, const Stub& stub, const Node& node) {
    std::vector<std::string> bound;
    size_t next = 0;
    auto take = [&] { return next < node.inputs.size() ? node.inputs[next++] : ValueId{}; };
    for (const Stub::Value& value : stub.values) {
      if (value.name.empty()) {
        take();
        continue;
      }
      ValueId v;
      if (value.items) {
        if (*value.items > node.inputs.size() - std::min(next, node.inputs.size()))
          throw_user("expected ", *value.items, " items of the sequence '", value.name, "', got fewer inputs");
        std::vector<ValueId> items;
        for (size_t i = 0; i < *value.items; ++i) items.push_back(take());
        v = scope.add_list(std::move(items));
      } else {
        v = take();
      }
      if (std::find(bound.begin(), bound.end(), value.name) != bound.end()) continue;  // one value, twice an input
      if (!v.present()) throw_user("input '", value.name, "' is missing");
      scope.bind(value.name, v);
      bound.push_back(value.name);
    }
    return bound;
  }

  void layer(Scope& scope, NodeId id, std::unordered_map<ValueId, ValueId, ValueHash>& now) {
    Graph& g = scope.graph;
    std::shared_ptr<const Stub> stub = g[id].stub;
    model_.framework = stub->framework, model_.path = stub->file, model_.position_unit = stub->position_unit;
    model_.first_output = stub->first_output, model_.opsets = stub->opsets;
    state_.functions.clear();
    for (const RawFunction& f : stub->functions) state_.functions.emplace(text(f.domain, '|', f.name), &f);
    std::vector<std::string> bound = with_context([&] { return bind_inputs(scope, *stub, g[id]); },
                                                  [&] { return text("importing '", g[id].name, "'"); });
    RawGraph known;  // types and shapes of the outputs, as far as the file had them
    for (size_t i = 0; i < stub->layer.outputs.size() && i < g[id].outputs.size(); ++i)
      known.outputs.push_back({stub->layer.outputs[i], g[id].outputs[i].info, {}, {}, {}});
    scope.add_hints(known);
    NodeId first = g.end_id();
    scope.import_node(stub->layer, stub->opsets);
    bool named = false;
    for (uint32_t i = 0; i < stub->layer.outputs.size(); ++i) {
      const std::string& name = stub->layer.outputs[i];
      if (name.empty()) continue;
      ValueId v = scope.look_up(name);
      now[{id, i}] = v;
      if (i < g[id].outputs.size() && !scope.is_list(v) && !scope.is_nothing(v))
        for (const std::string& alias : g[id].outputs[i].names) g.output(v).add_name(alias);
      bool made = v.node >= first;
      if (made && !named) g[v.node].name = g[id].name, named = true;
      if (made && g[v.node].opaque) g[v.node].rt_info = g[id].rt_info;
      bound.push_back(name);
    }
    for (const std::string& name : bound) scope.unbind(name);
    g.erase(id);
  }

  ImportState& state_;
  RawModel& model_;
};

}  // namespace

int64_t Stub::version() const {
  auto it = opsets.find(layer.domain);
  return it == opsets.end() ? 1 : it->second;
}

std::string python_class(const RawNode& raw) {
  const RawField *module = raw.find("python_param.module"), *layer = raw.find("python_param.layer");
  const std::string* m = module ? module->value.get_if<std::string>() : nullptr;
  const std::string* l = layer ? layer->value.get_if<std::string>() : nullptr;
  return m && l && *l == raw.type ? text(*m, '.', *l) : std::string();
}

const MappedLayer* mapped_layer(const LayerMapping& mapping, const RawNode& raw) {
  if (raw.is_operation || !raw.origin().stands_for.empty()) return nullptr;
  std::string python = python_class(raw);  // goes first, since it is more specific
  const MappedLayer* found = python.empty() ? nullptr : mapping.find(python);
  return found ? found : mapping.find(raw.type);
}

const RuleDef* rule_for(const Registry& registry, std::string_view framework, const RawNode& layer, int64_t version) {
  if (layer.is_operation) return nullptr;
  if (!layer.origin().stands_for.empty()) framework = replacement_framework;
  std::string python = python_class(layer);  // goes first, since it is more specific
  const RuleDef* rule = python.empty() ? nullptr : first_rule(registry, framework, layer, python, version);
  if (!rule) rule = first_rule(registry, framework, layer, layer.type, version);
  if (const std::string& other = layer.origin().fallback_framework; !rule && !other.empty())
    return first_rule(registry, other, layer, layer.type, version);
  if (rule || framework != "mxnet" || layer.domain != mxnet_custom) return rule;
  // An extension may name a Custom layer by its op_type alone; a built-in rule of that name is for another operator.
  for (const RuleDef* r : registry.rules(framework, "", layer.type))
    if (!r->source->built_in() && matches(*r->record, layer, version)) return r;
  return nullptr;
}

Attributes plain_attributes(const RawNode& layer) {
  Attributes out;
  for (const auto& [path, f] : layer.fields)
    if (is_plain(f.value)) out[path] = f.value;
  return out;
}

std::vector<std::string> captured_names(const RawNode& layer) {
  std::set<std::string> names;
  for (const auto& [path, f] : layer.fields)
    for (const auto& g : f.graphs) collect_captured(*g, names);
  return {names.begin(), names.end()};
}

size_t count_stubs(const Graph& graph) {
  size_t count = 0;
  for (NodeId id = 0; id < graph.end_id(); ++id) {
    if (!graph[id].alive) continue;
    count += graph[id].stub != nullptr;
    for (const Body& b : graph[id].bodies) count += count_stubs(*b.graph);
  }
  return count;
}

ImportReport import_stubs(Graph& graph, const Registry& registry, const ImportOptions& options) {
  ImportReport report;
  RawModel model;
  ImportState state{model, registry, options, report, {}};
  state.most_inlined = options.limits.inlined;
  Resumption(state, model).run(graph, nullptr, 0);
  return report;
}

}  // namespace graft
