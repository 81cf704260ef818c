// Layers that compute shapes or only move elements.
#include <graft/op.hpp>

#include "layout.hpp"
#include "rules.hpp"

namespace graft {
namespace {

Value tf_shape(Builder& layer) {
  return layer.op("ShapeOf@3", {layer.input(0)}, {{"output_type", layer.get<DType>("out_type", DType::i32)}});
}
std::vector<Value> tf_shape_n(Builder& layer) {
  std::vector<Value> out;
  for (size_t i = 0; i < layer.inputs() && i < layer.outputs(); ++i)
    out.push_back(layer.op("ShapeOf@3", {layer.input(i)}, {{"output_type", layer.get<DType>("out_type", DType::i32)}}));
  return out;
}
Value tf_rank(Builder& layer) {
  Shape s = layer.input(0).shape();
  if (s.ranked()) return layer.scalar(static_cast<double>(s.rank()), DType::i32);
  return convert(tf::as_scalar(shape_of(shape_of(layer.input(0)))), DType::i32);
}
Value tf_size(Builder& layer) {
  Value n = layer.op("ReduceProd", {shape_of(layer.input(0)), layer.ints({0})}, {{"keep_dims", false}});
  return convert(n, layer.get<DType>("out_type", DType::i32));
}
Value tf_reshape(Builder& layer) {
  return layer.op("Reshape", {layer.input(0), layer.input(1)}, {{"special_zero", false}});
}
Value tf_squeeze(Builder& layer) {
  auto axes = layer.get<std::vector<int64_t>>("squeeze_dims", {});
  if (axes.empty()) axes = layer.get<std::vector<int64_t>>("axis", {});
  return axes.empty() ? layer.op("Squeeze@1", {layer.input(0)}) : squeeze(layer.input(0), axes);
}
Value tf_expand_dims(Builder& layer) {
  return unsqueeze(layer.input(0), {tf::constant_int(layer.input(1), "new axis")});
}
Value tf_transpose(Builder& layer) { return layer.op("Transpose", {layer.input(0), layer.input(1)}); }
Value tf_tile(Builder& layer) { return layer.op("Tile", {layer.input(0), layer.input(1)}); }
Value tf_fill(Builder& layer) { return build::broadcast(layer.input(1), layer.input(0)); }
Value tf_broadcast_to(Builder& layer) { return build::broadcast(layer.input(0), layer.input(1)); }
Value tf_broadcast_args(Builder& layer) {
  Value first = build::fill(layer, 0, DType::u8, layer.input(0));
  Value both = layer.op("Broadcast@3", {first, layer.input(1)}, {{"mode", "bidirectional"}});
  return convert(shape_of(both), layer.input(0).type());
}
Value tf_range(Builder& layer) {
  Value start = tf::as_scalar(layer.input(0)), stop = tf::as_scalar(layer.input(1));
  return layer.op("Range@4", {start, stop, tf::as_scalar(layer.input(2))}, {{"output_type", start.type()}});
}
Value tf_lin_space(Builder& layer) {
  Value start = tf::as_scalar(layer.input(0)), stop = tf::as_scalar(layer.input(1));
  Value n = tf::as_scalar(convert(layer.input(2), DType::i64)), zero = layer.scalar(int64_t{0});
  Value steps = convert(build::range(zero, n, DType::i64), start.type());
  Value gaps = convert(layer.op("Maximum", {n - 1, layer.scalar(int64_t{1})}), start.type());
  return start + steps * ((stop - start) / gaps);
}

// paddings [rank, 2] as two lists.
std::pair<Value, Value> tf_sides(const Value& paddings) {
  std::vector<Value> sides = build::split(convert(paddings, DType::i64), 1, 2);
  return {reshape(sides[0], {-1}), reshape(sides[1], {-1})};
}
Value tf_pad(Builder& layer) {
  auto [begin, end] = tf_sides(layer.input(1));
  Value x = layer.input(0), value = layer.has_input(2) ? tf::as_scalar(layer.input(2)) : like(x, 0);
  return layer.op("Pad@1", {x, begin, end, value}, {{"pad_mode", "constant"}});
}
Value tf_mirror_pad(Builder& layer) {
  auto [begin, end] = tf_sides(layer.input(1));
  auto mode = layer.get<std::string>("mode");
  if (mode != "REFLECT" && mode != "SYMMETRIC") fail("expected mode REFLECT or SYMMETRIC, got '", mode, "'");
  return layer.op("Pad@1", {layer.input(0), begin, end}, {{"pad_mode", mode == "REFLECT" ? "reflect" : "symmetric"}});
}

// TensorFlow gives block sizes and pads for the axes after the batch; ours are for all axes.
template <bool to_batch>
Value tf_space_batch(Builder& layer) {
  Value x = layer.input(0), block = tf::as_list(convert(layer.input(1), DType::i64));
  auto [begin, end] = tf_sides(layer.input(2));
  Shape b = block.shape();
  if (!b.ranked() || !b[0].known())
    unsupported("the number of block sizes is unknown, but this conversion requires it");
  Shape s = x.shape();
  if (s.ranked() && static_cast<int64_t>(s.rank()) - 1 < b[0].value())
    fail("expected at most one block size per axis after the batch for data of shape ", s, ", got ", b[0]);
  auto whole = [&](const Value& v, int64_t number) {
    std::vector<Value> parts{layer.ints({number}), v};
    if (!s.ranked())
      parts.push_back(build::broadcast(layer.ints({number}), shape_of(shape_of(x)) - layer.ints({1 + b[0].value()})));
    else if (size_t behind = s.rank() - 1 - static_cast<size_t>(b[0].value()))
      parts.push_back(layer.ints(std::vector<int64_t>(behind, number)));
    return build::concat(parts, 0);
  };
  return layer.op(to_batch ? "SpaceToBatch" : "BatchToSpace", {x, whole(block, 1), whole(begin, 0), whole(end, 0)});
}
// The old form: one block size for both spatial axes.
template <bool to_batch>
Value tf_space_batch_old(Builder& layer) {
  auto size = layer.get<int64_t>("block_size");
  auto [begin, end] = tf_sides(layer.input(1));
  auto whole = [&](const Value& v) { return build::concat({layer.ints({0}), v, layer.ints({0})}, 0); };
  return layer.op(to_batch ? "SpaceToBatch" : "BatchToSpace",
                  {layer.input(0), layer.ints({1, size, size, 1}), whole(begin), whole(end)});
}
template <bool to_space>
Value tf_depth_space(Builder& layer) {
  tf::Layout layout(layer, 2);
  return layout.out(layer.op(to_space ? "DepthToSpace" : "SpaceToDepth", {layout.in(layer.input(0))},
                             {{"block_size", layer.get<int64_t>("block_size")}, {"mode", "blocks_first"}}));
}

Value tf_reverse(Builder& layer) {  // axes
  return layer.op("Reverse", {layer.input(0), tf::as_list(layer.input(1))}, {{"mode", "index"}});
}
Value tf_reverse_mask(Builder& layer) {
  return layer.op("Reverse", {layer.input(0), layer.input(1)}, {{"mode", "mask"}});
}
Value tf_reverse_sequence(Builder& layer) {
  return layer.op("ReverseSequence", {layer.input(0), layer.input(1)},
                  {{"batch_axis", layer.get<int64_t>("batch_dim", 0)}, {"seq_axis", layer.get<int64_t>("seq_dim")}});
}
Value tf_roll(Builder& layer) {
  return layer.op("Roll", {layer.input(0), tf::as_list(layer.input(1)), tf::as_list(layer.input(2))});
}
Value tf_invert_permutation(Builder& layer) {
  Value p = layer.input(0);
  Value n = tf::as_scalar(build::dim(p, 0)), zero = layer.scalar(int64_t{0});
  Value range = convert(build::range(zero, n, DType::i64), p.type());
  return layer.op("ScatterElementsUpdate@3", {range, p, range, layer.scalar(int64_t{0})});
}

}  // namespace

namespace tf {
Value rank(Builder& layer) { return tf_rank(layer); }
Value range(Builder& layer) { return tf_range(layer); }
Value broadcast_args(Builder& layer) { return tf_broadcast_args(layer); }
Value mirror_pad(Builder& layer) { return tf_mirror_pad(layer); }
Value reverse(Builder& layer) { return tf_reverse(layer); }
Value reverse_sequence(Builder& layer) { return tf_reverse_sequence(layer); }
Value expand_dims(Builder& layer) { return tf_expand_dims(layer); }
Value space_to_batch(Builder& layer) { return tf_space_batch<true>(layer); }
Value batch_to_space(Builder& layer) { return tf_space_batch<false>(layer); }
}  // namespace tf

Definitions define_tensorflow_shape() {
  return {
      tensorflow("BatchToSpace").expand(tf_space_batch_old<false>),
      tensorflow("BatchToSpaceND").expand(tf_space_batch<false>),
      tensorflow("BroadcastArgs").expand(tf_broadcast_args),
      tensorflow("BroadcastTo").expand(tf_broadcast_to),
      tensorflow("DepthToSpace").expand(tf_depth_space<true>),
      tensorflow("ExpandDims").expand(tf_expand_dims),
      tensorflow("Fill").expand(tf_fill),
      tensorflow("InvertPermutation").expand(tf_invert_permutation),
      tensorflow("LinSpace").expand(tf_lin_space),
      tensorflow("MirrorPad").expand(tf_mirror_pad),
      tensorflow("Pad").expand(tf_pad),
      tensorflow("PadV2").expand(tf_pad),
      tensorflow("Range").expand(tf_range),
      tensorflow("Rank").expand(tf_rank),
      tensorflow("Reshape").expand(tf_reshape),
      tensorflow("Reverse").expand(tf_reverse_mask),
      tensorflow("ReverseSequence").expand(tf_reverse_sequence),
      tensorflow("ReverseV2").expand(tf_reverse),
      tensorflow("Roll").expand(tf_roll),
      tensorflow("Shape").expand(tf_shape),
      tensorflow("ShapeN").ignore("N").expand(tf_shape_n),
      tensorflow("Size").expand(tf_size),
      tensorflow("SpaceToBatch").expand(tf_space_batch_old<true>),
      tensorflow("SpaceToBatchND").expand(tf_space_batch<true>),
      tensorflow("SpaceToDepth").expand(tf_depth_space<false>),
      tensorflow("Squeeze").expand(tf_squeeze),
      tensorflow("Tile").expand(tf_tile),
      tensorflow("Transpose").expand(tf_transpose),
  };
}

}  // namespace graft
