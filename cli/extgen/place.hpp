// Puts generated files into the output directory: all of them or, after an error, none.
#pragma once

#include "generate.hpp"

namespace graft::cli::extgen {

// Which of the files exist with another content, relative to `folder`. Throws if a file or folder is in the way.
std::vector<std::string> existing_files(const Generated& g, const std::string& folder);

// `kept`: files to leave as they are. Files that exist with the same content stay, too.
void place(const Generated& g, const std::string& folder, const std::vector<std::string>& kept);

}  // namespace graft::cli::extgen
