// extgen new: asks what to generate.
#pragma once

#include <set>

#include "dialog.hpp"
#include "specification.hpp"

namespace graft::cli::extgen {

// What was asked for on the command line.
struct Parts {
  std::set<Framework> extractors;
  bool operation = false;
  std::set<Device> kernels;
};

Specification interview(Dialog& dialog, const Parts& parts);

}  // namespace graft::cli::extgen
