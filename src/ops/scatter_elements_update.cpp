#include <graft/op.hpp>

#include "scatter.hpp"

namespace graft {
namespace {

struct ScatterElements {
  enum Reduction { none, sum, prod, min, max, mean } reduction = none;
  bool use_init_val = true;
  static constexpr std::tuple schema{
      attr("reduction", &ScatterElements::reduction, "how an update is combined with the existing element")
          .one_of("none", "sum", "prod", "min", "max", "mean"),
      attr("use_init_val", &ScatterElements::use_init_val,
           "include the original element of the data in the reduction")};
};

void scatter_elements_any_run(Run& ctx, ScatterMeeting how, bool from_data) {
  TensorView x = ctx.input(0), where = ctx.input(1);
  size_t axis = normalize_axis(ctx.input(3).scalar<int64_t>(), x.rank());
  if (where.rank() != x.rank()) fail("expected indices of rank ", x.rank(), " like the data, got rank ", where.rank());
  for (size_t i = 0; i < x.rank(); ++i)
    if (i != axis && where.dim(i) > x.dim(i))
      fail("indices of ", where.dim(i), " elements exceed a data axis of ", x.dim(i));
  std::vector<int64_t> targets = where.to<int64_t>(), strides = strides_of(x.dims());
  int64_t step = strides[axis];
  strides[axis] = 0;
  Walk walk(where.dims(), {strides});
  size_t i = 0;
  if (!walk.empty()) {
    do targets[i] = walk[0] + checked_index(targets[i], x.dim(axis)) * step;
    while (++i, walk.next());
  }
  scatter_runs(ctx, targets, 1, how, from_data);
}
void scatter_elements_run(Run& ctx, const ScatterElements& a) {
  constexpr ScatterMeeting how[] = {ScatterMeeting::none, ScatterMeeting::sum, ScatterMeeting::prod,
                                    ScatterMeeting::min,  ScatterMeeting::max, ScatterMeeting::mean};
  scatter_elements_any_run(ctx, how[a.reduction], a.use_init_val);
}
void scatter_elements3_run(Run& ctx, const NoAttributes&) { scatter_elements_any_run(ctx, ScatterMeeting::none, true); }

void scatter_elements_shape(Infer& ctx) {
  Shape data = ctx.shape(0), indices = ctx.shape(1);
  merge(indices, ctx.shape(2));
  ctx.output(0, common_type(ctx, {0, 2}), data);
  if (!data.ranked()) return;
  if (indices.ranked() && indices.rank() != data.rank())
    fail("expected indices of the same rank as the data of shape ", data, ", got shape ", indices);
  auto axis = certain_axis(ctx, 3, data.rank());
  for (size_t i = 0; axis && indices.ranked() && i < data.rank(); ++i)
    if (i != *axis && indices[i].min() > data[i].max())
      fail("indices of shape ", indices, " exceed the data of shape ", data);
}
void scatter_elements_infer(Infer& ctx, const ScatterElements& a) {
  scatter_elements_shape(ctx);
  if (a.reduction == ScatterElements::none) follow_moves(ctx, a, scatter_elements_run, {0, 2}, {ctx.shape(0)});
}
void scatter_elements3_infer(Infer& ctx, const NoAttributes& a) {
  scatter_elements_shape(ctx);
  follow_moves(ctx, a, scatter_elements3_run, {0, 2}, {ctx.shape(0)});
}

Value import_scatter_elements(Builder& layer) {
  auto reduction = layer.get<std::string>("reduction", "none");
  if (reduction == "add") reduction = "sum";
  if (reduction == "mul") reduction = "prod";
  Value axis = layer.scalar(layer.get<int64_t>("axis", 0));
  return layer.op("ScatterElementsUpdate", {layer.input(0), layer.input(1), layer.input(2), axis},
                  {{"reduction", reduction}, {"use_init_val", true}});
}

void scatter_elements_as_3(Rewrite& at) {
  if (at.node().has({"reduction", "none"}))
    at.restate("ScatterElementsUpdate@3", at.all_inputs(), {"reduction", "use_init_val"});
}

}  // namespace

Definitions define_scatter_elements_update() {
  return {
      op("ScatterElementsUpdate", 3)
          .doc("Copy the data and write each update at its own position, with the coordinate along the axis replaced "
               "by the index")
          .inputs("data, indices, updates, axis")
          .infer(scatter_elements3_infer)
          .linear()
          .reference(scatter_elements3_run),
      op<ScatterElements>("ScatterElementsUpdate", 12)
          .doc("Copy the data and combine each update with the element at its own position, with the coordinate along "
               "the axis replaced by the index")
          .inputs("data, indices, updates, axis")
          .infer(scatter_elements_infer)
          .linear()
          .reference(scatter_elements_run)
          .import(onnx("ScatterElements").expand(import_scatter_elements))
          .import(onnx("Scatter").expand(import_scatter_elements))
          .earlier(scatter_elements_as_3),
  };
}

}  // namespace graft
