// The passes that need the whole graph at once, one file each, and what they have in common.
#pragma once

#include "passes/editor.hpp"
#include "passes/pass.hpp"

namespace graft {

// What a pass did, noted as it goes.
struct Changes {
  std::vector<std::string> places;
  void at(const std::string& name) { places.push_back(name); }
};

void fold_constants(Editor& editor, Changes& changes);
void inline_bodies(Editor& editor, Changes& changes);
void sink_transposes(Editor& editor, Changes& changes);
void remove_dead(Editor& editor, Changes& changes);

// Runs a pass that is a record. `call`: what the replacement file says, or null.
void run_rewrite(Editor& editor, const PassDef& pass, const PassOptions& options, const PassCall* call,
                 Changes& changes);

}  // namespace graft
