// Generates the files of an extension skeleton: source, build file, test cases.
#pragma once

#include "seen.hpp"

namespace graft::cli {

struct Scaffold {
  std::string library;                                     // name of the library and of the source file
  std::vector<std::pair<std::string, std::string>> files;  // name and content
  std::vector<std::string> to_write;                       // functions to implement
};

// `title` is the name of the library if there are several operations.
Scaffold scaffold(const std::vector<SeenOperation>& operations, const std::string& title);

}  // namespace graft::cli
