// Layers that cannot be imported: the opaque node, the stub that an IR keeps of them, their entry in the report.
#include "base/file.hpp"
#include "base/text.hpp"
#include "import/layer.hpp"
#include "import/stub.hpp"

namespace graft {
namespace {

std::string rule_title(const graft_rule& r) {
  return text(r.framework, ' ', r.domain.size ? text(r.domain, "::") : "", r.type);
}

// A loaded extension uses the layer's name but does not match it: the most likely mistake of an extension author.
std::string near_miss(const ExtensionNames& known, const std::string& framework, const RawNode& raw) {
  std::vector<std::string> rules;
  std::string by;
  if (auto of_type = known.rules.find(raw.type); of_type != known.rules.end())
    for (const RuleDef* r : of_type->second) {
      by = r->source->name;
      std::string_view of = view(r->record->framework);
      if ((of == framework || of == every_framework_name) && view(r->record->domain) == raw.domain)
        return text("extension '", by,
                    "' has a rule for this layer, for another version or other values of its fields");
      rules.push_back(rule_title(*r->record));
    }
  if (!rules.empty())
    return text("extension '", by, "' has a rule for ", join(rules, ", "), ", not for ", framework, ' ',
                raw.domain.empty() ? "" : raw.domain + "::", raw.type);
  if (auto op = known.ops.find(raw.type); op != known.ops.end())
    return text("extension '", op->second->source->name,
                "' defines an operation of this name without an import rule for ", framework);
  return {};
}

std::string unknown_operation(const Registry& registry, const RawNode& raw, const OperationName& op) {
  std::vector<std::string> names;
  for (const OpDef* d : registry.ops()) names.emplace_back(d->name());
  auto close = nearest(op.type, names);
  return text("unknown operation '", op.type, "'", op.opset.empty() ? "" : " of " + op.opset,
              raw.origin().stands_for.empty() ? ", which is in a layer added by " + raw.origin().added_by
                                              : " in " + raw.origin().stands_for,
              close && *close != op.type ? text("; did you mean ", *close, "?") : "");
}

}  // namespace

ExtensionNames::ExtensionNames(const Registry& registry) {
  for (const RuleDef* r : registry.all_rules())
    if (!r->source->built_in()) rules[view(r->record->type)].push_back(r);
  for (const OpDef* d : registry.ops())
    if (!d->source->built_in()) ops.emplace(d->name(), d);
}

void Layer::report_unknown(const std::string& title) const {
  ImportState& state = scope_.state();
  OperationName op = raw_.is_operation ? operation_name(raw_.type) : OperationName{raw_.type, raw_.domain};
  auto [place, fresh] = scope_.state().unknown.emplace(
      text(op.opset, '|', op.type, raw_.is_operation ? "|operation" : ""), state.report.unknown.size());
  if (fresh) state.report.unknown.push_back(UnknownType{op.type, op.opset, version_, {}});
  UnknownType* group = &state.report.unknown[place->second];
  if (fresh) {
    group->is_operation = raw_.is_operation;
    if (!state.extensions) state.extensions.emplace(state.registry);
    group->note = raw_.is_operation ? unknown_operation(state.registry, raw_, op)
                                    : near_miss(*state.extensions, state.model.framework, raw_);
  }
  UnknownType::Layer entry{title, {}, raw_.outputs.size(), {}};
  for (ValueId v : inputs_) entry.inputs.push_back(v.present() ? std::optional(scope_.graph.info(v)) : std::nullopt);
  entry.weights = raw_.weights;
  for (const std::string& o : raw_.outputs) {
    auto hint = scope_.hints().find(o);
    entry.declared.push_back(hint == scope_.hints().end() ? Info{} : hint->second.info);
  }
  for (const auto& [path, f] : raw_.fields) {
    if (f.value.kind() != GRAFT_NONE) entry.attributes.emplace_back(path, f.value);
    else
      entry.other_attributes.emplace_back(path, f.graphs.size() > 1    ? "a list of graphs"
                                                : f.graphs.size() == 1 ? "a graph"
                                                : f.tensors.empty()    ? "no value"
                                                                       : "a list of tensors");
  }
  group->layers.push_back(std::move(entry));
}

namespace {

// Functions of the model that sub-graphs of a layer call, and those that these call.
void collect_functions(const ImportState& state, const std::vector<RawNode>& nodes, std::set<const RawFunction*>& out);
void collect_functions(const ImportState& state, const RawNode& layer, std::set<const RawFunction*>& out) {
  for (const auto& [path, f] : layer.fields)
    for (const auto& g : f.graphs) collect_functions(state, g->nodes, out);
}
void collect_functions(const ImportState& state, const std::vector<RawNode>& nodes, std::set<const RawFunction*>& out) {
  for (const RawNode& n : nodes) {
    auto it = state.functions.find(text(n.domain, '|', n.type));
    if (it != state.functions.end() && out.insert(it->second).second) collect_functions(state, it->second->nodes, out);
    collect_functions(state, n, out);
  }
}

}  // namespace

std::shared_ptr<const Stub> Layer::make_stub(std::vector<ValueId>& inputs) {
  const ImportState& state = scope_.state();
  auto stub = std::make_shared<Stub>();
  stub->framework = state.model.framework, stub->file = state.model.path.substr(folder_of(state.model.path).size());
  while (stub->file.starts_with('/')) stub->file.erase(0, 1);
  const std::string& other = raw_.origin().fallback_framework;
  const RuleDef* rule = other.empty() ? nullptr : rule_for(state.registry, stub->framework, raw_, version_);
  if (rule && view(rule->record->framework) == other) stub->framework = other;
  stub->position_unit = state.model.position_unit, stub->first_output = state.model.first_output;
  if (opsets_) stub->opsets = *opsets_;
  stub->layer = raw_;
  auto add = [&](const std::string& name, ValueId v) {
    Stub::Value value{v.present() ? name : "", {}};
    if (scope_.is_list(v)) {
      const std::vector<ValueId>& items = scope_.graph[v.node].inputs;
      value.items = items.size();
      for (ValueId item : items) {
        if (scope_.is_list(item)) throw_unsupported("the layer takes nested sequences and has no rule");
        inputs.push_back(item);
      }
    } else {
      inputs.push_back(v);
    }
    stub->values.push_back(std::move(value));
  };
  for (size_t i = 0; i < raw_.inputs.size(); ++i) {
    ValueId v = i < inputs_.size() ? inputs_[i] : ValueId{};
    if (!v.present()) stub->layer.inputs[i].clear();
    add(raw_.inputs[i], v);
  }
  for (const std::string& name : captured_names(raw_))
    if (ValueId v = scope_.look_up(name); v.present() && !scope_.is_nothing(v)) add(name, v);
  std::set<const RawFunction*> functions;
  collect_functions(state, raw_, functions);
  for (const RawFunction* f : functions) {
    stub->functions.push_back(*f);
    if (f->opsets.empty()) stub->functions.back().opsets = state.model.opsets;
  }
  return stub;
}

void Layer::keep_opaque(const std::string& unknown) {
  Node node;
  OperationName op = raw_.is_operation ? operation_name(raw_.type) : OperationName{raw_.type, raw_.domain};
  node.type = op.type;
  node.opset = op.opset.empty() ? "extension" : op.opset;
  node.opaque = true;
  node.stub = make_stub(node.inputs);
  while (!node.inputs.empty() && !node.inputs.back().present()) node.inputs.pop_back();
  node.attrs = plain_attributes(raw_);
  for (const auto& [path, f] : raw_.fields) read_.insert(path);
  for (const std::string& o : raw_.outputs) {
    auto hint = scope_.hints().find(o);
    node.outputs.push_back({hint == scope_.hints().end() ? Info{} : hint->second.info, {}, {}});
  }
  NodeId id = scope_.graph.add(std::move(node));
  ImportState& state = scope_.state();
  ++state.kept;
  state.last_kept = unknown.empty() ? name_ : unknown;
  scope_.mark_unknown(id, state.last_kept);
  made_.push_back(id);
  for (uint32_t i = 0; i < outputs_.size(); ++i) outputs_[i] = {id, i};
}

std::string Layer::unknown_source() const {
  for (ValueId v : inputs_)
    if (const std::string* source = scope_.unknown_source(v)) return *source;
  return scope_.state().kept > kept_before_ ? scope_.state().last_kept : std::string();
}

// Nodes of this layer are marked only when it is complete.
bool Layer::depends_on_unknown(ValueId v) const {
  for (NodeId id : made_) scope_.propagate_unknown(id);
  return scope_.unknown_source(v);
}

void Layer::discard() {
  Graph& g = scope_.graph;
  std::set<NodeId> used;
  for (NodeId id = made_.empty() ? g.end_id() : made_.front(); id < g.end_id(); ++id)
    for (ValueId v : g[id].inputs)
      if (g[id].alive && std::find(made_.begin(), made_.end(), id) == made_.end()) used.insert(v.node);
  for (; !made_.empty(); made_.pop_back()) {
    NodeId id = made_.back();
    if (!used.count(id)) g.erase(id);
    else
      for (ValueId v : g[id].inputs) used.insert(v.node);
  }
}

void Layer::propagate_unknown() {
  for (NodeId id : made_) scope_.propagate_unknown(id);
  if (scope_.state().kept == kept_before_) return;
  for (NodeId id : made_) scope_.mark_unknown(id, scope_.state().last_kept);
}

}  // namespace graft
