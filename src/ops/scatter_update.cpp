#include <graft/op.hpp>

#include "scatter.hpp"

namespace graft {
namespace {

void scatter_update_run(Run& ctx, const NoAttributes&) {
  TensorView x = ctx.input(0);
  size_t axis = normalize_axis(ctx.input(3).scalar<int64_t>(), x.rank());
  std::vector<int64_t> indices = ctx.input(1).to<int64_t>(), targets;
  int64_t outer = count_of(x.dims().first(axis)), n = x.dim(axis), inner = count_of(x.dims().subspan(axis + 1));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i : indices) targets.push_back((o * n + checked_index(i, n)) * inner);
  scatter_runs(ctx, targets, inner, ScatterMeeting::none, true);
}

void scatter_update_infer(Infer& ctx, const NoAttributes& a) {
  Shape data = ctx.shape(0), indices = ctx.shape(1), updates = ctx.shape(2);
  DType type = common_type(ctx, {0, 2});
  ctx.output(0, type, data);
  if (!data.ranked()) return;
  auto axis = certain_axis(ctx, 3, data.rank());
  if (axis && indices.ranked()) {
    Shape wanted;
    for (size_t i = 0; i < *axis; ++i) wanted.push_back(data[i]);
    for (const Dim& d : indices) wanted.push_back(d);
    for (size_t i = *axis + 1; i < data.rank(); ++i) wanted.push_back(data[i]);
    merge(wanted, updates);
  }
  follow_moves(ctx, a, scatter_update_run, {0, 2}, {data});
}

}  // namespace

Definitions define_scatter_update() {
  return op("ScatterUpdate", 3)
      .doc("Copy the data and replace the slices at the indices along an axis with the updates")
      .inputs("data, indices, updates, axis")
      .infer(scatter_update_infer)
      .linear()
      .reference(scatter_update_run);
}

}  // namespace graft
