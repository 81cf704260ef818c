// Checks of what the rows of ragged tensors are made of, at run time, where a framework makes them. For other runtimes
// (ConvertOptions::target) they are left out: valid values stay as they are.
#include "splits.hpp"

namespace graft {
namespace {

void row_splits_infer(Infer& ctx, const NoAttributes&) {
  rows_of_splits(ctx, 0);
  Shape splits = merge(ctx.shape(0), Shape::of_rank(1));
  if (splits[0].max() == 0) fail("expected splits that begin with 0, got none");
  ctx.output(0, ctx.type(0), splits);
}
void row_splits_run(Run& ctx, const NoAttributes&) {
  TensorView splits = ctx.input(0);
  std::vector<int64_t> list = splits.to<int64_t>();
  auto count = ctx.input(1).scalar<int64_t>();
  ctx.output(0).assign(splits_of(splits, count < 0 && !list.empty() ? list.back() : count));
}

void in_range_infer(Infer& ctx, const NoAttributes&) { ctx.output(0, ctx.type(0), ctx.shape(0)); }
void in_range_run(Run& ctx, const NoAttributes&) {
  std::vector<int64_t> indices = ctx.input(0).to<int64_t>();
  auto below = ctx.input(1).scalar<int64_t>();
  for (int64_t i : indices)
    if (i < 0 || i >= below) fail("expected indices of at least 0 and below ", below, ", got ", i);
  ctx.output(0).assign(indices);
}

}  // namespace

Definitions define_row_splits() {
  return {
      op("RowSplits", "graft")
          .doc("The splits of rows, refused unless they begin with 0, never fall and end with `count`, if that is not "
               "negative")
          .inputs("splits, count")
          .infer(row_splits_infer)
          .linear()
          .reference(row_splits_run)
          .decompose("graph (splits: i64[?], count: i64[...]) { return splits }"),
      op("IndicesInRange", "graft")
          .doc("The indices, refused unless all of them are at least 0 and below the size")
          .inputs("indices, size")
          .infer(in_range_infer)
          .linear()
          .reference(in_range_run)
          .decompose("graph (indices: i64[...], size: i64[...]) { return indices }"),
  };
}

}  // namespace graft
