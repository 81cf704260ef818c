// Opens extensions of any kind; the table of kinds is in open.cpp.
#pragma once

#include <graft/app/extension_files.hpp>

#include "schema/registry.hpp"

namespace graft {

// Throws if there is no such file, or if the folder is none of the kinds.
ExtensionKind kind_of_extension(const std::string& path);

// The definitions of an extension in a file or folder; a project is built first and may have several libraries. Their
// full paths are in the sources of the records.
std::vector<std::shared_ptr<const Records>> open_extension(const std::string& path, const ToolOutput& output = {});

}  // namespace graft
