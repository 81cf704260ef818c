// Segment reductions: combine the rows of a tensor that have the same segment id.
#pragma once

#include "layout.hpp"

namespace graft::tf {

// Row k combines `start` and the rows of x whose id is k; `reduction` is that of ScatterNDUpdate.
inline Value combined_segments(const Value& x, const Value& ids, const Value& count, std::string_view reduction,
                               const Value& start) {
  Builder& layer = x.in();
  Value tail = layer.op("Slice", {shape_of(x), layer.ints({1}), layer.ints({INT64_MAX}), layer.ints({1})});
  Value empty = build::broadcast(start, build::concat({count, tail}, 0));
  return layer.op("ScatterNDUpdate@15", {empty, unsqueeze(ids, {-1}), x}, {{"reduction", std::string(reduction)}});
}
inline Value combined_segments(const Value& x, const Value& ids, const Value& count, std::string_view reduction,
                               double start) {
  return combined_segments(x, ids, count, reduction, like(x, start));
}

}  // namespace graft::tf
