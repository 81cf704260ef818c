// graft ops: lists known operations from their definitions, and framework layers from the import rules.
#include <algorithm>
#include <cstdio>
#include <set>

#include "command.hpp"

namespace graft::cli {
namespace {

struct OpsOptions {
  ModelOptions model;
  std::string name, framework, device;
  bool missing = false, frameworks = false, json = false;
};

// ---- import rules ----

// Framework layers, as opposed to subgraphs of replacement files.
bool is_layer(const RuleInfo& r) { return r.framework != "replacement"; }

std::string details(const RuleInfo& r) {
  std::string where = r.where();
  return text(r.imported_as(), where.empty() ? "" : ", where " + where, r.built_in() ? "" : ", from " + r.origin);
}

std::string with_versions(const RuleInfo& r) {
  std::string versions = r.versions();
  return r.layer() + (versions.empty() ? "" : ", versions " + versions);
}

void list_layers(std::vector<RuleInfo> rules, const OpsOptions& o) {
  const std::string& framework = o.framework;
  std::erase_if(rules, [&](const RuleInfo& r) { return r.framework != framework; });
  std::stable_sort(rules.begin(), rules.end(),
                   [](const RuleInfo& a, const RuleInfo& b) { return a.layer() < b.layer(); });
  if (o.json) return print_json(value_json(rules));
  if (rules.empty()) return (void)std::printf("no import rules for %s layers\n", framework.c_str());
  std::set<std::string> types;
  std::printf("%-44s %-10s %s\n", "layer", "versions", "imported as");
  for (const RuleInfo& r : rules) {
    types.insert(r.layer());
    std::printf("%-44s %-10s %s\n", r.layer().c_str(), r.versions().c_str(), details(r).c_str());
  }
  std::printf("%zu %s layers\n", types.size(), framework.c_str());
}

void list_frameworks(const std::vector<FrameworkInfo>& all, bool json) {
  if (json) return print_json(value_json(all));
  std::printf("%-16s %-16s %s\n", "framework", "name", "files");
  for (const FrameworkInfo& f : all) {
    std::vector<std::string> names{f.name};
    names.insert(names.end(), f.aliases.begin(), f.aliases.end());
    std::printf("%-16s %-16s %s%s\n", f.title.c_str(), join(names, ", ").c_str(), f.files.c_str(),
                f.built_in() ? "" : text(", from ", f.origin).c_str());
  }
}

// ---- operations ----

nlohmann::json op_json(const OpInfo& op) {
  nlohmann::json out{{"kind", "operation"}};
  add_fields(out, op);
  return out;
}

// Describes all operations and framework layers with this name; layers that are imported as one of the operations are
// listed there.
void describe(const Core& core, const OpsOptions& o) {
  std::vector<OpInfo> operations;
  std::vector<RuleInfo> layers;
  std::vector<std::string> names;
  for (OpInfo& op : core.operations()) {
    names.push_back(op.name);
    if (equal_ignoring_case(op.name, o.name)) operations.push_back(std::move(op));
  }
  for (RuleInfo& r : core.rules()) {
    if (!is_layer(r)) continue;
    names.push_back(r.type);
    bool own = std::any_of(operations.begin(), operations.end(),
                           [&](const OpInfo& op) { return r.op == op.name && r.opset == op.opset; });
    if (!own && equal_ignoring_case(r.type, o.name)) layers.push_back(std::move(r));
  }
  if (operations.empty() && layers.empty()) {
    auto close = nearest(o.name, names);
    throw UsageError(text("no operation or framework layer is named '", o.name, "'"),
                     close ? text("did you mean ", *close, "?")
                           : "run graft ops to list operations, or graft ops --framework NAME to list layers");
  }
  if (o.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const OpInfo& op : operations) list.push_back(op_json(op));
    if (!layers.empty()) list.push_back({{"kind", "layer"}, {"name", layers[0].type}, {"rules", value_json(layers)}});
    return print_json(list);
  }
  for (size_t i = 0; i < operations.size(); ++i) std::printf("%s%s", i ? "\n" : "", operations[i].to_text().c_str());
  if (layers.empty()) return;
  if (!operations.empty()) std::printf("\nFramework layers with this name\n");
  size_t width = 0;
  for (const RuleInfo& r : layers) width = std::max(width, with_versions(r).size());
  for (const RuleInfo& r : layers)
    std::printf("%-10s  %-*s  %s\n", r.framework.c_str(), static_cast<int>(width), with_versions(r).c_str(),
                details(r).c_str());
}

// "cpu, ref": devices that have a kernel, shortened.
std::string kernel_devices(const OpInfo& op) {
  std::vector<std::string> names;
  for (const KernelInfo& k : op.kernels) {
    std::string name = to_lower(k.device).substr(0, 3);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names.empty() ? "-" : join(names, ", ");
}

void list_operations(std::vector<OpInfo> all, const OpsOptions& o) {
  if (o.missing)
    std::erase_if(all, [&](const OpInfo& op) {
      return (o.device.empty() ? !op.kernels.empty() : op.has_kernel(o.device)) || op.name == "Parameter" ||
             op.name == "Result" || op.name == "Constant";
    });
  if (o.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const OpInfo& op : all) list.push_back(op_json(op));
    return print_json(list);
  }
  std::string which = o.device.empty() ? "" : text(" for ", o.device);
  if (o.missing && all.empty()) return (void)std::printf("every known operation has a kernel%s\n", which.c_str());
  std::printf("%-52s %-10s %-14s %s\n", "operation", "opset", "kernels", "imported from");
  for (const OpInfo& op : all)
    std::printf("%-52s %-10s %-14s %s\n", op.name.c_str(), op.opset.c_str(), kernel_devices(op).c_str(),
                join(op.frameworks(), ", ").c_str());
  std::printf("%zu operations%s%s\n", all.size(), o.missing ? " without a kernel" : "", o.missing ? which.c_str() : "");
}

void ops(const OpsOptions& o) {
  Core core = make_core(o.model);
  if (!o.name.empty() && !o.framework.empty())
    throw UsageError("a name and --framework are mutually exclusive",
                     "graft ops NAME shows the layers of every framework");
  if (!o.framework.empty() && o.missing)
    throw UsageError("--missing and --framework are mutually exclusive",
                     "--missing lists operations, --framework lists layers");
  if (!o.device.empty()) {
    if (!o.missing) throw UsageError("--device applies to --missing only");
    as_usage([&] { return core.device_description(o.device); });
  }
  if (!o.name.empty()) return describe(core, o);
  if (!o.framework.empty()) {
    OpsOptions of = o;
    of.framework = as_usage([&] { return core.framework_name(o.framework); });
    return list_layers(core.rules(), of);
  }
  if (o.frameworks) return list_frameworks(core.frameworks(), o.json);
  list_operations(core.operations(), o);
}

}  // namespace

void add_ops(CLI::App& app) {
  auto o = std::make_shared<OpsOptions>();
  CLI::App* c = app.add_subcommand("ops", "list known operations or importable framework layers, or describe one");
  c->add_option("name", o->name, "operation or framework layer to describe");
  c->add_option("--framework", o->framework,
                "list the layers of a framework that can be imported, and the operations they are imported as");
  c->add_flag("--frameworks", o->frameworks, "list the frameworks whose models can be read");
  o->model.add_extensions(*c);
  c->add_flag("--missing", o->missing, "list only operations without a kernel");
  c->add_option("--device,-d", o->device, "with --missing: without a kernel for this device");
  c->add_flag("--json", o->json, "print JSON");
  c->callback([o] { ops(*o); });
}

}  // namespace graft::cli
