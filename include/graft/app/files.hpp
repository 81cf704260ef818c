// Files, as the library itself writes them: whole or not at all.
//
//   graft::guard_files();                       // once, in main, if the program may install signal handlers
//   graft::make_folder("out");
//   graft::write_file("out/result.json", text);
//
// Errors are thrown as graft::Error of kind io. All functions may be called from any thread.
#pragma once

#include <string>
#include <string_view>

#include "../error.hpp"

namespace graft {

// Creates a folder and its parents; one that exists is fine.
GRAFT_API void make_folder(const std::string& path);
// Writes to a temporary file beside `path`, then renames it: readers see the old file or the new one.
GRAFT_API void write_file(const std::string& path, std::string_view content);
// The content of a text file of at most `limit` bytes.
GRAFT_API std::string read_text_file(const std::string& path, size_t limit = size_t{1} << 31);

// Installs signal handlers for the whole process; the library never does so by itself. From then on:
// - A model file that another process truncates while it is mapped becomes an error instead of SIGBUS.
// - SIGINT, SIGTERM and SIGHUP remove files that are not written to their end, and then do what they did before.
GRAFT_API void guard_files();

}  // namespace graft
