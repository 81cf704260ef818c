// How many threads a model runs on.
#pragma once

#include "command.hpp"

namespace graft::cli {

struct ThreadOptions {
  int threads = 0;
  std::string hint = "none";  // "latency", "throughput" or "none"

  void add(CLI::App& app, const char* names, const char* group);
  // Warns of settings of the environment that are ignored, unless the number of threads is given.
  void apply(const Core& core, Options& options) const;
};

}  // namespace graft::cli
