// Small integer inputs in shape functions.
#pragma once

#include <graft/op.hpp>

namespace graft {

// The numbers of an integer input as far as they are known, by inference or because it is a constant; negative ones
// too.
inline std::optional<Shape> known_numbers(const NodeView& node, size_t input) {
  if (auto known = node.known(input)) return known;
  auto values = node.values<int64_t>(input);
  if (!values) return std::nullopt;
  Shape out;
  for (int64_t v : *values) out.push_back(Dim(graft_dim{v, v, 0, 0}));
  return out;
}

}  // namespace graft
