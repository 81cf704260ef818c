// The words of a command line before they are parsed: other spellings of options become the one that is declared.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace graft::cli {

// Writes options out. Long ones may be abbreviated as Python's argparse allows it, as long as one option is meant; an
// exact name always wins. benchmark_app's long options may have one dash, and mo's -ms, -mf and -mo have two letters.
// Values of options and what follows `--` stay as they are. Throws UsageError where several options are meant.
std::vector<std::string> normal_arguments(const CLI::App& app, const std::vector<std::string>& given);

}  // namespace graft::cli
