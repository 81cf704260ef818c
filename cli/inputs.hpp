// Values for a model's inputs: from files, or random.
#pragma once

#include "command.hpp"

namespace graft::cli {

struct InputOptions {
  std::vector<std::string> given;  // "name=file", "=file" by position, "file.npz"
  uint64_t seed = 1;
  LimitChanges limits;  // of the files
  void add(CLI::App& app);
};

// One value per input; random values if none is given. Prints a note about each conversion.
std::vector<Datum> make_inputs(const InputOptions& o, const std::vector<Group>& groups, const std::vector<Port>& ports);
// Values that are given for some of the inputs: of those that are needed.
std::vector<Datum> make_inputs(const InputOptions& o, const std::vector<Group>& groups, const std::vector<Port>& ports,
                               const std::vector<Group>& needed);

}  // namespace graft::cli
