// Normalizes command-line arguments before parsing: alternative spellings of options become the declared one.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace graft::cli {

// Expands abbreviated options. As in Python's argparse, a long option may be abbreviated if the prefix is unambiguous;
// an exact name always wins. benchmark_app's long options may have one dash, and mo's -ms, -mf and -mo have two
// letters. Option values and everything after `--` are unchanged. Throws UsageError if an abbreviation is ambiguous.
std::vector<std::string> normal_arguments(const CLI::App& app, const std::vector<std::string>& given);

}  // namespace graft::cli
