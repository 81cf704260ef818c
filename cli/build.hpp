// Builds extensions from their sources: what graft new and graft extgen generate, or any CMake project like it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace graft::cli {

// The folder with CMakeLists.txt: `folder` itself, or the CPU part of what extgen wrote there. None: nothing to build.
std::optional<std::string> extension_project(const std::string& folder);

// Configures and builds the project in its folder `build`, and returns its shared libraries. The output of the tools is
// part of the error if they fail.
std::vector<std::string> build_extension(const std::string& project);

}  // namespace graft::cli
