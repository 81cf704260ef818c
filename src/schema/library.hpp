// Opens shared libraries as they are at the moment.
#pragma once

#include <graft/abi.h>

#include <filesystem>

namespace graft {

// The entry function of the shared library in this file. The library stays loaded.
//
// The system's loader knows a library by its file: what is loaded once is not read again, and code that is mapped
// changes with its file. So a private copy of the file is loaded, in memory that has no name. The same content under
// the same path is loaded once. To tools that ask the loader (dladdr, debuggers, sanitizers) the copy has the path of
// the file, and libraries that it links with a path relative to its own ($ORIGIN) are found. With
// GRAFT_EXTENSIONS_IN_PLACE=1 the file itself is loaded, for tools that read the files of mappings (perf).
graft_entry open_library(const std::filesystem::path& file);

}  // namespace graft
