// Rows of different lengths as a list of values and splits: row i has the values from split i up to split i + 1.
#pragma once

#include <graft/op.hpp>

namespace graft {

inline void check_splits_type(DType t) {
  if (t != DType::i32 && t != DType::i64) fail("expected splits of type i32 or i64, got ", t);
}
// The number of rows, one less than the splits.
inline Dim rows_of_splits(const NodeView& ctx, size_t input) {
  Shape s = merge(ctx.shape(input), Shape::of_rank(1));
  if (DType t = ctx.type(input); t != DType::undefined) check_splits_type(t);
  return s[0].max() == 0 ? Dim(0) : s[0] - 1;
}
// Splits that begin with 0, never fall and end with the number of values.
inline std::vector<int64_t> splits_of(const TensorView& list, int64_t values) {
  std::vector<int64_t> splits = list.to<int64_t>();
  if (splits.empty() || splits.front() != 0)
    fail("expected splits that begin with 0, got ", splits.empty() ? "none" : text(splits.front()));
  for (size_t i = 1; i < splits.size(); ++i)
    if (splits[i] < splits[i - 1])
      fail("expected splits that do not fall, got ", splits[i - 1], " and then ", splits[i]);
  if (splits.back() != values)
    fail("expected splits that end with the number of values, ", values, ", got ", splits.back());
  return splits;
}
// A new 1-D output of integers.
inline void store_list(Run& ctx, size_t output, const std::vector<int64_t>& values) {
  if (ctx.output_used(output)) ctx.allocate(output, {static_cast<int64_t>(values.size())}).assign(values);
}

}  // namespace graft
