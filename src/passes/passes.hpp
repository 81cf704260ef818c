// The passes themselves, one file each.
#pragma once

#include "passes/pass.hpp"

namespace graft {

size_t fold_constants(Graph& graph, const Registry& registry);
size_t sink_transposes(Graph& graph, const Registry& registry);
size_t remove_dead(Graph& graph, const Registry& registry);

}  // namespace graft
