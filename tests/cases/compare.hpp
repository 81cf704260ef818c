// Comparing results with recorded ones, by the rules of a case.
#pragma once

#include "load.hpp"

namespace graft::cases {

// Empty when equal enough, else why not.
std::string compare(const Datum& expected, const Datum& got, const nlohmann::json& a_case, const nlohmann::json& spec);

}  // namespace graft::cases
