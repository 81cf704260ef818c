// Values for a model's inputs: from files, or random.
#pragma once

#include "command.hpp"

namespace graft::cli {

struct InputOptions {
  std::vector<std::string> given;  // "name=file", "=file" by position, "file.npz"
  uint64_t seed = 1;
  void add(CLI::App& app);
};

// One tensor per input. Nothing given: random ones. Notes say what was done to get there.
std::vector<Tensor> make_inputs(const InputOptions& o, const std::vector<Port>& ports);
std::vector<Tensor> random_inputs(const std::vector<Port>& ports, uint64_t seed);

}  // namespace graft::cli
