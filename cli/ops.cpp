// graft ops: lists known operations from their definitions, and framework layers from the import rules.
#include <algorithm>
#include <cstdio>
#include <set>

#include "base/text.hpp"
#include "command.hpp"
#include "graph/attribute.hpp"
#include "graph/text.hpp"

namespace graft::cli {
namespace {

struct OpsOptions {
  ModelOptions model;
  std::string name, framework;
  bool missing = false, json = false;
};

std::string attr_kind(const graft_attr& a) { return std::string(kind_name(a.kind)); }

std::string default_text(const graft_attr& a) {
  if (a.flags & GRAFT_ATTR_REQUIRED) return "required";
  if (a.flags & GRAFT_ATTR_OPTIONAL) return "optional";
  return print(Attribute::from(a.fallback));
}

// ---- import rules ----

std::vector<const RuleDef*> rules_of(const Registry& r, const OpDef& d) {
  std::vector<const RuleDef*> out;
  for (const RuleDef* rule : r.all_rules())
    if (view(rule->record->op) == d.name() && view(rule->record->opset) == d.opset()) out.push_back(rule);
  return out;
}

std::set<std::string> frameworks(const Registry& r, const OpDef& d) {
  std::set<std::string> out;
  for (const RuleDef* rule : rules_of(r, d)) out.emplace(view(rule->record->framework));
  return out;
}

std::string layer_name(const graft_rule& x) { return text(x.domain.size ? text(x.domain, "::") : "", x.type); }

std::string versions_text(const graft_rule& x) {
  if (x.since <= 0 && x.until == INT64_MAX) return "";
  if (x.until == INT64_MAX) return text(x.since, " and up");
  if (x.since + 1 >= x.until) return text(x.until - 1);
  return text(x.since > 0 ? text(x.since) : "up", " to ", x.until - 1);
}

std::string conditions_text(const graft_rule& x) {
  std::string out;
  for (size_t i = 0; i < x.condition_count; ++i)
    out += text(out.empty() ? "" : ", ", x.conditions[i].name, " = ", print(Attribute::from(x.conditions[i].value)));
  return out;
}

// An import function may create any operations; if it belongs to an operation, that is the main one.
std::string becomes_text(const RuleDef& r) {
  const graft_rule& x = *r.record;
  std::string op = x.op.size ? text(x.op, " (", x.opset, ')') : "";
  if (!x.expand) return op;
  return op.empty() ? "expanded by a rule" : text("expanded by a rule of ", op);
}

nlohmann::json rule_json(const RuleDef& r) {
  const graft_rule& x = *r.record;
  nlohmann::json conditions = nlohmann::json::object(), operation;
  for (size_t i = 0; i < x.condition_count; ++i)
    conditions[std::string(view(x.conditions[i].name))] = print(Attribute::from(x.conditions[i].value));
  if (x.op.size) operation = {{"name", view(x.op)}, {"opset", view(x.opset)}};
  nlohmann::json out{{"framework", view(x.framework)},
                     {"type", view(x.type)},
                     {"domain", view(x.domain)},
                     {"since", x.since},
                     {"until", nullptr},
                     {"operation", operation},
                     {"expanded", x.expand != nullptr},
                     {"conditions", conditions},
                     {"from", r.source->built_in() ? "built-in" : r.source->path}};
  if (x.until != INT64_MAX) out["until"] = x.until;
  return out;
}

nlohmann::json rules_json(const std::vector<const RuleDef*>& rules) {
  nlohmann::json out = nlohmann::json::array();
  for (const RuleDef* r : rules) out.push_back(rule_json(*r));
  return out;
}

// Framework layers, as opposed to subgraphs of replacement files.
bool is_layer(const RuleDef& r) { return view(r.record->framework) != "replacement"; }

void print_rule(const RuleDef& r, int width) {
  const graft_rule& x = *r.record;
  std::string versions = versions_text(x), conditions = conditions_text(x);
  std::printf("%-10s  %-*s  %s%s%s%s\n", std::string(view(x.framework)).c_str(), width,
              (layer_name(x) + (versions.empty() ? "" : ", versions " + versions)).c_str(), becomes_text(r).c_str(),
              conditions.empty() ? "" : (", where " + conditions).c_str(), r.source->built_in() ? "" : ", from ",
              r.source->path.c_str());
}

void list_layers(const Registry& r, const OpsOptions& o) {
  std::string framework = o.framework == "tf" ? "tensorflow" : o.framework;
  std::vector<const RuleDef*> rules;
  std::set<std::string> types;
  for (const RuleDef* rule : r.all_rules())
    if (view(rule->record->framework) == framework) rules.push_back(rule), types.insert(layer_name(*rule->record));
  std::stable_sort(rules.begin(), rules.end(),
                   [](const RuleDef* a, const RuleDef* b) { return layer_name(*a->record) < layer_name(*b->record); });
  if (o.json) return print_json(rules_json(rules));
  if (rules.empty()) return (void)std::printf("no import rules for %s layers\n", framework.c_str());
  std::printf("%-44s %-10s %s\n", "layer", "versions", "imported as");
  for (const RuleDef* rule : rules) {
    std::string conditions = conditions_text(*rule->record), by = rule->source->built_in() ? "" : rule->source->path;
    std::printf("%-44s %-10s %s%s%s\n", layer_name(*rule->record).c_str(), versions_text(*rule->record).c_str(),
                becomes_text(*rule).c_str(), conditions.empty() ? "" : (", where " + conditions).c_str(),
                by.empty() ? "" : (", from " + by).c_str());
  }
  std::printf("%zu %s layers\n", types.size(), framework.c_str());
}

// ---- operations ----

nlohmann::json op_json(const Registry& r, const OpDef& d) {
  nlohmann::json attrs = nlohmann::json::array(), inputs = nlohmann::json::array(), outputs = nlohmann::json::array(),
                 kernels = nlohmann::json::array();
  for (const graft_attr* a : d.attrs()) {
    nlohmann::json words = nlohmann::json::array();
    for (size_t i = 0; i < a->allowed_count; ++i) words.push_back(view(a->allowed[i]));
    attrs.push_back({{"name", view(a->name)},
                     {"kind", attr_kind(*a)},
                     {"default", default_text(*a)},
                     {"doc", view(a->doc)},
                     {"allowed", words}});
  }
  for (const graft_port* p : d.inputs())
    inputs.push_back({{"name", view(p->name)},
                      {"optional", (p->flags & GRAFT_PORT_OPTIONAL) != 0},
                      {"variadic", (p->flags & GRAFT_PORT_VARIADIC) != 0}});
  for (const graft_port* p : d.outputs()) outputs.push_back(view(p->name));
  for (const char* device : {"CPU", "REFERENCE"})
    for (const KernelDef& k : r.kernels(d, device))
      kernels.push_back({{"device", device}, {"name", view(k.record->name)}});
  return {{"kind", "operation"},
          {"name", d.name()},
          {"opset", d.opset()},
          {"doc", view(d.record->doc)},
          {"attributes", attrs},
          {"inputs", inputs},
          {"outputs", outputs},
          {"kernels", kernels},
          {"frameworks", frameworks(r, d)},
          {"rules", rules_json(rules_of(r, d))},
          {"from", d.source->built_in() ? "built-in" : d.source->path}};
}

void describe_op(const Registry& r, const OpDef& d) {
  std::printf("%s (%s)%s\n", std::string(d.name()).c_str(), std::string(d.opset()).c_str(),
              d.source->built_in() ? "" : (", from " + d.source->path).c_str());
  if (d.record->doc.size) std::printf("  %s\n", std::string(view(d.record->doc)).c_str());
  auto ports = [](std::span<const graft_port* const> list) {
    std::string out;
    for (const graft_port* p : list)
      out += text(out.empty() ? "" : ", ", p->name, p->flags & GRAFT_PORT_OPTIONAL ? "?" : "",
                  p->flags & GRAFT_PORT_VARIADIC ? "..." : "");
    return out;
  };
  std::printf("  inputs      %s\n  outputs     %s\n", ports(d.inputs()).c_str(), ports(d.outputs()).c_str());
  bool first = true;
  for (const graft_attr* a : d.attrs()) {
    std::printf("  %-11s %-24s %s, %s", first ? "attributes" : "", std::string(view(a->name)).c_str(),
                attr_kind(*a).c_str(), default_text(*a).c_str());
    if (a->doc.size) std::printf("  -- %s", std::string(view(a->doc)).c_str());
    if (a->allowed_count) {
      std::vector<std::string_view> words;
      for (size_t i = 0; i < a->allowed_count; ++i) words.push_back(view(a->allowed[i]));
      std::printf(" (%s)", join(words, ", ").c_str());
    }
    std::printf("\n");
    first = false;
  }
  std::string kernels;
  for (const char* device : {"CPU", "REFERENCE"})
    for (const KernelDef& k : r.kernels(d, device))
      kernels += text(kernels.empty() ? "" : ", ", device, ":", k.record->name);
  std::printf("  kernels     %s\n", kernels.empty() ? "none" : kernels.c_str());
  for (const RuleDef* rule : rules_of(r, d)) {
    const graft_rule& x = *rule->record;
    std::string versions = versions_text(x);
    std::printf("  imports     %s %s%s\n", std::string(view(x.framework)).c_str(), layer_name(x).c_str(),
                versions.empty() ? "" : (" versions " + versions).c_str());
  }
}

// Describes all operations and framework layers with this name; layers that are imported as one of the operations are
// listed there.
void describe(const Registry& r, const OpsOptions& o) {
  std::vector<const OpDef*> operations;
  std::vector<const RuleDef*> layers;
  std::vector<std::string> names;
  for (const OpDef* d : r.ops()) {
    names.emplace_back(d->name());
    if (equal_ignoring_case(d->name(), o.name)) operations.push_back(d);
  }
  for (const RuleDef* rule : r.all_rules()) {
    if (!is_layer(*rule)) continue;
    names.emplace_back(view(rule->record->type));
    bool own = std::any_of(operations.begin(), operations.end(), [&](const OpDef* d) {
      return view(rule->record->op) == d->name() && view(rule->record->opset) == d->opset();
    });
    if (!own && equal_ignoring_case(view(rule->record->type), o.name)) layers.push_back(rule);
  }
  if (operations.empty() && layers.empty()) {
    auto close = nearest(o.name, names);
    throw UsageError(text("no operation or framework layer is named '", o.name, "'"),
                     close ? text("did you mean ", *close, "?")
                           : "run graft ops to list operations, or graft ops --framework NAME to list layers");
  }
  if (o.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const OpDef* d : operations) list.push_back(op_json(r, *d));
    if (!layers.empty())
      list.push_back({{"kind", "layer"}, {"name", view(layers[0]->record->type)}, {"rules", rules_json(layers)}});
    return print_json(list);
  }
  for (size_t i = 0; i < operations.size(); ++i) {
    if (i) std::printf("\n");
    describe_op(r, *operations[i]);
  }
  if (layers.empty()) return;
  if (!operations.empty()) std::printf("\nFramework layers with this name\n");
  size_t width = 0;
  for (const RuleDef* l : layers) {
    std::string versions = versions_text(*l->record);
    width = std::max(width, layer_name(*l->record).size() + (versions.empty() ? 0 : versions.size() + 11));
  }
  for (const RuleDef* l : layers) print_rule(*l, static_cast<int>(width));
}

void ops(const OpsOptions& o) {
  Core core = make_core(o.model);
  const Registry& r = core.state()->registry;
  if (!o.name.empty() && !o.framework.empty())
    throw UsageError("a name and --framework are mutually exclusive",
                     "graft ops NAME shows the layers of every framework");
  if (!o.framework.empty() && o.missing)
    throw UsageError("--missing and --framework are mutually exclusive",
                     "--missing lists operations, --framework lists layers");
  if (!o.name.empty()) return describe(r, o);
  if (!o.framework.empty()) return list_layers(r, o);
  std::vector<const OpDef*> all = r.ops();
  if (o.missing)
    std::erase_if(all,
                  [&](const OpDef* d) { return r.reference(*d) || d->name() == "Parameter" || d->name() == "Result"; });
  if (o.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const OpDef* d : all) list.push_back(op_json(r, *d));
    return print_json(list);
  }
  if (o.missing && all.empty()) {
    std::printf("every known operation has a kernel\n");
    return;
  }
  std::printf("%-52s %-10s %-12s %s\n", "operation", "opset", "kernels", "imported from");
  for (const OpDef* d : all) {
    std::string kernels = !r.kernels(*d, "CPU").empty() ? "cpu, ref" : r.reference(*d) ? "ref" : "-", from;
    for (const std::string& f : frameworks(r, *d)) from += (from.empty() ? "" : ", ") + f;
    std::printf("%-52s %-10s %-12s %s\n", std::string(d->name()).c_str(), std::string(d->opset()).c_str(),
                kernels.c_str(), from.c_str());
  }
  std::printf("%zu operations%s\n", all.size(), o.missing ? " without a kernel" : "");
}

}  // namespace

void add_ops(CLI::App& app) {
  auto o = std::make_shared<OpsOptions>();
  CLI::App* c = app.add_subcommand("ops", "list known operations or importable framework layers, or describe one");
  c->add_option("name", o->name, "operation or framework layer to describe");
  c->add_option("--framework", o->framework,
                "list the layers of a framework that can be imported, and the operations they are imported as")
      ->check(CLI::IsMember({"onnx", "caffe", "tensorflow", "tf", "mxnet", "kaldi"}));
  o->model.add_extensions(*c);
  c->add_flag("--missing", o->missing, "list only operations without a kernel");
  c->add_flag("--json", o->json, "print JSON");
  c->callback([o] { ops(*o); });
}

}  // namespace graft::cli
