// extgen CONFIG.json: the answers in a file.
//
//   {"mo_tf_extractor": {"op": "Cosh", "all_copy": true}, "mo_op": {"op": "Cosh"}, "ie_op": {"op": "Cosh", "plugin":
//   "cpu"}}
//
// Each key selects a part; docs/guide/extgen.md lists all of them.
#pragma once

#include "specification.hpp"

namespace graft::cli::extgen {

struct Config {
  Specification spec;
  std::string output_dir;  // empty: none given
};

// Throws UsageError with the line and column of a syntax error, or with the name of the key.
Config read_config(const std::string& path);

}  // namespace graft::cli::extgen
