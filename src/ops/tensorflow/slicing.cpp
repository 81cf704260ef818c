// Slicing, splitting, stacking, gathering and scattering.
#include <graft/op.hpp>

#include "layout.hpp"
#include "rules.hpp"

namespace graft {
namespace {

Value tf_strided_slice(Builder& layer) {
  Value begin = layer.input(1);
  Shape s = begin.shape();
  if (!s.ranked() || s.rank() != 1 || !s[0].known())
    unsupported("the number of slices is unknown, but this conversion requires it");
  auto count = static_cast<size_t>(s[0].value());
  if (count > 32) fail("expected at most 32 slices, got ", count);
  auto mask = [&](std::string_view name) {
    auto bits = static_cast<uint64_t>(layer.get<int64_t>(name, 0));
    std::vector<int64_t> list(count);
    for (size_t i = 0; i < count; ++i) list[i] = static_cast<int64_t>(bits >> i & 1);
    return list;
  };
  return layer.op("StridedSlice", {layer.input(0), begin, layer.input(2), layer.input(3)},
                  {{"begin_mask", mask("begin_mask")},
                   {"end_mask", mask("end_mask")},
                   {"new_axis_mask", mask("new_axis_mask")},
                   {"shrink_axis_mask", mask("shrink_axis_mask")},
                   {"ellipsis_mask", mask("ellipsis_mask")}});
}

// A size of -1 extends to the end.
Value tf_slice(Builder& layer) {
  Value x = layer.input(0), begin = tf::as_list(convert(layer.input(1), DType::i64)),
        size = tf::as_list(convert(layer.input(2), DType::i64));
  Value stop = begin + size;
  auto sizes = size.values<int64_t>();
  auto begins = begin.values<int64_t>();
  if (sizes && begins && sizes->size() == begins->size()) {
    std::vector<int64_t> stops;
    for (size_t i = 0; i < sizes->size(); ++i) {
      if ((*begins)[i] < 0 || (*sizes)[i] < -1)
        fail("expected a non-negative begin and a size of at least -1, got ", (*begins)[i], " and ", (*sizes)[i]);
      bool rest = (*sizes)[i] == -1 || (*begins)[i] > INT64_MAX - (*sizes)[i];
      stops.push_back(rest ? INT64_MAX : (*begins)[i] + (*sizes)[i]);
    }
    stop = layer.ints(stops);
  } else if (!sizes || std::count(sizes->begin(), sizes->end(), -1) > 0) {
    stop = build::select(layer.op("Equal", {size, layer.ints({-1})}), shape_of(x), stop);
  }
  Shape n = begin.shape();
  if (!n.ranked() || !n[0].known()) unsupported("the number of slices is unknown, but this conversion requires it");
  if (Shape s = x.shape(); s.ranked() && n[0].value() > static_cast<int64_t>(s.rank()))
    fail("expected at most ", s.rank(), " slices, one per axis, got ", n[0].value());
  if (n[0].value() > 64) fail("expected at most 64 slices, got ", n[0].value());
  return layer.op("Slice", {x, begin, stop, layer.ints(std::vector<int64_t>(static_cast<size_t>(n[0].value()), 1))});
}

std::vector<Value> tf_split(Builder& layer) {
  auto n = layer.get<int64_t>("num_split");
  if (n < 1 || n > 1 << 16) fail("expected 'num_split' of 1 to ", 1 << 16, ", got ", n);
  return build::split(layer.input(1), tf::constant_int(layer.input(0), "axis"), n);
}
std::vector<Value> tf_split_v(Builder& layer) {
  auto n = layer.get<int64_t>("num_split", 1);
  if (n < 1 || n > 1 << 16) fail("expected 'num_split' of 1 to ", 1 << 16, ", got ", n);
  Value axis = layer.scalar(tf::constant_int(layer.input(2), "axis"));
  return layer.ops("VariadicSplit", {layer.input(0), axis, tf::as_list(layer.input(1))}, {}, static_cast<size_t>(n));
}

Value tf_joined(Builder& layer, size_t first, size_t last, size_t axis) {
  std::vector<Value> parts;
  for (size_t i = first; i < last; ++i) parts.push_back(layer.input(i));
  if (parts.empty()) fail("expected at least one input to concatenate, got none");
  return build::concat(parts, tf::constant_int(layer.input(axis), "axis"));
}
Value tf_concat(Builder& layer) { return tf_joined(layer, 1, layer.inputs(), 0); }
Value tf_concat_v2(Builder& layer) { return tf_joined(layer, 0, layer.inputs() - 1, layer.inputs() - 1); }

Value tf_pack(Builder& layer) {
  auto axis = layer.get<int64_t>("axis", 0);
  std::vector<Value> parts;
  for (size_t i = 0; i < layer.inputs(); ++i) parts.push_back(unsqueeze(layer.input(i), {axis}));
  if (parts.empty()) fail("expected at least one input to pack, got none");
  return build::concat(parts, axis);
}
std::vector<Value> tf_unpack(Builder& layer) {
  auto axis = layer.get<int64_t>("axis", 0), n = layer.get<int64_t>("num");
  if (n < 1 || n > 1 << 16) fail("expected 'num' of 1 to ", 1 << 16, ", got ", n);
  std::vector<Value> parts = build::split(layer.input(0), axis, n);
  for (Value& p : parts) p = squeeze(p, {axis});
  return parts;
}

Value tf_gather(Builder& layer) {
  layer.has("validate_indices");
  return layer.op("Gather@8", {layer.input(0), layer.input(1), layer.scalar(int64_t{0})},
                  {{"batch_dims", layer.get<int64_t>("batch_dims", 0)}});
}
Value tf_gather_v2(Builder& layer) {
  return layer.op("Gather@8", {layer.input(0), layer.input(1), tf::as_scalar(layer.input(2))},
                  {{"batch_dims", layer.get<int64_t>("batch_dims", 0)}});
}
Value tf_gather_nd(Builder& layer) {
  layer.has("bad_indices_policy");
  return layer.op("GatherND@8", {layer.input(0), layer.input(1)},
                  {{"batch_dims", layer.get<int64_t>("batch_dims", 0)}});
}
// Inputs indices, updates, shape; updates with equal indices are added up.
Value tf_scatter_nd(Builder& layer) {
  layer.has("bad_indices_policy");
  Value zeros = build::fill(layer, 0, layer.input(1).type(), layer.input(2));
  return layer.op("ScatterNDUpdate@15", {zeros, layer.input(0), layer.input(1)}, {{"reduction", "sum"}});
}
Value tf_tensor_scatter_update(Builder& layer) {
  layer.has("bad_indices_policy");
  return layer.op("ScatterNDUpdate@4", {layer.input(0), layer.input(1), layer.input(2)});
}
enum class Scattered { add, sub, max, min };
template <Scattered how>
Value tf_tensor_scatter(Builder& layer) {
  layer.has("bad_indices_policy");
  constexpr std::string_view reductions[] = {"sum", "sub", "max", "min"};
  return layer.op("ScatterNDUpdate@15", {layer.input(0), layer.input(1), layer.input(2)},
                  {{"reduction", std::string(reductions[static_cast<size_t>(how)])}});
}

Value tf_one_hot(Builder& layer) {
  return layer.op(
      "OneHot@1",
      {layer.input(0), tf::as_scalar(layer.input(1)), tf::as_scalar(layer.input(2)), tf::as_scalar(layer.input(3))},
      {{"axis", layer.get<int64_t>("axis", -1)}});
}
// sparse indices, dense shape, values, default
Value tf_sparse_to_dense(Builder& layer) {
  layer.has("validate_indices");
  Value indices = layer.input(0), shape = layer.input(1), values = layer.input(2);
  Value full = build::broadcast(layer.has_input(3) ? layer.input(3) : like(values, 0), shape);
  Shape s = indices.shape();
  if (!s.ranked()) unsupported("the rank of the indices is unknown, but this conversion requires it");
  if (s.rank() == 0) indices = reshape(indices, {1, 1});
  if (s.rank() == 1) indices = unsqueeze(indices, {1});
  Value rows = build::dim(indices, 0);
  return layer.op("ScatterNDUpdate@4", {full, indices, build::broadcast(values, rows)});
}
Value tf_where(Builder& layer) {
  Value x = layer.input(0);
  Value places = layer.op("NonZero", {x}, {{"output_type", DType::i64}});
  return transpose(places, {1, 0});
}
std::vector<Value> tf_unique(Builder& layer) {
  DType index = layer.get<DType>("out_idx", DType::i32);
  std::vector<Value> out = layer.ops(
      "Unique", {layer.input(0)}, {{"sorted", false}, {"index_element_type", index}, {"count_element_type", index}}, 4);
  return {out[0], out[2], out[3]};
}

}  // namespace

namespace tf {
Value strided_slice(Builder& layer) { return tf_strided_slice(layer); }
Value slice(Builder& layer) { return tf_slice(layer); }
Value gather_nd(Builder& layer) { return tf_gather_nd(layer); }
Value scatter_nd(Builder& layer) { return tf_scatter_nd(layer); }
Value one_hot(Builder& layer) { return tf_one_hot(layer); }
Value sparse_to_dense(Builder& layer) { return tf_sparse_to_dense(layer); }
Value where(Builder& layer) { return tf_where(layer); }
Value pack(Builder& layer) { return tf_pack(layer); }
std::vector<Value> unpack(Builder& layer) { return tf_unpack(layer); }
}  // namespace tf

Definitions define_tensorflow_slicing() {
  return {
      tensorflow("Concat").ignore("N").expand(tf_concat),
      tensorflow("ConcatV2").ignore("N").expand(tf_concat_v2),
      tensorflow("Gather").expand(tf_gather),
      tensorflow("GatherNd").expand(tf_gather_nd),
      tensorflow("GatherV2").expand(tf_gather_v2),
      tensorflow("OneHot").expand(tf_one_hot),
      tensorflow("Pack").ignore("N").expand(tf_pack),
      tensorflow("ParallelConcat").ignore("N").ignore("shape").expand(tf_pack),
      tensorflow("ResourceGather").expand(tf_gather),
      tensorflow("ResourceGatherNd").expand(tf_gather_nd),
      tensorflow("ScatterNd").expand(tf_scatter_nd),
      tensorflow("Slice").expand(tf_slice),
      tensorflow("SparseToDense").expand(tf_sparse_to_dense),
      tensorflow("Split").expand(tf_split),
      tensorflow("SplitV").expand(tf_split_v),
      tensorflow("StridedSlice").expand(tf_strided_slice),
      tensorflow("TensorScatterAdd").expand(tf_tensor_scatter<Scattered::add>),
      tensorflow("TensorScatterMax").expand(tf_tensor_scatter<Scattered::max>),
      tensorflow("TensorScatterMin").expand(tf_tensor_scatter<Scattered::min>),
      tensorflow("TensorScatterSub").expand(tf_tensor_scatter<Scattered::sub>),
      tensorflow("TensorScatterUpdate").expand(tf_tensor_scatter_update),
      tensorflow("Unique").expand(tf_unique),
      tensorflow("UniqueWithCounts").expand(tf_unique),
      tensorflow("Unpack").expand(tf_unpack),
      tensorflow("Where").expand(tf_where),
  };
}

}  // namespace graft
