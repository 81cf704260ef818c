// The Model Optimizer's options for MXNet models.
#pragma once

#include "command.hpp"

namespace graft::cli {

struct MxnetOptions {
  std::string symbol, nd_prefix, pretrained;
  bool save = false;

  void add(CLI::App& app);
  // Adds the files that the options name.
  void add_to(ModelOptions& model, ReadOptions& read) const;

 private:
  void add_arrays(ModelOptions& model, ReadOptions& read) const;
};

}  // namespace graft::cli
