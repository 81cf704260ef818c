// Frameworks whose models can be read. Each has a folder here with its reader and a function `<name>_framework`, and
// its name in GRAFT_FRAMEWORKS (CMakeLists.txt of this folder), from which the table is made. Extensions add further
// ones (graft/reader.hpp).
#pragma once

#include <functional>
#include <graft/app/read.hpp>
#include <span>

#include "readers/raw.hpp"

namespace graft {

// A file or folder that may be a model.
struct ModelCandidate {
  std::string path;
  std::string_view bytes;  // all of the file; none of a folder
  bool folder = false;
};

struct Framework {
  FrameworkTraits traits;
  // Whether it is a model of this framework, or one of the files of such a model.
  std::function<bool(const ModelCandidate&)> recognize;
  // Reads the files that the user names, the recognized one first, and those that belong to them.
  std::function<RawModel(const std::vector<std::string>& files, const ReadOptions&, const Limits&)> read;
};

// The built-in ones, in the order in which they are asked: those with the surest signs first.
std::span<const Framework> built_in_frameworks();

}  // namespace graft
