// Layers that no rule matches, in the form of the report.
#include "base/text.hpp"
#include "import/layer.hpp"

namespace graft {
namespace {

std::string rule_title(const graft_rule& r) {
  return text(r.framework, ' ', r.domain.size ? text(r.domain, "::") : "", r.type);
}

// A loaded extension uses the layer's name but does not match it: the most likely mistake of an extension author.
std::string near_miss(const Registry& registry, const std::string& framework, const RawNode& raw) {
  std::vector<std::string> rules;
  std::string by;
  for (const RuleDef* r : registry.all_rules())
    if (!r->source->built_in() && view(r->record->type) == raw.type) {
      by = r->source->name;
      if (view(r->record->framework) == framework && view(r->record->domain) == raw.domain)
        return text("extension '", by,
                    "' has a rule for this layer, for another version or other values of its fields");
      rules.push_back(rule_title(*r->record));
    }
  if (!rules.empty())
    return text("extension '", by, "' has a rule for ", join(rules, ", "), ", not for ", framework, ' ',
                raw.domain.empty() ? "" : raw.domain + "::", raw.type);
  for (const OpDef* d : registry.ops())
    if (!d->source->built_in() && d->name() == raw.type)
      return text("extension '", d->source->name, "' defines an operation of this name without an import rule for ",
                  framework);
  return {};
}

std::string unknown_operation(const Registry& registry, const RawNode& raw, const OperationName& op) {
  std::vector<std::string> names;
  for (const OpDef* d : registry.ops()) names.emplace_back(d->name());
  auto close = nearest(op.type, names);
  return text("unknown operation '", op.type, "'", op.opset.empty() ? "" : " of " + op.opset,
              raw.stands_for.empty() ? ", which is in a layer added by " + raw.added_by : " in " + raw.stands_for,
              close && *close != op.type ? text("; did you mean ", *close, "?") : "");
}

}  // namespace

void Layer::report_unknown(const std::string& title) const {
  const ImportState& state = scope_.state();
  OperationName op = raw_.is_operation ? operation_name(raw_.type) : OperationName{raw_.type, raw_.domain};
  auto [place, fresh] = scope_.state().unknown.emplace(
      text(op.opset, '|', op.type, raw_.is_operation ? "|operation" : ""), state.report.unknown.size());
  if (fresh) state.report.unknown.push_back(UnknownType{op.type, op.opset, version_, {}});
  UnknownType* group = &state.report.unknown[place->second];
  if (fresh) {
    group->is_operation = raw_.is_operation;
    group->note = raw_.is_operation ? unknown_operation(state.registry, raw_, op)
                                    : near_miss(state.registry, state.model.framework, raw_);
  }
  UnknownType::Layer entry{title, {}, raw_.outputs.size(), {}};
  for (ValueId v : inputs_) entry.inputs.push_back(v.present() ? std::optional(scope_.graph.info(v)) : std::nullopt);
  entry.weights = raw_.weights;
  for (const auto& [path, f] : raw_.fields) {
    if (f.value.kind() != GRAFT_NONE) entry.fields.emplace_back(path, f.value);
    else
      entry.other_fields.emplace_back(path, f.graphs.size() > 1    ? "a list of graphs"
                                            : f.graphs.size() == 1 ? "a graph"
                                            : f.tensors.empty()    ? "no value"
                                                                   : "a list of tensors");
  }
  group->layers.push_back(std::move(entry));
}

}  // namespace graft
