#include "toolkit/custom_layers.hpp"

#include <algorithm>
#include <map>

#include "base/log.hpp"
#include "base/text.hpp"

namespace graft {
namespace {

constexpr size_t most_listed = 24;

std::string listed(const std::set<std::string>& names) {
  std::vector<std::string> shown(names.begin(), names.end());
  size_t more = shown.size() - std::min(shown.size(), most_listed);
  shown.resize(shown.size() - more);
  return text(join(shown, ", "), more ? text(" and ", more, " more") : "");
}

// An operation whose decomposition has the layer: a device without a kernel for it runs the parts.
bool is_part(const Registry& registry, std::string_view layer, const std::set<const OpDef*>& operations) {
  for (const OpDef* part : registry.ops()) {
    if (!registry.goes_by(*part, layer)) continue;
    std::string call = text(part->name(), "(");
    for (const OpDef* op : operations)
      if (view(op->record->decomposition).find(call) != std::string_view::npos) return true;
  }
  return false;
}

// Devices that run custom layers only, without any.
void report_idle(const Registry& registry, const DeviceList& used) {
  for (const auto& d : used)
    if (std::string rest = d->fallback(); !rest.empty() && registry.source_kernels(d->name()).empty())
      log_warning("no custom layers are loaded for ", d->name(), ": all operations run on ", rest,
                  "; -c FILE.xml or a property loads them");
}

// What a file has for the devices that are used.
struct Usage {
  std::set<std::string> layers;
  bool any = false;  // of them is in the model
};

[[noreturn]] void refuse(const Source& file, const Usage& usage, const std::set<const OpDef*>& operations) {
  std::set<std::string> types;
  for (const OpDef* op : operations)
    if (op->name() != "Parameter" && op->name() != "Result" && op->name() != "Constant") types.emplace(op->ir_name());
  throw Error(
      ErrorKind::user,
      text("the model has no layer for the custom layers of '", file.title(), "': expected ", listed(usage.layers),
           ", got ", types.empty() ? "no layers" : listed(types)),
      "name=\"...\" of <CustomLayer> is the type of a layer in the IR, in the framework or in graft ops; do not "
      "load the file for models that have no such layer");
}

}  // namespace

std::vector<NodeId> custom_layers_in(const Graph& graph, const Registry& registry, std::string_view device) {
  std::vector<NodeId> out;
  std::map<const OpDef*, bool> known;
  for (NodeId id : graph.topological_order()) {
    const OpDef* op = registry.find(graph[id].type, graph[id].opset);
    if (!op) continue;
    auto [at, fresh] = known.try_emplace(op, false);
    if (fresh) at->second = registry.is_configured(*op, device);
    if (at->second) out.push_back(id);
  }
  return out;
}

std::set<const OpDef*> operations_in(const Graph& graph, const Registry& registry) {
  std::set<const OpDef*> out;
  for (NodeId id = 0; id < graph.end_id(); ++id) {
    if (!graph[id].alive) continue;
    if (const OpDef* op = registry.find(graph[id].type, graph[id].opset)) out.insert(op);
    for (const Body& b : graph[id].bodies) out.merge(operations_in(*b.graph, registry));
  }
  return out;
}

void check_custom_layers(const Registry& registry, const DeviceList& all, const DeviceList& used,
                         const std::set<const OpDef*>& before, const Graph& graph) {
  report_idle(registry, used);
  std::set<const OpDef*> after = operations_in(graph, registry), both = before;
  both.insert(after.begin(), after.end());
  std::map<const Source*, Usage> files;
  std::vector<std::string> unused;
  for (const auto& d : all) {
    bool runs = std::find(used.begin(), used.end(), d) != used.end();
    for (const SourceKernelDef& k : registry.source_kernels(d->name())) {
      if (!(k.record->flags & GRAFT_SOURCE_KERNEL_CONFIGURED)) continue;
      std::string_view layer = view(k.record->op);
      auto is_layer = [&](const OpDef* op) { return registry.goes_by(*op, layer); };
      bool found = std::any_of(after.begin(), after.end(), is_layer);
      if (runs) {
        Usage& file = files[k.source];
        file.layers.emplace(layer);
        file.any = file.any || std::any_of(both.begin(), both.end(), is_layer) || is_part(registry, layer, both);
      }
      if (runs && found) continue;
      unused.push_back(text("the custom layer '", layer, "' of '", k.source->title(), "' is unused: ",
                            runs ? "the compiled model has no operation of this type"
                                 : text("it is for ", d->name(), ", where the model does not run")));
    }
  }
  for (const auto& [file, usage] : files)
    if (!usage.any) refuse(*file, usage, before);
  for (const std::string& reason : unused) log_warning(reason);
}

}  // namespace graft
