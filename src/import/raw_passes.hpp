// Passes of extensions over a framework's model, before its import.
#pragma once

#include <graft/app/report.hpp>

#include "import/mapping.hpp"
#include "import/replace_config.hpp"
#include "readers/raw.hpp"
#include "schema/registry.hpp"

namespace graft {

struct RawPassOptions {
  bool after_replacements = false;                  // those that run after the replacements, or the others
  const ReplacementConfig* replacements = nullptr;  // for passes to handle
  std::vector<std::string> disabled;                // by name; "all" for all passes
  Limits limits;
  const LayerMapping* mapping = nullptr;  // whose layers passes are told of
};

// Runs the passes for the model's framework, in the order of registration, and verifies the model after each one that
// changed it. `taken` has an entry per replacement. Returns what each of them changed.
std::vector<RawPassEffect> run_raw_passes(RawModel& model, const Registry& registry, const RawPassOptions& options,
                                          std::vector<bool>& taken);

struct RawVerification {
  std::string_view hint;  // what to do about a value without a producer, if no other one has a similar name
  bool places = false;    // names where in the file a layer is
};
// Throws if an input or output has no producer, a value has two, the layers form a cycle, or one of `names` belongs to
// more than one layer.
void verify_raw(const RawModel& model, const std::vector<std::string>& names, const RawVerification& how);

}  // namespace graft
