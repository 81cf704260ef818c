#pragma once

#include "schema/registry.hpp"

namespace graft::testing {

// Everything built in, made once.
const Registry& shared_registry();

}  // namespace graft::testing
