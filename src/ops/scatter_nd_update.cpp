#include <graft/op.hpp>

#include "scatter.hpp"

namespace graft {
namespace {

struct ScatterND {
  enum Reduction { none, sum, sub, prod, min, max } reduction = none;
  static constexpr std::tuple schema{
      attr("reduction", &ScatterND::reduction, "how an update is combined with the existing element")
          .one_of("none", "sum", "sub", "prod", "min", "max")};
};

void scatter_nd_any_run(Run& ctx, ScatterMeeting how) {
  TensorView x = ctx.input(0), where = ctx.input(1);
  if (where.rank() == 0) fail("expected indices of rank 1 or more, got a scalar");
  auto tuple = static_cast<size_t>(where.dim(where.rank() - 1));
  if (tuple > x.rank()) fail("index tuples of ", tuple, " exceed data of rank ", x.rank());
  std::vector<int64_t> indices = where.to<int64_t>(), strides = strides_of(x.dims());
  std::vector<int64_t> targets(static_cast<size_t>(count_of(where.dims().first(where.rank() - 1))), 0);
  const int64_t* next = indices.data();
  for (int64_t& t : targets)
    for (size_t i = 0; i < tuple; ++i) t += checked_index(*next++, x.dim(i)) * strides[i];
  scatter_runs(ctx, targets, count_of(x.dims().subspan(tuple)), how, true);
}
void scatter_nd_run(Run& ctx, const ScatterND& a) {
  constexpr ScatterMeeting how[] = {ScatterMeeting::none, ScatterMeeting::sum, ScatterMeeting::sub,
                                    ScatterMeeting::prod, ScatterMeeting::min, ScatterMeeting::max};
  scatter_nd_any_run(ctx, how[a.reduction]);
}
void scatter_nd4_run(Run& ctx, const NoAttributes&) { scatter_nd_any_run(ctx, ScatterMeeting::none); }

void scatter_nd_shape(Infer& ctx) {
  Shape data = ctx.shape(0), indices = ctx.shape(1), updates = ctx.shape(2);
  ctx.output(0, common_type(ctx, {0, 2}), data);
  if (indices.ranked() && indices.rank() == 0) fail("expected indices of rank 1 or more, got a scalar");
  if (!data.ranked() || !indices.ranked() || !indices[indices.rank() - 1].known()) return;
  auto tuple = static_cast<size_t>(indices[indices.rank() - 1].value());
  if (tuple > data.rank()) fail("index tuples of ", tuple, " exceed data of shape ", data);
  Shape wanted;
  for (size_t i = 0; i + 1 < indices.rank(); ++i) wanted.push_back(indices[i]);
  for (size_t i = tuple; i < data.rank(); ++i) wanted.push_back(data[i]);
  // A single update may be a 1-D tensor of one element.
  if (!(wanted.rank() == 0 && updates.ranked() && updates.elements().can_be(1))) merge(wanted, updates);
}
void scatter_nd_infer(Infer& ctx, const ScatterND& a) {
  scatter_nd_shape(ctx);
  if (a.reduction == ScatterND::none) follow_moves(ctx, a, scatter_nd_run, {0, 2}, {ctx.shape(0)});
}
void scatter_nd4_infer(Infer& ctx, const NoAttributes& a) {
  scatter_nd_shape(ctx);
  follow_moves(ctx, a, scatter_nd4_run, {0, 2}, {ctx.shape(0)});
}

Value import_scatter_nd(Builder& layer) {
  auto reduction = layer.get<std::string>("reduction", "none");
  if (reduction == "add") reduction = "sum";
  if (reduction == "mul") reduction = "prod";
  return layer.op("ScatterNDUpdate", {layer.input(0), layer.input(1), layer.input(2)}, {{"reduction", reduction}});
}

}  // namespace

Definitions define_scatter_nd_update() {
  return {
      op("ScatterNDUpdate", 4)
          .doc("Copy the data and replace the slices selected by index tuples with the updates")
          .inputs("data, indices, updates")
          .infer(scatter_nd4_infer)
          .linear()
          .reference(scatter_nd4_run),
      op<ScatterND>("ScatterNDUpdate", 15)
          .doc("Copy the data and combine the slices selected by index tuples with the updates")
          .inputs("data, indices, updates")
          .infer(scatter_nd_infer)
          .linear()
          .reference(scatter_nd_run)
          .import(onnx("ScatterND").expand(import_scatter_nd))
          .earlier(4, {{"reduction", "none"}}),
  };
}

}  // namespace graft
