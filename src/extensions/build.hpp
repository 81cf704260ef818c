// Builds extensions from their sources: what graft new and graft extgen generate, or any CMake project like it.
#pragma once

#include <graft/app/extension_files.hpp>

namespace graft {

// As extension_project, build_extension, cmake_folder and include_folder of graft/app/extension_files.hpp.
std::optional<std::string> project_in(const std::string& folder);
std::vector<std::string> build_project(const std::string& project, const ToolOutput& output);
std::string find_cmake_folder();
std::string find_include_folder();

}  // namespace graft
