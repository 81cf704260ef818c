// Log output on stderr: notes, warnings, and messages enabled by --log_level.
#pragma once

#include <CLI/CLI.hpp>

namespace graft::cli {

// Sends the library's log lines to stderr, a line each: "warning: ...".
void log_to_stderr();
// --log_level; takes effect as soon as the option is parsed.
void add_log_level(CLI::App& app);

// A line on stderr, dimmed on a terminal; hidden where warnings are.
void note(const std::string& line);

}  // namespace graft::cli
