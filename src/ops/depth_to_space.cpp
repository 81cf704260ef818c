// DepthToSpace and SpaceToDepth: rearrange channels into spatial blocks, and back.
#include <graft/kit/moves.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct DepthSpace {
  int64_t block_size = 1;
  enum Mode { blocks_first, depth_first } mode = blocks_first;
  static constexpr std::tuple schema{
      attr("block_size", &DepthSpace::block_size, "side length of a block").at_least(1).at_most(65535),
      attr("mode", &DepthSpace::mode, "order of the channel axis: block position first or depth first")
          .one_of("blocks_first", "depth_first")
          .required()};
};

void depth_space_check(const Shape& in) {
  if (in.ranked() && in.rank() < 3) fail("expected data of shape [N, C, D1, ...], got ", in);
}
Dim depth_space_share(const Dim& d, int64_t parts, const Shape& in) {
  if (d.known() && d.value() % parts != 0) fail("expected a dimension divisible by ", parts, ", got shape ", in);
  return d / parts;
}
Dim depth_space_places(int64_t block, size_t axes) {
  Dim places = 1;
  for (size_t i = 0; i < axes; ++i) places = places * Dim(block);
  return places;
}

void depth_to_space_infer(Infer& ctx, const DepthSpace& a) {
  Shape in = ctx.shape(0), out = in;
  depth_space_check(in);
  if (in.ranked()) {
    out[1] = depth_space_share(in[1], depth_space_places(a.block_size, in.rank() - 2).max(), in);
    for (size_t i = 2; i < in.rank(); ++i) out[i] = in[i] * Dim(a.block_size);
  }
  ctx.output(0, ctx.type(0), out);
}
void space_to_depth_infer(Infer& ctx, const DepthSpace& a) {
  Shape in = ctx.shape(0), out = in;
  depth_space_check(in);
  if (in.ranked()) {
    out[1] = in[1] * depth_space_places(a.block_size, in.rank() - 2);
    for (size_t i = 2; i < in.rank(); ++i) out[i] = depth_space_share(in[i], a.block_size, in);
  }
  ctx.output(0, ctx.type(0), out);
}

// [N, b..., C, d...] or [N, C, b..., d...] becomes [N, C, d1, b1, d2, b2, ...].
void depth_to_space_run(Run& ctx, const DepthSpace& a) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  size_t axes = x.rank() - 2, block = a.mode == DepthSpace::blocks_first ? 1 : 2,
         channel = a.mode == DepthSpace::blocks_first ? axes + 1 : 1;
  std::vector<int64_t> finer(2 + axes, a.block_size);
  std::vector<size_t> order{0, channel};
  finer[0] = x.dim(0);
  finer[channel] = y.dim(1);
  for (size_t i = 0; i < axes; ++i) {
    finer.push_back(x.dim(2 + i));
    order.push_back(2 + axes + i);
    order.push_back(block + i);
  }
  move_reordered(y, x, finer, order);
}

// [N, C, d1, b1, d2, b2, ...] becomes [N, b..., C, d...] or [N, C, b..., d...].
void space_to_depth_run(Run& ctx, const DepthSpace& a) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  size_t axes = x.rank() - 2;
  std::vector<int64_t> finer{x.dim(0), x.dim(1)};
  std::vector<size_t> order{0}, plane;
  for (size_t i = 0; i < axes; ++i) {
    plane.push_back(finer.size());
    finer.push_back(x.dim(2 + i) / a.block_size);
    order.push_back(finer.size());
    finer.push_back(a.block_size);
  }
  order.insert(a.mode == DepthSpace::blocks_first ? order.end() : order.begin() + 1, 1);
  order.insert(order.end(), plane.begin(), plane.end());
  move_reordered(y, x, finer, order);
}

Value import_depth_to_space(Builder& layer) {
  auto mode = layer.get<std::string>("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") fail("expected mode DCR or CRD, got '", mode, "'");
  return layer.op(
      "DepthToSpace", {layer.input(0)},
      {{"block_size", layer.get<int64_t>("blocksize")}, {"mode", mode == "DCR" ? "blocks_first" : "depth_first"}});
}

}  // namespace

Definitions define_depth_to_space() {
  return {
      op<DepthSpace>("DepthToSpace", 1)
          .doc("Rearrange channels into blocks of the spatial axes")
          .traits(Trait::moves_data)
          .inputs("data")
          .infer(depth_to_space_infer)
          .linear()
          .reference(depth_to_space_run)
          .import(onnx("DepthToSpace").expand(import_depth_to_space)),
      op<DepthSpace>("SpaceToDepth", 1)
          .doc("Rearrange blocks of the spatial axes into channels")
          .traits(Trait::moves_data)
          .inputs("data")
          .infer(space_to_depth_infer)
          .linear()
          .reference(space_to_depth_run)
          .import(onnx("SpaceToDepth").attr("block_size", "blocksize").attr("mode", "mode", "blocks_first")),
  };
}

}  // namespace graft
