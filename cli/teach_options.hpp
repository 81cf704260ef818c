// Options that teach the converter layers: a mapping file for Caffe, and replacements of sub-graphs.
#pragma once

#include <CLI/CLI.hpp>
#include <graft/toolkit.hpp>

#include "import/importer.hpp"

namespace graft::cli {

struct TeachOptions {
  std::string mapping;       // -k
  std::string replacements;  // --transformations_config
  std::string update;        // --tensorflow_custom_operations_config_update
  bool nested_names = false, omit_nothing = false, dry_run = false, allow_unmatched = false;

  void add(CLI::App& app);
  // Only what names files that a model is read with.
  void add_files(CLI::App& app);
  // Reads the files that are named.
  void apply(ImportOptions& options) const;
  // --dry-run and the update of a replacement file: done instead of the command. Says whether one was asked for.
  bool instead(const Core& core, const std::vector<std::string>& model_files, ImportOptions options, bool json) const;
};

}  // namespace graft::cli
