// Sparse tensors as lists of indices and values.
#include <graft/op.hpp>

#include "segments.hpp"

namespace graft {
namespace {

std::vector<Value> tf_sparse_fill(Builder& layer) {
  Value indices = layer.input(0), values = layer.input(1), dense = layer.input(2);
  std::vector<Value> out = layer.ops("SparseFillEmptyRows@16", {values, dense, indices, layer.input(3)}, {}, 3);
  // An element moves back by the number of empty rows before its own.
  Value fresh = layer.op("CumSum", {convert(out[2], DType::i64), layer.scalar(int64_t{0})}, {{"exclusive", true}});
  Value row = build::gather(indices, layer.scalar(int64_t{0}), 1);
  Value place = build::range(layer.scalar(int64_t{0}), tf::as_scalar(build::dims(values, {0})), DType::i64);
  out.push_back(place + build::gather(fresh, row, 0));
  return out;
}

// Row-major strides of the dense shape, `rank` numbers.
Value tf_sparse_strides(const Value& shape, int64_t rank) {
  Builder& layer = shape.in();
  std::vector<Value> strides{layer.ints({1})};
  for (int64_t axis = rank - 1; axis > 0; --axis)
    strides.insert(strides.begin(), strides[0] * build::gather(shape, layer.ints({axis}), 0));
  return build::concat(strides, 0);
}
std::vector<Value> tf_sparse_reshape(Builder& layer) {
  Value indices = layer.input(0), shape = layer.input(1), wanted = layer.input(2);
  auto rank_of = [](const Value& list) {
    Shape s = list.shape();
    if (!s.ranked() || s.rank() != 1 || !s[0].known() || s[0].value() < 1)
      unsupported("a sparse tensor of unknown rank is not supported");
    return s[0].value();
  };
  int64_t before = rank_of(shape), after = rank_of(wanted);
  auto product = [&](const Value& v) { return layer.op("ReduceProd", {v, layer.ints({0})}, {{"keep_dims", true}}); };
  Value open = layer.op("Equal", {wanted, layer.ints({-1})});
  Value left = product(shape) / product(build::select(open, layer.ints({1}), wanted));
  Value to = build::select(open, left, wanted);
  Value place =
      layer.op("ReduceSum", {indices * tf_sparse_strides(shape, before), layer.ints({1})}, {{"keep_dims", true}});
  Value out = layer.op("FloorMod", {place / tf_sparse_strides(to, after), to});
  return {out, to};
}

// Row r of the product is the sum of the rows of b selected and scaled by the elements in row r of the sparse matrix.
Value tf_sparse_dense_matmul(Builder& layer) {
  Value indices = layer.input(0), values = layer.input(1), shape = layer.input(2), b = layer.input(3);
  bool flipped = layer.get<bool>("adjoint_a", false);
  if (layer.get<bool>("adjoint_b", false)) b = transpose(b, {1, 0});
  auto column = [&](const Value& table, int64_t i) { return build::gather(table, layer.scalar(i), 1); };
  Value rows = column(indices, flipped ? 1 : 0), columns = column(indices, flipped ? 0 : 1);
  Value count = build::gather(convert(shape, DType::i64), layer.ints({flipped ? 1 : 0}), 0);
  return tf::combined_segments(build::gather(b, columns, 0) * unsqueeze(values, {1}), rows, count, "sum", 0);
}

// Pads rows of different lengths. Inputs: shape, values, default, row partition. Rows and columns beyond the shape are
// collected in an extra one, which is sliced off.
Value tf_ragged_to_tensor(Builder& layer) {
  auto kinds = layer.get<std::vector<std::string>>("row_partition_types");
  bool splits = kinds == std::vector<std::string>{"ROW_SPLITS"};
  if (!splits && kinds != std::vector<std::string>{"FIRST_DIM_SIZE", "VALUE_ROWIDS"})
    unsupported("a ragged tensor with more than one ragged axis is not supported");
  Value values = layer.input(1), n = tf::as_scalar(build::dims(values, {0})), zero = layer.scalar(int64_t{0});
  Value parts = convert(tf::as_list(layer.input(splits ? 3 : 4)), DType::i64), at = build::range(zero, n, DType::i64);
  auto search = [&](const Value& sorted, const Value& v, bool right) {
    return layer.op("SearchSorted", {sorted, v}, {{"right_mode", right}, {"output_type", DType::i64}});
  };
  Value row = splits ? search(parts, at, true) - 1 : parts;
  Value column = at - (splits ? build::gather(parts, row, 0) : search(parts, parts, false));
  auto most = [&](const Value& v) {
    return layer.op("ReduceMax", {build::concat({layer.ints({-1}), v}, 0), layer.ints({0})}, {{"keep_dims", true}});
  };
  Value rows = splits ? build::dims(parts, {0}) - 1 : convert(tf::as_list(layer.input(3)), DType::i64);
  Value columns = most(column) + 1;
  // A scalar means that the shape is unknown.
  Shape known = layer.input(0).shape();
  if (!known.ranked()) unsupported("the rank of the shape must be known");
  if (known.rank() == 1) {
    Value wanted = convert(layer.input(0), DType::i64);
    auto chosen = [&](int64_t axis, const Value& natural) {
      Value w = build::slice(wanted, 0, axis, axis + 1);
      return build::select(layer.op("Less", {w, layer.ints({0})}), natural, w);
    };
    rows = chosen(0, rows), columns = chosen(1, columns);
  }
  auto least = [&](const Value& a, const Value& b) { return unsqueeze(layer.op("Minimum", {a, b}), {1}); };
  Value places = build::concat({least(row, rows), least(column, columns)}, 1);
  Value inner = layer.op("Slice", {shape_of(values), layer.ints({1}), layer.ints({INT64_MAX}), layer.ints({1})});
  Value blank = build::broadcast(layer.input(2), build::concat({rows + 1, columns + 1, inner}, 0));
  Value y = layer.op("ScatterNDUpdate@4", {blank, places, values});
  Value first = layer.ints({0});
  return build::slice(build::slice(y, 0, first, rows), 1, first, columns);
}

}  // namespace

Definitions define_tensorflow_sparse() {
  return {
      tensorflow("RaggedTensorToTensor").ignore("num_row_partition_tensors").expand(tf_ragged_to_tensor),
      tensorflow("SparseFillEmptyRows").expand(tf_sparse_fill),
      tensorflow("SparseReshape").expand(tf_sparse_reshape),
      tensorflow("SparseTensorDenseMatMul").ignore("Tindices").expand(tf_sparse_dense_matmul),
  };
}

}  // namespace graft
