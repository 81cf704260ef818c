// Generates the files of an extension skeleton: source, build file, test cases.
#pragma once

#include "seen.hpp"

namespace graft::cli {

struct Scaffold {
  std::string library;                                     // name of the library and of the source file
  std::vector<std::pair<std::string, std::string>> files;  // name and content
  std::vector<std::string> to_write;                       // functions to implement
};

// `title` is the name of the library if there are several operations. `gpu`: with OpenCL source.
Scaffold scaffold(const std::vector<SeenOperation>& operations, const std::string& title, bool gpu);

}  // namespace graft::cli
