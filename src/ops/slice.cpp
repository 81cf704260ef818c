// Slice and SliceScatter: read or write a part of a tensor.
#include <graft/kit/following.hpp>
#include <graft/kit/moves.hpp>
#include <graft/op.hpp>

#include "slicing.hpp"

namespace graft {
namespace {

// The sliced part as a box in `data`, and its dimensions.
Strided slice_box(Run& ctx, size_t first, TensorView data, std::vector<int64_t>& dims) {
  std::vector<int64_t> start = ctx.input(first).to<int64_t>(), stop = ctx.input(first + 1).to<int64_t>(),
                       step = ctx.input(first + 2).to<int64_t>(), axes;
  if (ctx.has_input(first + 3)) axes = ctx.input(first + 3).to<int64_t>();
  else
    for (size_t i = 0; i < start.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (stop.size() != start.size() || step.size() != start.size() || axes.size() != start.size())
    fail("expected one start, stop and step per axis (", axes.size(), ")");
  dims.assign(data.dims().begin(), data.dims().end());
  Strided box = dense_box(data.dims());
  std::vector<size_t> where = normalize_axes(axes, data.rank());
  std::vector<bool> seen(data.rank(), false);
  for (size_t i = 0; i < where.size(); ++i) {
    if (seen[where[i]]) fail("axis ", where[i], " is sliced twice");
    seen[where[i]] = true;
    Cut c = cut_of(data.dim(where[i]), start[i], stop[i], step[i]);
    box.offset += c.first * box.strides[where[i]];
    box.strides[where[i]] *= c.step;
    dims[where[i]] = c.count;
  }
  return box;
}

void slice_run(Run& ctx, const NoAttributes&) {
  std::vector<int64_t> dims;
  Strided box = slice_box(ctx, 1, ctx.input(0), dims);
  move_view(ctx.output(0), ctx.input(0), box, dims);
}

void slice_infer(Infer& ctx, const NoAttributes& a) {
  Shape out = cut_shape(ctx, 1, ctx.shape(0));
  ctx.output(0, ctx.type(0), out);
  follow_moves(ctx, a, slice_run, {0}, {out});
}

void slice_scatter_run(Run& ctx, const NoAttributes&) {
  TensorView x = ctx.input(0), part = ctx.input(1);
  OutputView y = ctx.output(0);
  std::vector<int64_t> dims;
  Strided box = slice_box(ctx, 2, x, dims);
  if (!std::equal(dims.begin(), dims.end(), part.dims().begin(), part.dims().end()))
    fail("expected updates of shape ", dims, ", got ", part.info().shape);
  Cells data(x), updates(part);
  OutputCells to(y);
  copy_box(y.dims(), to.cell_size(), to.data(), dense_box(y.dims()), data.data(), dense_box(y.dims()));
  copy_box(dims, to.cell_size(), to.data(), box, updates.data(), dense_box(dims));
  to.write_back();
}
void slice_scatter_infer(Infer& ctx, const NoAttributes& a) {
  Shape data = ctx.shape(0);
  merge(cut_shape(ctx, 2, data), ctx.shape(1));
  ctx.output(0, common_type(ctx, {0, 1}), data);
  follow_moves(ctx, a, slice_scatter_run, {0, 1}, {data});
}

// ---- ONNX ----

// Ones, as many as `list` has elements.
Value slice_ones_like(Builder& layer, Value list) {
  Shape s = list.shape();
  DType type = list.type();
  if (s.ranked() && s.rank() == 1 && s[0].known())
    return layer.typed(std::vector<double>(axes_in(s[0]), 1.0), {s[0].value()}, type);
  return layer.op("Broadcast@3", {layer.scalar(1, type), shape_of(list)}, {{"mode", "numpy"}});
}

Value import_slice(Builder& layer) {
  Value start = layer.input(1), stop = layer.input(2);
  Value step = layer.has_input(4) ? layer.input(4) : slice_ones_like(layer, start);
  if (layer.has_input(3)) return layer.op("Slice", {layer.input(0), start, stop, step, layer.input(3)});
  return layer.op("Slice", {layer.input(0), start, stop, step});
}
Value import_slice_attributes(Builder& layer) {
  auto start = layer.get<std::vector<int64_t>>("starts"), stop = layer.get<std::vector<int64_t>>("ends");
  Value step = layer.ints(std::vector<int64_t>(start.size(), 1));
  std::vector<Value> inputs{layer.input(0), layer.ints(start), layer.ints(stop), step};
  if (layer.has("axes")) inputs.push_back(layer.ints(layer.get<std::vector<int64_t>>("axes")));
  return layer.op("Slice", inputs);
}

}  // namespace

Definitions define_slice() {
  return {
      op("Slice", 8)
          .doc("Slice start:stop:step of each axis")
          .traits(Trait::moves_data)
          .inputs("data, start, stop, step, axes?")
          .infer(slice_infer)
          .linear()
          .reference(slice_run)
          .import(onnx("Slice").until(10).expand(import_slice_attributes))
          .import(onnx("Slice").expand(import_slice)),
      op("SliceScatter", 15)
          .doc("Copy the data and replace the slice start:stop:step of each axis with the updates")
          .inputs("data, updates, start, stop, step, axes?")
          .infer(slice_scatter_infer)
          .linear()
          .reference(slice_scatter_run),
  };
}

}  // namespace graft
