// Files of custom layers and the model that is compiled with them: which layers they are for, and whether any.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "devices/hetero/hetero.hpp"
#include "schema/registry.hpp"

namespace graft {

// Nodes that a file of custom layers has a kernel of the device for.
std::vector<NodeId> custom_layers_in(const Graph& graph, const Registry& registry, std::string_view device);

// The operations of a graph and of its bodies.
std::set<const OpDef*> operations_in(const Graph& graph, const Registry& registry);

// Throws if a file has layers for the devices that are used, and the model, whose operations were `before` ahead of
// optimization, has none of them. Single layers that are not used are logged.
void check_custom_layers(const Registry& registry, const DeviceList& all, const DeviceList& used,
                         const std::set<const OpDef*>& before, const Graph& graph);

}  // namespace graft
