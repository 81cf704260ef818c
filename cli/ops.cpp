// graft ops: known operations, from their definitions.
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
  std::string name;
  bool missing = false, json = false;
};

std::string attr_kind(const graft_attr& a) { return std::string(kind_name(a.kind)); }

std::string default_text(const graft_attr& a) {
  if (a.flags & GRAFT_ATTR_REQUIRED) return "required";
  if (a.flags & GRAFT_ATTR_OPTIONAL) return "optional";
  return print(Attribute::from(a.fallback));
}

std::set<std::string> frameworks(const Registry& r, const OpDef& d) {
  std::set<std::string> out;
  for (const RuleDef* rule : r.all_rules())
    if (view(rule->record->op) == d.name() && view(rule->record->opset) == d.opset())
      out.insert(std::string(view(rule->record->framework)));
  return out;
}

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
  return {{"name", d.name()},
          {"opset", d.opset()},
          {"doc", view(d.record->doc)},
          {"attributes", attrs},
          {"inputs", inputs},
          {"outputs", outputs},
          {"kernels", kernels},
          {"frameworks", frameworks(r, d)},
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
  for (const RuleDef* rule : r.all_rules()) {
    const graft_rule& x = *rule->record;
    if (view(x.op) != d.name() || view(x.opset) != d.opset()) continue;
    std::string versions =
        x.since > 0 || x.until != INT64_MAX
            ? text(" versions ", x.since, x.until == INT64_MAX ? " and up" : text(" to ", x.until - 1))
            : "";
    std::printf("  imports     %s %s%s%s\n", std::string(view(x.framework)).c_str(),
                x.domain.size ? text(x.domain, "::").c_str() : "", std::string(view(x.type)).c_str(), versions.c_str());
  }
}

void list_rules_without_op(const Registry& r, const std::string& name, bool& found) {
  for (const RuleDef* rule : r.all_rules()) {
    if (rule->record->op.size || view(rule->record->type) != name) continue;
    found = true;
    std::printf("%s %s%s becomes other operations\n", std::string(view(rule->record->framework)).c_str(),
                rule->record->domain.size ? text(rule->record->domain, "::").c_str() : "", name.c_str());
  }
}

void ops(const OpsOptions& o) {
  Core core = make_core(o.model);
  const Registry& r = core.state()->registry;
  std::vector<const OpDef*> all = r.ops();
  if (!o.name.empty()) {
    bool found = false;
    nlohmann::json list = nlohmann::json::array();
    for (const OpDef* d : all)
      if (equal_ignoring_case(d->name(), o.name)) {
        if (o.json) list.push_back(op_json(r, *d));
        else {
          if (found) std::printf("\n");
          describe_op(r, *d);
        }
        found = true;
      }
    if (o.json) return print_json(list);
    list_rules_without_op(r, o.name, found);
    if (found) return;
    std::vector<std::string> names;
    for (const OpDef* d : all) names.emplace_back(d->name());
    auto close = nearest(o.name, names);
    throw UsageError(text("operation '", o.name, "' is not known"),
                     close ? text("did you mean ", *close, "?") : "graft ops lists them");
  }
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
  CLI::App* c = app.add_subcommand("ops", "list known operations, or describe one");
  c->add_option("name", o->name, "operation to describe");
  o->model.add_extensions(*c);
  c->add_flag("--missing", o->missing, "only those without a kernel");
  c->add_flag("--json", o->json, "prints JSON");
  c->callback([o] { ops(*o); });
}

}  // namespace graft::cli
