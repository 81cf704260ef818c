// HETERO: a device that splits a graph among other devices. Each node is assigned to the first device that supports it,
// or to the one that was chosen by hand; nodes of one device that need nothing of each other's successors on other
// devices form one part (split.hpp), and parts that do not depend on each other run at the same time.
#pragma once

#include "runtime/device.hpp"

namespace graft {

inline constexpr std::string_view hetero_name = "HETERO";

using DeviceList = std::vector<std::shared_ptr<const Device>>;

// "HETERO:GPU,CPU"
std::string hetero_device_name(const DeviceList& devices);
std::unique_ptr<Device> make_hetero_device(DeviceList devices);

// Parameters, constants and results have no device of their own.
inline constexpr size_t no_device = SIZE_MAX;

struct Assignment {
  size_t device = no_device;  // in the list
  std::string reason;         // the kernel's name, or why no device supports the node
  std::string declined{};     // why devices before it in the list do not support the node
};

// Whether a node goes with its producers or consumers.
inline bool is_free(const Node& n) { return n.is("Parameter") || n.is("Result") || n.is("Constant"); }

// The variables that a node reads or assigns, also in its bodies.
std::vector<std::string> variables_of(const Node& node);

// One entry per node id. Nodes that are not supported by any device have none. Throws on an affinity for another
// device, or for one that does not support the layer.
std::vector<Assignment> assign_devices(const Graph& graph, const Registry& registry, const DeviceList& devices,
                                       const CompileOptions& options);
// Throws, listing the nodes without a device.
void require_assigned(const Graph& graph, const DeviceList& devices, const std::vector<Assignment>& assigned);

// Optimizes a graph before it is split, if all devices want that.
void optimize_whole(Graph& graph, const DeviceList& devices, const CompileOptions& options);

}  // namespace graft
