// Replaces sub-graphs of a framework's model by single nodes, before the import.
#pragma once

#include "base/error.hpp"
#include "import/replace_config.hpp"
#include "readers/raw.hpp"

namespace graft {

// One sub-graph matched by an entry.
struct ReplacementMatch {
  std::string name;                          // of the node that replaces it
  std::vector<std::string> nodes;            // in the order of the file
  std::vector<std::string> inputs, outputs;  // tensors; empty: an unused output
  std::vector<std::string> notes;            // values that enter the sub-graph besides its inputs
};

// The outcome of an entry.
struct ReplacementOutcome {
  std::string id;
  Replacement::Kind kind = Replacement::general;
  std::string op;
  std::vector<ReplacementMatch> matches;
  std::vector<std::string> missed;  // instances that matched nothing, and why
  std::vector<Error> errors;        // contradictions between entry and model
};

// Applies the entries one after another; each sees the result of those before it. An entry with errors changes nothing.
std::vector<ReplacementOutcome> apply_replacements(RawModel& model, const ReplacementConfig& config);

// The file's contents with missing `inputs` and `outputs` of scope entries filled in from the first instance: keys
// sorted, indented by four.
std::string updated_replacements(const RawModel& model, std::string_view json, const std::string& name,
                                 const ReplacementLimits& limits = {});

}  // namespace graft
