// The Intermediate Representation: .xml and .bin, versions 10 and 11. Driven by schemas alone.
#pragma once

#include "base/limits.hpp"
#include "graph/graph.hpp"
#include "infer/complete.hpp"
#include "infer/inference.hpp"
#include "schema/registry.hpp"

namespace graft {

bool looks_like_ir(std::string_view bytes);

// `back`: what was just written, to compare it. Its weights are not hashed, and equal names of layers stay.
enum class IrReading { file, back };

// Layers of unknown operations become opaque nodes. If `weights` is empty, the .bin next to the .xml is used when it
// exists.
Graph read_ir(const std::string& xml_path, const std::string& weights_path, const Registry& registry,
              const Limits& limits = {});
// From memory.
Graph read_ir(std::string_view xml, std::string_view weights, std::shared_ptr<const void> keeper,
              const Registry& registry, const Limits& limits = {}, IrReading reading = IrReading::file);

// Writes the .xml and the .bin next to it, both or neither, after reading them back. Returns the path of the .bin.
// Version 10 has no runtime information and no result names.
std::string write_ir(const Graph& graph, const Registry& registry, const std::string& xml_path, int version = 11,
                     const Limits& limits = {});

}  // namespace graft
