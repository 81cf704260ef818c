// Passes: small rewrites of a graph, run in order.
//
// Most are written with graft/pass.hpp, as in an extension, and are in src/rewrites; a few need the whole graph at once
// and are here. pipeline.cpp defines the order.
#pragma once

#include <functional>
#include <graft/app/explain.hpp>

#include "base/limits.hpp"
#include "graph/graph.hpp"
#include "schema/registry.hpp"

namespace graft {

// An entry of kind "general" of a replacement file: a pass and its parameters.
struct PassCall {
  std::string pass;
  std::string file;  // that contains the entry
  Attributes attributes;
};

// Front passes run as soon as a model is read, before unknown layers are reported; middle and back passes when it is
// converted or compiled (`others`); passes of phase "write" after them when it is written as IR (`writing`), and those
// of phase "compile" when it is compiled for `PassOptions::device` (`compiling`).
enum class PassPhases { front, others, writing, compiling };

struct PassOptions {
  PassPhases phases = PassPhases::others;
  std::string device;                                    // that the graph is compiled for
  std::vector<std::string> disabled;                     // by name; "all" for all passes
  std::vector<std::string> enabled;                      // passes that run only on request
  std::function<bool(const std::string& name)> is_kept;  // nodes that no rewrite may change; empty: none
  std::vector<PassCall> calls;
  Limits limits;
  Unfolded* unfolded = nullptr;  // filled in, if given
};

// Names of the built-in passes, in the order they run.
std::vector<std::string> built_in_passes();

// In the order they run. Throws when passes of extensions contradict each other.
std::vector<PassInfo> list_passes(const Registry& registry);

// Throws on an unknown pass name.
void check_pass_names(const Registry& registry, const std::vector<std::string>& given);

// Runs them all, in bodies of nodes too. In debug builds the graph is verified after each pass.
std::vector<PassEffect> run_passes(Graph& graph, const Registry& registry, const PassOptions& options = {});

}  // namespace graft
