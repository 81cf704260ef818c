// The files of an extension that is still to be written: sources, a build file, cases.
#pragma once

#include "seen.hpp"

namespace graft::cli {

struct Scaffold {
  std::string library;                                     // its name, also that of the source without its ending
  std::vector<std::pair<std::string, std::string>> files;  // name and content
  std::vector<std::string> to_write;                       // functions that wait for a formula
};

// `title` names the library where there are several operations.
Scaffold scaffold(const std::vector<SeenOperation>& operations, const std::string& title);

}  // namespace graft::cli
