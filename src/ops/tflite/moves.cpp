// Operators that move elements: reshape, slice, join, pad, gather, scatter. Quantized elements move as the integers
// they are.
#include <graft/numeric.hpp>

#include "building.hpp"
#include "tensorflow/rules.hpp"

namespace graft {
namespace {

template <Value (*f)(Builder&), size_t input = 0>
Value tfl_moved(Builder& layer) {
  return tfl::moved(layer, f(layer), input);
}

// The shape is an input or, in old files, an option.
Value tfl_reshape(Builder& layer) {
  auto shape = layer.get<std::vector<int64_t>>("new_shape", {});
  Value target = layer.has_input(1) ? tf::as_list(layer.input(1)) : layer.ints(shape);
  return layer.op("Reshape", {layer.input(0), target}, {{"special_zero", false}});
}
Value tfl_squeeze(Builder& layer) {
  auto axes = layer.get<std::vector<int64_t>>("squeeze_dims", {});
  return axes.empty() ? layer.op("Squeeze@1", {layer.input(0)}) : squeeze(layer.input(0), axes);
}
Value tfl_transpose(Builder& layer) { return layer.op("Transpose", {layer.input(0), layer.input(1)}); }
Value tfl_tile(Builder& layer) { return layer.op("Tile", {layer.input(0), layer.input(1)}); }
Value tfl_broadcast_to(Builder& layer) { return build::broadcast(layer.input(0), layer.input(1)); }
Value tfl_fill(Builder& layer) { return build::broadcast(tf::as_scalar(layer.input(1)), layer.input(0)); }
Value tfl_zeros_like(Builder& layer) { return build::fill(layer, 0, layer.input(0).type(), shape_of(layer.input(0))); }
Value tfl_shape(Builder& layer) {
  return layer.op("ShapeOf@3", {layer.input(0)}, {{"output_type", layer.get<DType>("out_type", DType::i32)}});
}

// All inputs with the steps of the result.
std::vector<Value> tfl_like_result(Builder& layer) {
  std::vector<Value> parts;
  for (size_t i = 0; i < layer.inputs(); ++i) parts.push_back(tfl::moved(layer, layer.input(i), i));
  if (parts.empty()) fail("expected at least one input, got none");
  return parts;
}
Value tfl_concatenation(Builder& layer) {
  Value y = build::concat(tfl_like_result(layer), layer.get<int64_t>("axis"));
  if (layer.get<std::string>("fused_activation_function", "NONE") == "NONE") return y;
  auto s = tfl::output_steps(layer);
  return tfl::result(layer, tfl::activated(layer, s ? tfl::dequantized(y, *s) : y));
}
Value tfl_pack(Builder& layer) {
  auto axis = layer.get<int64_t>("axis");
  layer.has("values_count");
  std::vector<Value> parts = tfl_like_result(layer);
  for (Value& p : parts) p = unsqueeze(p, {axis});
  return build::concat(parts, axis);
}
int64_t tfl_count(Builder& layer, std::string_view name) {
  auto n = layer.get<int64_t>(name);
  if (n < 1 || n > 1 << 16) fail("expected '", name, "' of 1 to ", 1 << 16, ", got ", n);
  return n;
}
std::vector<Value> tfl_each_moved(Builder& layer, std::vector<Value> parts, size_t input) {
  for (size_t i = 0; i < parts.size() && i < layer.outputs(); ++i) parts[i] = tfl::moved(layer, parts[i], input, i);
  return parts;
}
std::vector<Value> tfl_split(Builder& layer) {  // axis, data
  auto n = tfl_count(layer, "num_splits");
  return tfl_each_moved(layer, build::split(layer.input(1), tf::constant_int(layer.input(0), "axis"), n), 1);
}
std::vector<Value> tfl_split_v(Builder& layer) {  // data, lengths, axis
  auto n = tfl_count(layer, "num_splits");
  Value axis = layer.scalar(tf::constant_int(layer.input(2), "axis"));
  return tfl_each_moved(
      layer,
      layer.ops("VariadicSplit", {layer.input(0), axis, tf::as_list(layer.input(1))}, {}, static_cast<size_t>(n)), 0);
}
std::vector<Value> tfl_unpack(Builder& layer) { return tfl_each_moved(layer, tf::unpack(layer), 0); }

Value tfl_pad(Builder& layer) {
  std::vector<Value> sides = build::split(convert(layer.input(1), DType::i64), 1, 2);
  Value x = layer.input(0), value = like(x, 0);
  if (layer.has_input(2)) value = tf::as_scalar(layer.input(2));
  else if (auto s = tfl::input_steps(layer, 0); s && !s->zero.empty()) value = like(x, s->zero[0]);
  return layer.op("Pad@1", {x, reshape(sides[0], {-1}), reshape(sides[1], {-1}), value}, {{"pad_mode", "constant"}});
}
// With `offset`, the ends are counted from the begins.
Value tfl_strided_slice(Builder& layer) {
  if (!layer.get<bool>("offset", false)) return tf::strided_slice(layer);
  unsupported("a slice with ends counted from its begins is not supported");
}

Value tfl_gather(Builder& layer) {
  Value y = layer.op("Gather@8", {layer.input(0), layer.input(1), layer.scalar(layer.get<int64_t>("axis"))},
                     {{"batch_dims", layer.get<int64_t>("batch_dims", 0)}});
  return y;
}
// Rows of a table, which may be quantized while the result is not. Inputs: indices, table.
Value tfl_embedding_lookup(Builder& layer) {
  auto s = tfl::input_steps(layer, 1);
  Value y = build::gather(layer.input(1), layer.input(0), 0);
  if (!s || tfl::output_type(layer) == layer.input(1).type()) return y;
  if (s->scale.size() == 1) return tfl::dequantized(y, *s);
  // Steps per row move with the rows.
  if (s->axis != 0) return tfl::dequantized(y, *s);
  auto n = static_cast<int64_t>(s->scale.size());
  Value scale = build::gather(layer.typed(s->scale, {n}, DType::f32), layer.input(0), 0);
  std::vector<int64_t> behind;
  for (size_t i = layer.input(0).rank(); i < y.rank(); ++i) behind.push_back(static_cast<int64_t>(i));
  return convert(y, DType::f32) * (behind.empty() ? scale : unsqueeze(scale, behind));
}
// Inputs: data, update, the place of its first element. The place is moved so that the update fits.
Value tfl_dynamic_update_slice(Builder& layer) {
  Value x = layer.input(0), update = layer.input(1), start = convert(tf::as_list(layer.input(2)), DType::i64);
  size_t rank = x.rank();
  if (update.rank() != rank) fail("expected an update of rank ", rank, ", got shape ", update.shape());
  if (rank == 0) return update;
  Value room = shape_of(x) - shape_of(update), zeros = layer.ints(std::vector<int64_t>(rank, 0));
  start = layer.op("Maximum", {layer.op("Minimum", {start, room}), zeros});
  // Each index of the update, in the data.
  Value whole = shape_of(update);
  std::vector<Value> indices;
  for (size_t i = 0; i < rank; ++i) {
    auto axis = static_cast<int64_t>(i);
    Value place =
        counting(tf::as_scalar(build::dim(update, axis)), DType::i64) + build::slice(start, 0, axis, axis + 1);
    std::vector<int64_t> around;
    for (size_t k = 0; k < rank; ++k)
      if (k != i) around.push_back(static_cast<int64_t>(k));
    if (!around.empty()) place = unsqueeze(place, around);
    indices.push_back(unsqueeze(build::broadcast(place, whole), {-1}));
  }
  return layer.op("ScatterNDUpdate@4", {x, build::concat(indices, -1), update});
}

std::vector<Value> tfl_unique(Builder& layer) {
  DType index = layer.get<DType>("idx_out_type", DType::i32);
  std::vector<Value> out = layer.ops(
      "Unique", {layer.input(0)}, {{"sorted", false}, {"index_element_type", index}, {"count_element_type", index}}, 4);
  return {out[0], out[2]};
}
template <bool to_space>
Value tfl_depth_space(Builder& layer) {
  Value y = layer.op(to_space ? "DepthToSpace" : "SpaceToDepth", {tf::channels_second(layer.input(0), 2)},
                     {{"block_size", layer.get<int64_t>("block_size")}, {"mode", "blocks_first"}});
  return tf::channels_last(y, 2);
}
Value tfl_one_hot(Builder& layer) { return tf::one_hot(layer); }
Value tfl_same(Builder& layer) { return layer.input(0); }
std::vector<Value> tfl_same_all(Builder& layer) {
  std::vector<Value> all;
  for (size_t i = 0; i < layer.outputs() && i < layer.inputs(); ++i) all.push_back(layer.input(i));
  return all;
}
// The value is the same for all elements between those of the data.
Value tfl_dilate(Builder& layer) {
  Value x = layer.input(0), factors = tf::as_list(convert(layer.input(1), DType::i64)),
        filling = tf::as_scalar(layer.input(2));
  auto known = factors.values<int64_t>();
  if (!known) unsupported("expected constant dilations, got a computed value");
  if (known->size() != x.rank()) fail("expected ", x.rank(), " dilations, got ", known->size());
  for (size_t i = 0; i < known->size(); ++i) {
    int64_t d = (*known)[i];
    auto axis = static_cast<int64_t>(i);
    if (d < 1 || d > 1 << 20) fail("expected dilations of 1 to ", 1 << 20, ", got ", d);
    if (d == 1) continue;
    // A new axis behind this one holds the element and the filling, and both are merged; the last filling is cut off.
    Value wide = unsqueeze(x, {axis + 1});
    std::vector<int64_t> none(x.rank() + 1, 0), more = none;
    more[i + 1] = d - 1;
    wide = layer.op("Pad@1", {wide, layer.ints(none), layer.ints(more), filling}, {{"pad_mode", "constant"}});
    std::vector<int64_t> before, behind;
    for (int64_t k = 0; k < static_cast<int64_t>(x.rank()); ++k)
      if (k != axis) (k < axis ? before : behind).push_back(k);
    Value length = build::dim(x, axis) * static_cast<double>(d);
    std::vector<Value> dims;
    if (!before.empty()) dims.push_back(build::dims(x, before));
    dims.push_back(length);
    if (!behind.empty()) dims.push_back(build::dims(x, behind));
    x = build::slice(build::reshape(wide, dims), axis, layer.ints({0}), length - static_cast<double>(d - 1));
  }
  return x;
}

}  // namespace

Definitions define_tflite_moves() {
  Definitions ops{
      tfl::rule("BATCH_TO_SPACE_ND", tfl_moved<tf::batch_to_space>),
      tfl::rule("BROADCAST_ARGS", tf::broadcast_args),
      tfl::rule("BROADCAST_TO", tfl_moved<tfl_broadcast_to>),
      tfl::rule("CONCATENATION", tfl_concatenation),
      tfl::rule("DENSIFY", tfl_same),
      tfl::rule("DEPTH_TO_SPACE", tfl_moved<tfl_depth_space<true>>),
      tfl::rule("DILATE", tfl_dilate),
      tfl::rule("DYNAMIC_UPDATE_SLICE", tfl_moved<tfl_dynamic_update_slice>),
      tfl::rule("EMBEDDING_LOOKUP", tfl_embedding_lookup),
      tfl::rule("EXPAND_DIMS", tfl_moved<tf::expand_dims>),
      tfl::rule("FILL", tfl_moved<tfl_fill, 1>),
      tfl::rule("GATHER", tfl_moved<tfl_gather>),
      tfl::rule("GATHER_ND", tfl_moved<tf::gather_nd>),
      tfl::rule("MATRIX_DIAG", tf::matrix_diag),
      tfl::rule("MATRIX_SET_DIAG", tf::matrix_set_diag),
      tfl::rule("MIRROR_PAD", tfl_moved<tf::mirror_pad>),
      tfl::rule("ONE_HOT", tfl_one_hot),
      tfl::rule("PACK", tfl_pack),
      tfl::rule("PAD", tfl_moved<tfl_pad>),
      tfl::rule("PADV2", tfl_moved<tfl_pad>),
      tfl::rule("RANGE", tf::range),
      tfl::rule("RANK", tf::rank),
      tfl::rule("RESHAPE", tfl_moved<tfl_reshape>),
      tfl::rule("REVERSE_SEQUENCE", tfl_moved<tf::reverse_sequence>),
      tfl::rule("REVERSE_V2", tfl_moved<tf::reverse>),
      tflite("Same").domain("graft").expand(tfl_same_all),
      tfl::rule("SCATTER_ND", tf::scatter_nd),
      tfl::rule("SEGMENT_SUM", tf::segment_sum),
      tfl::rule("SHAPE", tfl_shape),
      tfl::rule("SLICE", tfl_moved<tf::slice>),
      tfl::rule("SPACE_TO_BATCH_ND", tfl_moved<tf::space_to_batch>),
      tfl::rule("SPACE_TO_DEPTH", tfl_moved<tfl_depth_space<false>>),
      tfl::rule("SPARSE_TO_DENSE", tf::sparse_to_dense),
      tfl::rule("SPLIT", tfl_split),
      tfl::rule("SPLIT_V", tfl_split_v),
      tfl::rule("SQUEEZE", tfl_moved<tfl_squeeze>),
      tfl::rule("STRIDED_SLICE", tfl_moved<tfl_strided_slice>),
      tfl::rule("TILE", tfl_moved<tfl_tile>),
      tfl::rule("TRANSPOSE", tfl_moved<tfl_transpose>),
      tfl::rule("UNIQUE", tfl_unique),
      tfl::rule("UNPACK", tfl_unpack),
      tfl::rule("UNSORTED_SEGMENT_MAX", tf::unsorted_segment_max),
      tfl::rule("UNSORTED_SEGMENT_MIN", tf::unsorted_segment_min),
      tfl::rule("UNSORTED_SEGMENT_PROD", tf::unsorted_segment_prod),
      tfl::rule("UNSORTED_SEGMENT_SUM", tf::unsorted_segment_sum),
      tfl::rule("WHERE", tf::where),
      tfl::rule("ZEROS_LIKE", tfl_zeros_like),
  };
  // Operators with complex tensors.
  struct Row {
    std::string_view type;
    Value (*import)(Builder&);
  };
  static constexpr Row rows[] = {{"ADD", tf::complex_add},
                                 {"COMPLEX", tf::make_complex},
                                 {"COMPLEX_ABS", tf::complex_abs},
                                 {"DIV", tf::complex_divide},
                                 {"EXPAND_DIMS", tf::complex_expand_dims},
                                 {"IMAG", tf::imaginary},
                                 {"MUL", tf::complex_multiply},
                                 {"REAL", tf::real},
                                 {"RESHAPE", tf::complex_reshape},
                                 {"RFFT2D", tf::rfft_2d},
                                 {"SQUEEZE", tf::complex_squeeze},
                                 {"STRIDED_SLICE", tf::complex_strided_slice},
                                 {"SUB", tf::complex_subtract},
                                 {"TRANSPOSE", tf::complex_transpose}};
  for (const Row& r : rows)
    ops += Definitions{tfl::rule(r.type, r.import)
                           .domain("complex")
                           .ignore("fused_activation_function")
                           .ignore("new_shape")
                           .ignore("offset")};
  return ops;
}

}  // namespace graft
