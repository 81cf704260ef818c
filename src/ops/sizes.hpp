// Dimensions that must agree, and output sizes that an input names.
#pragma once

#include <graft/shapes.hpp>

namespace graft {

// The dimension that both are; refuses with "<what> <found>, <why> <wanted>".
inline Dim agree(const Dim& found, const Dim& wanted, std::string_view what, std::string_view why) {
  if (std::max(found.min(), wanted.min()) > std::min(found.max(), wanted.max()))
    fail(what, " ", found, ", ", why, " ", wanted);
  return merge(found, wanted);
}

// The sizes that input `i` lists, as far as they are known; refuses a list that is not one of `wanted` sizes.
inline std::optional<Shape> target_sizes(const NodeView& ctx, size_t i, size_t wanted) {
  Shape list = ctx.shape(i);
  if (list.ranked() && (list.rank() > 1 || !list.elements().can_be(static_cast<int64_t>(wanted))))
    fail("input ", i, " of shape ", list, " should list ", wanted, " sizes");
  std::optional<Shape> sizes = ctx.known(i);
  if (auto v = sizes ? std::nullopt : ctx.values<int64_t>(i)) {
    sizes.emplace();
    for (int64_t x : *v) sizes->push_back(Dim(graft_dim{x, x, 0, 0}));
  }
  if (!sizes) return sizes;
  for (Dim& d : *sizes) {
    if (d.max() < 0) fail("a size of ", d.max(), " is wanted");
    if (d.min() < 0) d = Dim::between(0, d.max());
  }
  return sizes;
}

}  // namespace graft
