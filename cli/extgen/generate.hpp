// Turns a specification into files: the values for each template.
#pragma once

#include "specification.hpp"

namespace graft::cli::extgen {

struct GeneratedFile {
  std::string path;  // relative to the output directory
  std::string content;
};

std::vector<GeneratedFile> extractor_files(const Extractor& e);  // extractors.cpp
// `has_extractor`: a Python layer of Caffe is found by its extractor.
std::vector<GeneratedFile> operation_files(const Operation& o, bool has_extractor);
std::vector<GeneratedFile> kernel_files(const Kernel& k);

// Everything, with the package markers of Python. Throws UsageError if the parts of the specification contradict each
// other.
struct Generated {
  std::vector<GeneratedFile> files;
  std::vector<std::string> folders;                          // to create, also if they stay empty
  std::vector<std::pair<std::string, std::string>> summary;  // what, and the folder it is in
};
Generated generate(const Specification& spec);

}  // namespace graft::cli::extgen
