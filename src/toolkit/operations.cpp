// What the registry knows, as plain values and as text.
#include <algorithm>
#include <graft/app/operations.hpp>
#include <graft/traits.hpp>
#include <map>
#include <set>
#include <tuple>

#include "base/text.hpp"
#include "passes/pass.hpp"
#include "toolkit/columns.hpp"
#include "toolkit/errors.hpp"
#include "toolkit/state.hpp"

namespace graft {
namespace {

std::string from_text(const Source& s) { return s.built_in() ? "built-in" : s.title(); }

std::string fallback_text(const graft_attr& a) {
  if (a.flags & GRAFT_ATTR_REQUIRED) return "required";
  if (a.flags & GRAFT_ATTR_OPTIONAL) return "optional";
  return print(Attribute::from(a.fallback));
}

RuleInfo rule_info(const RuleDef& def, std::string_view framework, std::string_view domain) {
  const graft_rule& r = *def.record;
  RuleInfo out;
  out.framework = framework, out.domain = domain, out.type = view(r.type);
  out.since = r.since;
  if (r.until != INT64_MAX) out.until = r.until;
  out.op = view(r.op), out.opset = view(r.opset);
  out.expanded = r.expand != nullptr;
  for (size_t i = 0; i < r.condition_count; ++i)
    out.conditions.emplace_back(view(r.conditions[i].name), print(Attribute::from(r.conditions[i].value)));
  out.origin = from_text(*def.source);
  return out;
}

// One per framework if the rule is for all of them.
void add_rule_infos(std::vector<RuleInfo>& to, const RuleDef& def, const Registry& registry) {
  std::string_view framework = view(def.record->framework), domain = view(def.record->domain);
  if (framework != every_framework_name) return to.push_back(rule_info(def, framework, domain));
  for (const FrameworkTraits* f : registry.frameworks())
    to.push_back(rule_info(def, f->name, f->conventions.domains ? domain : ""));
}

void sort_rules(std::vector<RuleInfo>& rules) {
  std::stable_sort(rules.begin(), rules.end(), [](const RuleInfo& a, const RuleInfo& b) {
    return std::tie(a.framework, a.domain, a.type, a.since) < std::tie(b.framework, b.domain, b.type, b.since);
  });
}

std::vector<OpPortInfo> port_infos(std::span<const graft_port* const> ports) {
  std::vector<OpPortInfo> out;
  for (const graft_port* p : ports)
    out.push_back({std::string(view(p->name)), std::string(view(p->doc)), (p->flags & GRAFT_PORT_OPTIONAL) != 0,
                   (p->flags & GRAFT_PORT_VARIADIC) != 0});
  return out;
}

OpInfo op_info(const Registry& registry, const OpDef& d, const std::vector<std::string>& devices) {
  OpInfo out;
  out.name = d.name(), out.opset = d.opset(), out.doc = view(d.record->doc);
  for (const graft_attr* a : d.attrs()) {
    AttributeInfo& info = out.attributes.emplace_back();
    info.name = view(a->name), info.kind = kind_name(a->kind), info.doc = view(a->doc);
    info.fallback = fallback_text(*a);
    for (size_t i = 0; i < a->allowed_count; ++i) info.allowed.emplace_back(view(a->allowed[i]));
  }
  out.inputs = port_infos(d.inputs()), out.outputs = port_infos(d.outputs());
  for (const TraitInfo& t : trait_table)
    if (d.has(static_cast<uint32_t>(t.trait))) out.traits.emplace_back(t.word);
  for (const std::string& device : devices) {
    for (const KernelDef& k : registry.kernels(d, device))
      out.kernels.push_back({device, std::string(view(k.record->name))});
    for (const SourceKernelDef& k : registry.source_kernels(d, device))
      out.kernels.push_back({device, std::string(view(k.record->name))});
  }
  out.origin = from_text(*d.source);
  out.overrides = d.overrides != nullptr;
  return out;
}

}  // namespace

std::vector<RuleInfo> Core::rules() const {
  return as_errors([&] {
    std::shared_ptr<const Registry> registry = s_->registry();
    std::vector<RuleInfo> out;
    for (const RuleDef* r : registry->all_rules()) add_rule_infos(out, *r, *registry);
    sort_rules(out);
    return out;
  });
}

std::vector<OpInfo> Core::operations() const {
  return as_errors([&] {
    std::shared_ptr<const Registry> registry = s_->registry();
    std::map<std::pair<std::string_view, std::string_view>, std::vector<const RuleDef*>> rules;
    for (const RuleDef* r : registry->all_rules()) rules[{view(r->record->op), view(r->record->opset)}].push_back(r);
    std::vector<std::string> devices;
    for (const auto& d : s_->devices) devices.push_back(d->name());
    std::vector<OpInfo> out;
    for (const OpDef* d : registry->ops()) {
      OpInfo& info = out.emplace_back(op_info(*registry, *d, devices));
      if (auto it = rules.find({d->name(), d->opset()}); it != rules.end())
        for (const RuleDef* r : it->second) add_rule_infos(info.rules, *r, *registry);
      sort_rules(info.rules);
    }
    return out;
  });
}

std::vector<FrameworkInfo> Core::frameworks() const {
  return as_errors([&] {
    std::shared_ptr<const Registry> registry = s_->registry();
    std::vector<FrameworkInfo> out;
    for (const FrameworkTraits* f : registry->frameworks())
      out.push_back({f->name, f->title, f->aliases, f->files, f->from.empty() ? "built-in" : f->from});
    return out;
  });
}

std::string framework_title(const std::string& name) {
  for (const Framework& f : built_in_frameworks())
    if (f.traits.name == name) return f.traits.title;
  return name;
}

std::string Core::framework_name(const std::string& name_or_alias) const {
  std::string wanted = to_lower(name_or_alias);
  std::vector<std::string> names;
  for (const FrameworkInfo& f : frameworks()) {
    auto is_it = [&](const std::string& alias) { return to_lower(alias) == wanted; };
    if (f.name == wanted || std::any_of(f.aliases.begin(), f.aliases.end(), is_it)) return f.name;
    names.push_back(f.name);
    names.insert(names.end(), f.aliases.begin(), f.aliases.end());
  }
  throw Error(ErrorKind::request, text("unknown framework '", name_or_alias, "'"),
              text("the frameworks are ", join(names, ", ")));
}

std::vector<PassInfo> Core::passes() const {
  return as_errors([&] {
    std::shared_ptr<const Registry> registry = s_->registry();
    std::vector<PassInfo> out;
    for (const RawPassDef& p : registry->raw_passes())
      out.push_back({std::string(view(p.record->name)), std::string(view(p.record->doc)), "raw", p.source->name});
    for (PassInfo& p : list_passes(*registry)) out.push_back(std::move(p));
    return out;
  });
}

// ---- text ----

std::string RuleInfo::layer() const { return domain.empty() ? type : domain + "::" + type; }

std::string RuleInfo::versions() const {
  if (since <= 0 && !until) return "";
  if (!until) return text(since, " and up");
  if (since + 1 >= *until) return text(*until - 1);
  return text(since > 0 ? text(since) : "up", " to ", *until - 1);
}

// An import function may create any operations; if it belongs to an operation, that is the main one.
std::string RuleInfo::imported_as() const {
  std::string of = op.empty() ? "" : text(op, " (", opset, ')');
  if (!expanded) return of;
  return of.empty() ? "expanded by a rule" : text("expanded by a rule of ", of);
}

std::string RuleInfo::where() const {
  std::string out;
  for (const auto& [name, value] : conditions) out += text(out.empty() ? "" : ", ", name, " = ", value);
  return out;
}

bool OpInfo::has_kernel(std::string_view device) const {
  return std::any_of(kernels.begin(), kernels.end(), [&](const KernelInfo& k) { return k.device == device; });
}

std::vector<std::string> OpInfo::frameworks() const {
  std::set<std::string> out;
  for (const RuleInfo& r : rules) out.insert(r.framework);
  return {out.begin(), out.end()};
}

std::string OpInfo::to_text() const {
  auto ports = [](const std::vector<OpPortInfo>& list) {
    std::string out;
    for (const OpPortInfo& p : list)
      out += text(out.empty() ? "" : ", ", p.name, p.optional ? "?" : "", p.variadic ? "..." : "");
    return out;
  };
  std::string out = text(name, " (", opset, ")", origin == "built-in" ? "" : ", from " + origin, "\n");
  if (!doc.empty()) out += text("  ", doc, "\n");
  auto documented = [&](std::string_view title, const std::vector<OpPortInfo>& list) {
    out += text("  ", padded(title, 11), ' ', ports(list), "\n");
    for (const OpPortInfo& p : list)
      if (!p.doc.empty()) out += text("  ", padded("", 11), ' ', padded(p.name, 24), " -- ", p.doc, "\n");
  };
  documented("inputs", inputs);
  documented("outputs", outputs);
  for (size_t i = 0; i < attributes.size(); ++i) {
    const AttributeInfo& a = attributes[i];
    out += text("  ", padded(i ? "" : "attributes", 11), ' ', padded(a.name, 24), ' ', a.kind, ", ", a.fallback);
    if (!a.doc.empty()) out += text("  -- ", a.doc);
    if (!a.allowed.empty()) out += text(" (", join(a.allowed, ", "), ")");
    out += "\n";
  }
  if (!traits.empty()) out += text("  traits      ", join(traits, ", "), "\n");
  std::string all;
  for (const KernelInfo& k : kernels) all += text(all.empty() ? "" : ", ", k.device, ":", k.name);
  out += text("  kernels     ", all.empty() ? "none" : all, "\n");
  for (const RuleInfo& r : rules) {
    std::string versions = r.versions();
    out += text("  imports     ", r.framework, ' ', r.layer(), versions.empty() ? "" : " versions " + versions, "\n");
  }
  return out;
}

}  // namespace graft
