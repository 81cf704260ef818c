// Readers of extensions (graft/abi_reader.h), as frameworks like the built-in ones.
#pragma once

#include "readers/framework.hpp"
#include "schema/registry.hpp"

namespace graft {

// All frameworks, in the order in which they are asked. Valid as long as the registry.
std::vector<Framework> frameworks_of(const Registry& registry);

}  // namespace graft
