#pragma once

#include "schema/registry.hpp"

namespace graft::testing {

// Everything built in, made once.
const Registry& shared_registry();
void load_extensions(const std::string& paths);

}  // namespace graft::testing
