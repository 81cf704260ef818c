// Data files of a case: read, and brought into the model's own layout as data/README.md says.
#pragma once

#include <graft/memory.hpp>
#include <nlohmann/json.hpp>

namespace graft::cases {

// One value of a case; several tensors for a sequence, none for an empty optional.
struct Data {
  std::vector<Tensor> tensors;
  bool single = true;
};

Data load(const std::string& folder, const nlohmann::json& spec);

}  // namespace graft::cases
