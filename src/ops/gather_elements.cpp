#include <graft/kit/following.hpp>
#include <graft/kit/moves.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct GatherElements {
  int64_t axis = 0;
  static constexpr std::tuple schema{attr("axis", &GatherElements::axis, "axis that the indices refer to").required()};
};

void gather_elements_run(Run& ctx, const GatherElements& a) {
  TensorView x = ctx.input(0), where = ctx.input(1);
  OutputView y = ctx.output(0);
  size_t axis = normalize_axis(a.axis, x.rank());
  if (where.rank() != x.rank()) fail("expected indices of rank ", x.rank(), " like the data, got rank ", where.rank());
  for (size_t i = 0; i < x.rank(); ++i)
    if (i != axis && where.dim(i) > x.dim(i))
      fail("indices of ", where.dim(i), " elements exceed a data axis of ", x.dim(i));
  std::vector<int64_t> indices = where.to<int64_t>();
  Cells from(x);
  OutputCells to(y);
  std::vector<int64_t> strides = strides_of(x.dims());
  int64_t step = strides[axis], n = x.dim(axis);
  strides[axis] = 0;
  Walk walk(where.dims(), {strides});
  if (walk.empty()) return;
  size_t cell = to.cell_size();
  unsigned char* target = to.data();
  const unsigned char* source = from.data();
  size_t i = 0;
  do {
    int64_t at = walk[0] + checked_index(indices[i], n) * step;
    std::memcpy(target + i * cell, source + static_cast<size_t>(at) * cell, cell);
    ++i;
  } while (walk.next());
  to.write_back();
}

void gather_elements_infer(Infer& ctx, const GatherElements& a) {
  Shape data = ctx.shape(0), indices = ctx.shape(1), out = indices;
  if (data.ranked()) {
    size_t axis = normalize_axis(a.axis, data.rank());
    if (indices.ranked() && indices.rank() != data.rank())
      fail("expected indices of the same rank as the data of shape ", data, ", got shape ", indices);
    if (!indices.ranked()) out = Shape::of_rank(data.rank());
    for (size_t i = 0; i < data.rank(); ++i) {
      if (i == axis) continue;
      if (out[i].min() > data[i].max())
        fail("indices of shape ", indices, " exceed the data of shape ", data, " along another axis");
      if (out[i].max() > data[i].max()) out[i] = Dim(graft_dim{out[i].min(), data[i].max(), out[i].symbol(), 0});
    }
  }
  ctx.output(0, ctx.type(0), out);
  follow_moves(ctx, a, gather_elements_run, {0}, {out});
}

}  // namespace

Definitions define_gather_elements() {
  return op<GatherElements>("GatherElements", 6)
      .doc("Gather single elements: the output position, with its coordinate along the axis replaced by the index")
      .inputs("data, indices")
      .infer(gather_elements_infer)
      .linear()
      .reference(gather_elements_run)
      .import(onnx("GatherElements").attr("axis", "axis", 0));
}

}  // namespace graft
