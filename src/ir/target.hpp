// Which runtimes an IR is for: its version, the newest opset that they have, and what is expressed in another way for
// them.
#pragma once

#include <optional>

#include "graph/graph.hpp"
#include "schema/registry.hpp"

namespace graft {

struct IrTarget {
  int version = 11;              // 10 or 11
  std::optional<int> max_opset;  // none: any
  bool numbered_only = false;    // no built-in operation of the opset "graft"
};

// The runtimes that an IR can be written for, and the passes that express operations of the opset "graft" by others.
inline constexpr std::string_view openvino_target = "openvino";
std::vector<std::string> target_passes();

// The highest number of an opset that a layer of the graph or of a body is of; 0 when there is none.
int highest_opset(const Graph& graph);

// Throws when the graph has what the target lacks, with every such layer: operations of later opsets and of the opset
// "graft", dynamic shapes in version 10. Operations of extensions and unknown ones are the user's own.
void check_target(const Graph& graph, const Registry& registry, const IrTarget& target);

// Runtime information that version 10 has no place for: nodes and ports that carry some.
size_t count_rt_info(const Graph& graph);

}  // namespace graft
