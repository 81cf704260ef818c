// Generates the files of an extension skeleton: source, build file, test cases.
#pragma once

#include "seen.hpp"

namespace graft::cli {

struct Scaffold {
  std::string library;                                     // name of the library and of the source file
  std::string source;                                      // the file with the functions to implement
  std::vector<std::pair<std::string, std::string>> files;  // name and content
  std::vector<std::string> to_write;                       // functions to implement
};

enum class Form { cpp, cpp_with_opencl, python };

// `title` is the name of the library if there are several operations.
Scaffold scaffold(const std::vector<SeenOperation>& operations, const std::string& title, Form form);

// An operation and its names in the generated source.
struct NamedOperation {
  SeenOperation seen;
  std::string type;                  // the struct of its attributes
  std::string prefix;                // of its functions
  std::vector<std::string> members;  // for each attribute
  bool python = false;
  // The message of the function that is not written yet, and what is reported then.
  std::string not_written() const;
  std::string refusal() const;
  // Whether every layer has the attribute.
  bool always(const SeenAttribute& a) const { return a.layers == seen.layers; }
};

// ---- scaffold_python.cpp ----

// The operation with attributes as Python can have them: names are identifiers, kinds those of `graft.op`.
SeenOperation for_python(SeenOperation s);
std::string python_source(const std::vector<NamedOperation>& operations);

}  // namespace graft::cli
