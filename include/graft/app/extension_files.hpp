// Extensions in files and folders: what each is, and building those that are sources.
//
//   if (auto project = graft::extension_project("twist"))
//     for (const std::string& library : graft::build_extension(*project)) std::puts(library.c_str());
//
// Core::add_extension does this by itself. Thread-safe; a folder is built by one process at a time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../error.hpp"

namespace graft {

enum class ExtensionKind {
  library,          // shared library
  custom_layers,    // .xml that describes kernels for GPU or VPU
  python,           // .py
  project,          // folder with CMakeLists.txt: built, then its libraries are loaded
  model_optimizer,  // folder of Python extensions for the Model Optimizer: ops/, front/, middle/, back/
};

// Throws Error if there is no such file, or if the folder is none of these.
GRAFT_API ExtensionKind extension_kind(const std::string& path);

// The folder with CMakeLists.txt: `folder` itself, or the CPU part of what `graft extgen` wrote there. None: nothing to
// build.
GRAFT_API std::optional<std::string> extension_project(const std::string& folder);

// What CMake and the compiler print if they fail.
using ToolOutput = std::function<void(std::string_view)>;
// Configures and builds the project in its folder `build`, and returns its shared libraries. Without `output`, what the
// tools print is part of the error if they fail.
GRAFT_API std::vector<std::string> build_extension(const std::string& project, const ToolOutput& output = {});

// The directory of GraftConfig.cmake, and of the headers: it has a folder graft. They are found beside this library.
GRAFT_API std::string cmake_folder();
GRAFT_API std::string include_folder();

}  // namespace graft
