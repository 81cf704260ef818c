// Layers that take elements by index, and sequences of several lengths.
#include "mxnet/building.hpp"

namespace graft {
namespace {

// Indices as MXNet treats those that are out of range.
Value mxnet_in_range(Builder& layer, const Value& indices, const Value& of, int64_t axis, const std::string& mode) {
  Value i = mx::to_indices(indices), size = dimension_of(of, axis);
  if (mode == "wrap") return layer.op("FloorMod", {i, size});
  Value top = size - layer.scalar(int64_t{1});
  return layer.op("Maximum", {layer.op("Minimum", {i, top}), layer.scalar(int64_t{0})});
}

Value import_mxnet_take(Builder& layer) {
  auto axis = mx::int_or(layer, "axis", 0);
  std::string mode = mx::word_or(layer, "mode", "clip");
  if (mode != "clip" && mode != "wrap" && mode != "raise")
    fail("expected 'mode' clip, wrap or raise, got '", mode, "'");
  Value x = layer.input(0), i = layer.input(1);
  return build::gather(x, mode == "raise" ? mx::to_indices(i) : mxnet_in_range(layer, i, x, axis, mode), axis);
}
Value import_mxnet_embedding(Builder& layer) {
  Value table = layer.input(1);
  return build::gather(table, mxnet_in_range(layer, layer.input(0), table, 0, "clip"), 0);
}
// One element of each row.
Value import_mxnet_batch_take(Builder& layer) {
  Value x = layer.input(0);
  Value i = unsqueeze(mxnet_in_range(layer, layer.input(1), x, 1, "clip"), {1});
  return squeeze(layer.op("GatherElements", {x, i}, {{"axis", 1}}), {1});
}
Value import_mxnet_pick(Builder& layer) {
  Value x = layer.input(0), i = layer.input(1);
  auto axis = mx::int_or(layer, "axis", -1);
  if (layer.has("axis") && mx::is_none(layer, "axis")) unsupported("pick without an axis is not supported");
  bool keep = mx::bool_or(layer, "keepdims", false);
  std::string mode = mx::word_or(layer, "mode", "clip");
  if (i.rank() < x.rank()) i = unsqueeze(i, {axis});
  Value y = layer.op("GatherElements", {x, mxnet_in_range(layer, i, x, axis, mode)}, {{"axis", axis}});
  return keep ? y : mx::at_least_1d(squeeze(y, {axis}));
}

// The first axis of the indices counts their components.
Value mxnet_index_rows(const Value& indices) {
  std::vector<int64_t> order = mx::axes_from(0, indices.rank());
  std::rotate(order.begin(), order.begin() + 1, order.end());
  return transpose(mx::to_indices(indices), order);
}
Value import_mxnet_gather_nd(Builder& layer) {
  return layer.op("GatherND@8", {layer.input(0), mxnet_index_rows(layer.input(1))}, {{"batch_dims", 0}});
}
Value import_mxnet_scatter_nd(Builder& layer) {
  Value x = layer.input(0);
  Value zeros = build::fill(layer, 0, x.type(), layer.ints(layer.get<std::vector<int64_t>>("shape")));
  return layer.op("ScatterNDUpdate@4", {zeros, mxnet_index_rows(layer.input(1)), x});
}

Value import_mxnet_one_hot(Builder& layer) {
  DType type = mx::element_type(layer, "dtype", DType::f32);
  auto depth = layer.get<int64_t>("depth");
  if (depth < 1) fail("expected 'depth' of 1 or more, got ", depth);
  return layer.op(
      "OneHot@1",
      {mx::to_indices(layer.input(0)), layer.scalar(depth), layer.scalar(layer.get<double>("on_value", 1), type),
       layer.scalar(layer.get<double>("off_value", 0), type)},
      {{"axis", -1}});
}

// Selects as NumPy does: shapes are aligned at their last dimension.
Value import_mxnet_numpy_where(Builder& layer) {
  Value c = layer.input(0);
  if (c.type() != DType::boolean) c = layer.op("NotEqual", {c, like(c, 0)});
  return build::select(c, layer.input(1), layer.input(2));
}
// A condition of one dimension chooses whole rows.
Value import_mxnet_where(Builder& layer) {
  Value c = layer.input(0), x = layer.input(1);
  if (c.type() != DType::boolean) c = layer.op("NotEqual", {c, like(c, 0)});
  Shape s = x.shape(), cs = c.shape();
  if (s.ranked() && cs.ranked()) {
    if (s.rank() > 1 && cs.rank() == 1) c = mx::per_channel(c, s.rank(), 0);
  } else {
    // Dimensions of 1 behind those of the condition, as many as it has fewer than x.
    Value missing = shape_of(shape_of(x)) - shape_of(shape_of(c));
    c = build::reshape(c, {shape_of(c), build::broadcast(layer.scalar(int64_t{1}), missing)});
  }
  return build::select(c, x, layer.input(2));
}
Value import_mxnet_boolean_mask(Builder& layer) {
  Value rows = layer.op("NonZero", {layer.input(1)}, {{"output_type", DType::i64}});
  return build::gather(layer.input(0), squeeze(rows, {0}), mx::int_or(layer, "axis", 0));
}

// ---- sequences, by default [steps, batch, ...] ----

struct MxnetSequence {
  Value x, lengths;  // without lengths, all steps count
  int64_t axis, batch;
};
MxnetSequence mxnet_sequence(Builder& layer) {
  MxnetSequence s{layer.input(0), {}, mx::int_or(layer, "axis", 0), 1};
  if (s.axis != 0 && s.axis != 1) fail("expected 'axis' 0 or 1, got ", s.axis);
  s.batch = 1 - s.axis;
  if (mx::bool_or(layer, "use_sequence_length", false)) s.lengths = mx::to_indices(layer.input(1));
  return s;
}

Value import_mxnet_sequence_reverse(Builder& layer) {
  MxnetSequence s = mxnet_sequence(layer);
  if (!s.lengths) return build::slice(s.x, s.axis, -1, std::numeric_limits<int64_t>::min(), -1);
  return layer.op("ReverseSequence", {s.x, s.lengths}, {{"batch_axis", s.batch}, {"seq_axis", s.axis}});
}
Value import_mxnet_sequence_last(Builder& layer) {
  MxnetSequence s = mxnet_sequence(layer);
  if (!s.lengths) return squeeze(build::slice(s.x, s.axis, -1, std::numeric_limits<int64_t>::max()), {s.axis});
  Value last = s.lengths - layer.scalar(int64_t{1});
  size_t rank = s.x.rank();
  if (rank < 2) fail("expected sequences of rank 2 or more, got shape ", s.x.shape());
  Value x = s.axis == 1 ? s.x : [&] {
    std::vector<int64_t> order = mx::axes_from(0, rank);
    std::swap(order[0], order[1]);
    return transpose(s.x, order);
  }();
  return layer.op("GatherND@8", {x, unsqueeze(last, {1})}, {{"batch_dims", 1}});
}
Value import_mxnet_sequence_mask(Builder& layer) {
  MxnetSequence s = mxnet_sequence(layer);
  double value = layer.get<double>("value", 0);
  if (!s.lengths) return s.x;
  size_t rank = s.x.rank();
  Value steps = mx::per_channel(counting(dimension_of(s.x, s.axis), DType::i64), rank, static_cast<size_t>(s.axis));
  Value inside = layer.op("Less", {steps, mx::per_channel(s.lengths, rank, static_cast<size_t>(s.batch))});
  return build::select(inside, s.x, like(s.x, value));
}

}  // namespace

Definitions define_mxnet_indexing() {
  return {
      mx::rules({"take", "_np_take"}, import_mxnet_take),
      mx::rules({"Embedding", "_contrib_SparseEmbedding"}, import_mxnet_embedding,
                {"input_dim", "output_dim", "dtype", "sparse_grad", "deterministic"}),
      mx::rules({"batch_take"}, import_mxnet_batch_take),
      mx::rules({"pick", "choose_element_0index"}, import_mxnet_pick),
      mx::rules({"gather_nd"}, import_mxnet_gather_nd),
      mx::rules({"scatter_nd"}, import_mxnet_scatter_nd),
      mx::rules({"one_hot"}, import_mxnet_one_hot),
      mx::rules({"where"}, import_mxnet_where),
      mx::rules({"_npi_where"}, import_mxnet_numpy_where),
      mx::rules({"_contrib_boolean_mask"}, import_mxnet_boolean_mask),
      mx::rules({"SequenceReverse"}, import_mxnet_sequence_reverse),
      mx::rules({"SequenceLast"}, import_mxnet_sequence_last),
      mx::rules({"SequenceMask"}, import_mxnet_sequence_mask),
  };
}

}  // namespace graft
