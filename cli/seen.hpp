// Collects the unknown layers of a model: one operation per type, ready for scaffolding.
#pragma once

#include <graft/app/report.hpp>
#include <set>

namespace graft::cli {

// One attribute over all layers of a type.
struct SeenAttribute {
  std::string path;  // the framework's name for it
  std::string name;  // the operation's name for it
  graft_kind kind = GRAFT_NONE;
  std::vector<std::string> values;  // the first few, as strings
  Attribute example;                // of the first layer that has it
  size_t layers = 0;                // that have it
};

// An output over all layers of a type, as far as the model declares it.
struct SeenOutput {
  Info info;  // what all layers declare; undefined and unknown where they do not, or differ
  bool input_type = false, input_shape = false;  // those of input SeenOperation::like, in every layer
};

struct SeenOperation {
  std::string type, opset;
  std::string framework,
      domain;  // of the import rule; no framework: the operation is found by its name, without a rule
  bool built_in_framework = true;  // rule.hpp has a function of its name
  std::vector<SeenAttribute> attributes;
  std::vector<std::pair<std::string, std::string>>
      other_fields;  // fields that cannot be attributes: name and description
  size_t most_inputs = 1, least_inputs = 1, outputs = 1, layers = 1;
  size_t weights = 0;                        // number of trailing inputs that are weights, in all layers
  std::vector<std::string> input_names;      // of the operator's schema; none: unknown
  std::set<size_t> left_out;                 // inputs that some layer omits
  std::vector<std::optional<Info>> example;  // inputs of the first layer
  std::optional<size_t> like;                // the first input that every layer has
  std::vector<SeenOutput> declared = {{}};   // per output
};

// `framework` is the one of the import rule.
SeenOperation seen(const UnknownType& unknown, const std::string& framework);

}  // namespace graft::cli
