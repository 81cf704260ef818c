// Options for what is put in front of a model: means, scales, channel order, layouts.
#pragma once

#include "command.hpp"
#include "passes/preprocess.hpp"

namespace graft::cli {

struct PreprocessOptions {
  std::string mean, scales, scale, mean_file, mean_offsets, layout, source_layout, target_layout;
  bool reverse_channels = false;

  void add(CLI::App& app);
  // All but what only the model can tell.
  Preprocess request() const;
};

}  // namespace graft::cli
