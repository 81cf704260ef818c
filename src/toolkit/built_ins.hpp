// The built-in definitions, registered by the same functions as those of any extension.
#pragma once

#include "schema/registry.hpp"

namespace graft {

void add_built_ins(Registry& registry);

}  // namespace graft
