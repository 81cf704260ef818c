// Passes: small rewrites of a graph, run in a fixed order.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "infer/inference.hpp"
#include "schema/registry.hpp"

namespace graft {

struct Pass {
  std::string_view name;  // "fold_constants"
  std::string_view doc;
  // Returns how many places it changed.
  size_t (*run)(Graph& graph, const Registry& registry);
};

// In the order they run.
const std::vector<Pass>& pipeline();

struct PassEffect {
  std::string_view pass;
  size_t changes, nodes_before, nodes_after;
};

// Throws when one of them is not the name of a pass.
void check_pass_names(const std::vector<std::string>& given);

// Runs the pipeline without the passes named in `disabled`. In debug builds the graph is verified after each pass.
std::vector<PassEffect> run_passes(Graph& graph, const Registry& registry,
                                   const std::vector<std::string>& disabled = {});

}  // namespace graft
