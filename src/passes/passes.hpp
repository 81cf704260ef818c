// The passes that need the whole graph at once, one file each, and their common types.
#pragma once

#include "passes/editor.hpp"
#include "passes/pass.hpp"

namespace graft {

// Records the changes of a pass.
struct Changes {
  std::vector<std::string> places;
  void at(const std::string& name) { places.push_back(name); }
};

void fold_constants(Editor& editor, Changes& changes);
void fold_quantized_weights(Editor& editor, Changes& changes);
void inline_bodies(Editor& editor, Changes& changes);
void sink_transposes(Editor& editor, Changes& changes);
void remove_dead(Editor& editor, Changes& changes);

// Runs a pass defined by a record. `call`: the entry of the replacement file, or null.
void run_rewrite(Editor& editor, const PassDef& pass, const PassOptions& options, const PassCall* call,
                 Changes& changes);

}  // namespace graft
