// Options for custom layers: a mapping file for Caffe, and subgraph replacements.
#pragma once

#include <CLI/CLI.hpp>
#include <graft/toolkit.hpp>

namespace graft::cli {

struct LayerOptions {
  std::string update;  // --tensorflow_custom_operations_config_update
  bool omit_nothing = false, dry_run = false;

  // The files themselves are options of reading.
  void add(CLI::App& app);
  // Throws if options that belong to a file are given without it.
  void check(const ReadOptions& options) const;
  // Runs --dry-run or updates a replacement file instead of the command. Returns whether one was requested.
  bool ran_action(const Core& core, const std::vector<std::string>& model_files, const ReadOptions& options,
                  bool json) const;
};

}  // namespace graft::cli
