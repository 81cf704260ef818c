// Data files of a case: read, and brought into the model's own layout as data/README.md says.
#pragma once

#include <nlohmann/json.hpp>

#include <graft/app/values.hpp>

namespace graft::cases {

Datum load(const std::string& folder, const nlohmann::json& spec);

}  // namespace graft::cases
