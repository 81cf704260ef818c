// Assigns a device to each node.
#include "base/error.hpp"
#include "base/request.hpp"
#include "base/text.hpp"
#include "devices/hetero/hetero.hpp"
#include "schema/resolve.hpp"

namespace graft {
namespace {

class Assigning {
 public:
  Assigning(const Graph& graph, const Registry& registry, const DeviceList& devices, const CompileOptions& options)
      : g_(graph), registry_(registry), devices_(devices), options_(options), answers_(devices.size()) {}

  std::vector<Assignment> all() {
    out_.resize(g_.end_id());
    order_ = g_.topological_order();
    by_hand();
    variables();
    for (NodeId id : order_)
      if (!is_free(g_[id]) && out_[id].device == no_device) out_[id] = first({id});
    return std::move(out_);
  }

 private:
  // A device is asked only when its answer is needed.
  const Support& answer(size_t device, NodeId id) {
    std::optional<std::vector<Support>>& a = answers_[device];
    if (!a) a = devices_[device]->query(g_, registry_, options_);
    return (*a)[id];
  }

  void by_hand() {
    for (NodeId id : order_) {
      auto it = options_.affinities.find(g_[id].name);
      if (it == options_.affinities.end()) continue;
      size_t device = 0;
      while (device < devices_.size() && devices_[device]->name() != it->second) ++device;
      if (device == devices_.size())
        throw RequestError(text("the affinity of layer ", describe(g_[id]), " is ", it->second,
                                ", which is not among the devices of ", hetero_device_name(devices_)));
      if (is_free(g_[id])) continue;
      const Support& s = answer(device, id);
      if (!s.supported)
        throw Error(ErrorKind::unsupported,
                    text("layer ", describe(g_[id]), " cannot run on ", it->second, ": ", s.reason),
                    "remove its affinity, or choose a device that supports it");
      out_[id] = {device, s.reason, ""};
    }
  }

  // Nodes of one variable go to one device that supports them all, if there is one.
  void variables() {
    std::map<std::string, std::vector<NodeId>> users;
    for (NodeId id : order_)
      for (const std::string& variable : variables_of(g_[id]))
        if (out_[id].device == no_device) users[variable].push_back(id);
    for (const auto& [name, nodes] : users) {
      Assignment common = first(nodes);
      if (common.device == no_device) continue;
      for (NodeId id : nodes) out_[id] = {common.device, answer(common.device, id).reason, common.declined};
    }
  }

  // The first device that supports all of these nodes.
  Assignment first(const std::vector<NodeId>& nodes) {
    std::string declined;
    for (size_t d = 0; d < devices_.size(); ++d) {
      const Support* problem = nullptr;
      for (NodeId id : nodes)
        if (const Support& s = answer(d, id); !s.supported && !problem) problem = &s;
      if (!problem) return {d, answer(d, nodes[0]).reason, declined};
      declined += text(declined.empty() ? "" : "; ", devices_[d]->name(), ": ", problem->reason);
    }
    return {no_device, declined, ""};
  }

  const Graph& g_;
  const Registry& registry_;
  const DeviceList& devices_;
  const CompileOptions& options_;
  std::vector<std::optional<std::vector<Support>>> answers_;
  std::vector<NodeId> order_;
  std::vector<Assignment> out_;
};

}  // namespace

std::string hetero_device_name(const DeviceList& devices) {
  std::vector<std::string> names;
  for (const auto& d : devices) names.push_back(d->name());
  return text(hetero_name, ":", join(names, ","));
}

std::vector<std::string> variables_of(const Node& node) {
  std::vector<std::string> out;
  const Attribute* a = node.attrs.find("variable_id");
  if (const std::string* name = a ? a->get_if<std::string>() : nullptr) out.push_back(*name);
  for (const Body& b : node.bodies)
    for (NodeId id : b.graph->topological_order())
      for (std::string& name : variables_of((*b.graph)[id])) out.push_back(std::move(name));
  return out;
}

std::vector<Assignment> assign_devices(const Graph& graph, const Registry& registry, const DeviceList& devices,
                                       const CompileOptions& options) {
  return Assigning(graph, registry, devices, options).all();
}

void require_assigned(const Graph& graph, const DeviceList& devices, const std::vector<Assignment>& assigned) {
  constexpr size_t most = 10;
  size_t count = 0;
  std::string list;
  for (NodeId id : graph.topological_order()) {
    if (is_free(graph[id]) || assigned[id].device != no_device) continue;
    if (++count <= most) list += text("\n  ", describe(graph[id]), ": ", assigned[id].reason);
  }
  if (count == 0) return;
  if (count > most) list += text("\n  and ", count - most, " more");
  throw Error(ErrorKind::unsupported,
              text("no device of ", hetero_device_name(devices), " supports ",
                   count == 1 ? "this layer:" : "these layers:", list),
              "add a device to the list, or a kernel for one of them in an extension");
}

void optimize_whole(Graph& graph, const DeviceList& devices, const CompileOptions& options) {
  if (!options.optimize) return;
  for (const auto& d : devices)
    if (!d->wants_passes()) return;
  options.optimize(graph, nullptr, [&](const std::string& name) { return options.affinities.count(name) > 0; });
}

}  // namespace graft
