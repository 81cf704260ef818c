// Log output on stderr: notes, warnings, and messages enabled by --log_level.
#pragma once

#include <CLI/CLI.hpp>

namespace graft::cli {

// Prints log messages of the library to stderr, one per line: "warning: ...".
void log_to_stderr();
// --log_level; takes effect as soon as the option is parsed.
void add_log_level(CLI::App& app);

// Prints a line to stderr, dimmed on a terminal; hidden if warnings are.
void note(const std::string& line);
void note_all(const std::vector<std::string>& lines);
// Logs a warning of the program itself.
void warn(const std::string& message);

}  // namespace graft::cli
