// The file of --transformations_config: sub-graphs, matched by scope or by points, that are replaced by single nodes.
//
//   [
//     { "id": "FoldCell", "match_kind": "scope", "instances": [".*Ridge/Cell_a"],
//       "inputs": [[{"node": "left/Conv2D$", "port": 0}]], "outputs": [{"node": "join$", "port": 0}],
//       "op": "RidgeCell", "custom_attributes": {"depth": 3} },
//     { "id": "Boxes", "match_kind": "points", "instances": {"start_points": ["logits"], "end_points": ["boxes"]} },
//     { "id": "Tail", "match_kind": "general", "custom_attributes": {"classes": 7} }
//   ]
#pragma once

#include <graft/app/read.hpp>
#include <string>
#include <vector>

#include "base/pattern.hpp"
#include "graph/attribute.hpp"

namespace graft {

// A port of a node in a scope; the node is a regular expression for the rest of its name after the instance.
struct ScopePort {
  std::string node;
  size_t port = 0;
};

struct Replacement {
  using Kind = ReplacementOutcome::Kind;
  using enum ReplacementOutcome::Kind;
  std::string id;
  Kind kind = general;
  Attributes attributes;  // nested objects under dotted paths
  std::string op;         // empty: a rule of an extension creates the nodes
  std::string json;       // the whole entry, for raw passes
  bool regions = false;   // appends region layers (published.hpp)
  // scope
  std::vector<Pattern> instances;
  bool has_inputs = false, has_outputs = false;
  std::vector<std::vector<ScopePort>> inputs;  // per input tensor, its consumers
  std::vector<ScopePort> outputs;
  // points
  std::vector<std::string> start, end;
  bool include_inputs = true, include_outputs = true;
};

struct ReplacementConfig {
  std::string file;
  std::vector<Replacement> entries;
};

struct ReplacementLimits {
  size_t bytes = size_t{16} << 20;
  int depth = 64;
  size_t values = 1'000'000;
};

ReplacementConfig read_replacements(const std::string& path, const ReplacementLimits& limits = {});
// From memory; `name` is the file name in errors.
ReplacementConfig parse_replacements(std::string_view json, const std::string& name,
                                     const ReplacementLimits& limits = {});

}  // namespace graft
