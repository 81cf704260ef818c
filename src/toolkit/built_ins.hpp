// What Graft brings itself, entered by the same functions as any extension.
#pragma once

#include "schema/registry.hpp"

namespace graft {

void add_built_ins(Registry& registry);

}  // namespace graft
