// Preprocessing options: mean and scale values, channel order, layouts.
#pragma once

#include "command.hpp"

namespace graft::cli {

struct PreprocessOptions {
  std::string mean, scales, scale, mean_file, mean_offsets, layout, source_layout, target_layout;
  bool reverse_channels = false;

  void add(CLI::App& app);
  Preprocessing request() const;
};

}  // namespace graft::cli
