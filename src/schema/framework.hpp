// What Graft knows of a framework besides how its files are read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace graft {

// How a framework names things and lays out data.
struct Conventions {
  bool domains = false;        // layer types belong to domains (ONNX)
  bool open_outputs = false;   // layers may have further, unused outputs that the file does not list (TensorFlow)
  bool shared_names = false;   // a value may have the name of a layer that does not produce it (Caffe, in place)
  bool channels_last = false;  // images are [n, h, w, c] (TensorFlow)
};

struct FrameworkTraits {
  std::string name;                  // in rules, reports and options: "tensorflow"
  std::string title;                 // in messages: "TensorFlow"
  std::vector<std::string> aliases;  // other names in options: "tf"
  std::string files;                 // in the list of supported formats: "frozen .pb, SavedModel"
  // Of file names, lower-case: where the content is not recognized, the framework's reader reports what is wrong.
  std::vector<std::string> endings;
  Conventions conventions;
  std::string from{};  // the extension that reads its files; empty: built in
};

// In a rule: every framework.
inline constexpr std::string_view every_framework_name = "*";
// In a rule: a sub-graph that a file of replacements names.
inline constexpr std::string_view replacement_framework = "replacement";

}  // namespace graft
