// Options for custom layers: a mapping file for Caffe, and subgraph replacements.
#pragma once

#include <CLI/CLI.hpp>
#include <graft/toolkit.hpp>

namespace graft::cli {

struct TeachOptions {
  std::string mapping;       // -k
  std::string replacements;  // --transformations_config
  std::string update;        // --tensorflow_custom_operations_config_update
  bool nested_names = false, omit_nothing = false, dry_run = false, allow_unmatched = false;

  void add(CLI::App& app);
  // Adds only the options for files that are needed to read a model.
  void add_files(CLI::App& app);
  // Sets the given files; reading the model reads them.
  void apply(ReadOptions& options) const;
  // Runs --dry-run or updates a replacement file instead of the command. Returns whether one was requested.
  bool instead(const Core& core, const std::vector<std::string>& model_files, ReadOptions options, bool json) const;
};

}  // namespace graft::cli
