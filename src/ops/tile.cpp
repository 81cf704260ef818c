#include <graft/kit/following.hpp>
#include <graft/kit/moves.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

void tile_run(Run& ctx, const NoAttributes&) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  std::vector<int64_t> repeats = ctx.input(1).to<int64_t>(), strides = strides_of(x.dims()), dims;
  size_t rank = std::max(x.rank(), repeats.size());
  Strided source;
  for (size_t i = 0; i < rank; ++i) {
    int64_t times = i < rank - repeats.size() ? 1 : repeats[i - (rank - repeats.size())];
    if (times < 0) fail("expected non-negative repeats, got ", times);
    dims.push_back(times), source.strides.push_back(0);
    if (i < rank - x.rank()) continue;
    size_t axis = i - (rank - x.rank());
    dims.push_back(x.dim(axis)), source.strides.push_back(strides[axis]);
  }
  move_view(y, x, source, dims);
}

void tile_infer(Infer& ctx, const NoAttributes& a) {
  Shape in = ctx.shape(0), out = Shape::unknown();
  Dim count = length_of(ctx, 1);
  auto repeats = numbers_of(ctx, 1);
  if (in.ranked() && count.known()) {
    size_t given = axes_in(count), rank = std::max(in.rank(), given);
    out = Shape::of_rank(rank);
    for (size_t i = 0; i < rank; ++i) {
      Dim size = i < rank - in.rank() ? Dim(1) : in[i - (rank - in.rank())];
      Dim times = i < rank - given ? Dim(1) : repeats ? (*repeats)[i - (rank - given)] : Dim();
      if (times.known() && times.min() < 0) fail("expected non-negative repeats, got ", times.min());
      out[i] = times.min() < 0 ? Dim() : size * times;
    }
  }
  ctx.output(0, ctx.type(0), out);
  follow_moves(ctx, a, tile_run, {0}, {out});
}

// Opset 1 repeats along a single axis; repeats and axis are both inputs.
Value import_tile1(Builder& layer) {
  Value x = layer.input(0), times = convert(layer.input(1), DType::i64), axis = convert(layer.input(2), DType::i64);
  auto rank = static_cast<int64_t>(x.rank());
  Value ones = layer.constant<int64_t>(std::vector<int64_t>(static_cast<size_t>(rank), 1), {rank});
  Value repeats =
      layer.op("ScatterElementsUpdate", {ones, reshape(axis, {1}), reshape(times, {1}), layer.scalar(int64_t{0})},
               {{"reduction", "none"}, {"use_init_val", true}});
  return layer.op("Tile", {x, repeats});
}

}  // namespace

Definitions define_tile() {
  return op("Tile", 1)
      .doc("Repeat a tensor along each axis")
      .traits(Trait::moves_data)
      .inputs("data, repeats")
      .infer(tile_infer)
      .linear()
      .reference(tile_run)
      .import(onnx("Tile").until(6).expand(import_tile1))
      .import(onnx("Tile"));
}

}  // namespace graft
