// Sub-graphs of a framework's model that one node takes the place of, before the import.
#pragma once

#include "base/error.hpp"
#include "import/replace_config.hpp"
#include "readers/raw.hpp"

namespace graft {

// One sub-graph that an entry found.
struct ReplacementMatch {
  std::string name;                          // of the node that takes its place
  std::vector<std::string> nodes;            // in the order of the file
  std::vector<std::string> inputs, outputs;  // tensors; empty: an output that nobody reads
  std::vector<std::string> notes;            // what flows in beside the inputs
};

// What became of an entry.
struct ReplacementOutcome {
  std::string id;
  Replacement::Kind kind = Replacement::general;
  std::string op;
  std::vector<ReplacementMatch> matches;
  std::vector<std::string> missed;  // instances that matched nothing, and why
  std::vector<Error> errors;        // what contradicts the model
};

// Applies the entries one after the other; each sees what those before it left. An entry with errors changes nothing.
std::vector<ReplacementOutcome> apply_replacements(RawModel& model, const ReplacementConfig& config);

// The file's text with `inputs` and `outputs` of scope entries filled in from the first instance, where they are not
// given: keys sorted, indented by four.
std::string updated_replacements(const RawModel& model, std::string_view json, const std::string& name,
                                 const ReplacementLimits& limits = {});

}  // namespace graft
