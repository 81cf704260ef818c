// Dimensions that must agree, and output sizes given by an input.
#pragma once

#include <graft/shapes.hpp>

namespace graft {

// The dimension that both must be; fails with "expected <wanted> <what> <why>, got <found>".
inline Dim agree(const Dim& found, const Dim& wanted, std::string_view what, std::string_view why) {
  if (std::max(found.min(), wanted.min()) > std::min(found.max(), wanted.max()))
    fail("expected ", wanted, " ", what, " ", why, ", got ", found);
  return merge(found, wanted);
}

// The sizes listed in input `i`, as far as they are known; fails if it does not list `wanted` sizes.
inline std::optional<Shape> target_sizes(const NodeView& ctx, size_t i, size_t wanted) {
  Shape list = ctx.shape(i);
  if (list.ranked() && (list.rank() > 1 || !list.elements().can_be(static_cast<int64_t>(wanted))))
    fail("expected ", wanted, " sizes in input ", i, ", got shape ", list);
  std::optional<Shape> sizes = ctx.known(i);
  if (auto v = sizes ? std::nullopt : ctx.values<int64_t>(i)) {
    sizes.emplace();
    for (int64_t x : *v) sizes->push_back(Dim(graft_dim{x, x, 0, 0}));
  }
  if (!sizes) return sizes;
  for (Dim& d : *sizes) {
    if (d.max() < 0) fail("expected non-negative sizes, got ", d.max());
    if (d.min() < 0) d = Dim::between(0, d.max());
  }
  return sizes;
}

}  // namespace graft
