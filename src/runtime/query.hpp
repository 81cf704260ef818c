// Which nodes of a graph the kernels of some devices can compute.
#pragma once

#include "runtime/device.hpp"

namespace graft {

// One entry per node id. A node is supported if a kernel accepts it; where shapes are not known before the run, if
// there is a kernel at all. A node with bodies needs kernels for all of their nodes, and an operation without kernels
// is supported if its decomposition is. `devices`: whose kernels may be used, best first.
std::vector<Support> query_kernels(const Graph& graph, const Registry& registry,
                                   const std::vector<std::string>& devices, const Limits& limits);

}  // namespace graft
