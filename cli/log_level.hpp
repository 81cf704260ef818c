// What the program says on stderr besides its results: notes, warnings, and what --log_level asks for.
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
