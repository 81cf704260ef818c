// Preprocessing options: mean and scale values, channel order, layouts.
#pragma once

#include "command.hpp"

namespace graft::cli {

struct PreprocessOptions {
  std::string mean, scales, scale, mean_file, mean_offsets, layout, source_layout, target_layout;

  // The options with a notation of their own.
  void add(CLI::App& app);
  void apply(Preprocessing& preprocessing) const;
};

}  // namespace graft::cli
