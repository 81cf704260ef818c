// Preprocessing options: mean and scale values, channel order, layouts.
#pragma once

#include "command.hpp"
#include "passes/preprocess.hpp"

namespace graft::cli {

struct PreprocessOptions {
  std::string mean, scales, scale, mean_file, mean_offsets, layout, source_layout, target_layout;
  bool reverse_channels = false;

  void add(CLI::App& app);
  // The preprocessing request, without what depends on the model.
  Preprocess request() const;
};

}  // namespace graft::cli
