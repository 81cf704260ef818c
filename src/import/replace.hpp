// Replaces sub-graphs of a framework's model by single nodes, before the import.
#pragma once

#include "base/error.hpp"
#include "import/replace_config.hpp"
#include "readers/raw.hpp"

namespace graft {

// Applies the entries one after another; each sees the result of those before it. An entry with errors changes nothing.
std::vector<ReplacementOutcome> apply_replacements(RawModel& model, const ReplacementConfig& config);

// The file's contents with missing `inputs` and `outputs` of scope entries filled in from the first instance: keys
// sorted, indented by four.
std::string updated_replacements(const RawModel& model, std::string_view json, const std::string& name,
                                 const ReplacementLimits& limits = {});

}  // namespace graft
