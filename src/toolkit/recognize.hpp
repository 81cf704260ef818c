// The format of a model file, by its content.
#pragma once

#include <optional>

#include "import/read_extension.hpp"

namespace graft {

struct ModelFormat {
  enum Kind { framework, ir, text };
  Kind kind = framework;
  std::optional<Framework> of;  // a framework, whose models are imported; the others are graphs already

  bool is_framework() const { return kind == framework; }
  const std::string& name() const;  // "onnx", "ir", "text"
};

// Throws if the content is in none of the supported formats. Valid as long as the registry.
ModelFormat recognize(const Registry& registry, const std::string& path);

}  // namespace graft
