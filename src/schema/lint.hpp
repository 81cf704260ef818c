// Slips in definitions that load, but cannot work as their author expects.
#pragma once

#include "schema/registry.hpp"

namespace graft {

// One line per slip, each naming the library. `registry` has the definitions in it; `devices` are those that exist.
// `passes` are names of passes that are not in the registry.
std::vector<std::string> lint(const Records& records, const Registry& registry, const std::vector<std::string>& devices,
                              const std::vector<std::string>& passes);

}  // namespace graft
