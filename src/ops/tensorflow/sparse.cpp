// Sparse tensors as lists of indices and values.
#include <graft/numeric.hpp>
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
// The number of axes, from the list of their sizes.
int64_t tf_sparse_rank(const Value& shape) {
  Shape s = shape.shape();
  if (!s.ranked() || s.rank() != 1 || !s[0].known() || s[0].value() < 1)
    unsupported("a sparse tensor of unknown rank is not supported");
  if (s[0].value() > 64) fail("expected a sparse tensor of at most 64 axes, got ", s[0]);
  return s[0].value();
}
std::vector<Value> tf_sparse_reshape(Builder& layer) {
  Value indices = layer.input(0), shape = layer.input(1), wanted = layer.input(2);
  int64_t before = tf_sparse_rank(shape), after = tf_sparse_rank(wanted);
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

// The places sorted by row, then column, and so on, and their values.
std::vector<Value> tf_sorted_places(const Value& places, const Value& values) {
  Value order = places.in().op("LexicalOrder@graft", {places});
  return {build::gather(places, order, 0), build::gather(values, order, 0)};
}
std::vector<Value> tf_sparse_reorder(Builder& layer) { return tf_sorted_places(layer.input(0), layer.input(1)); }

// Adds values up, or takes the largest one, along the axes of input 3; what has no values is 0.
template <bool largest>
Value tf_sparse_reduce(Builder& layer) {
  Value places = layer.input(0), values = layer.input(1), shape = layer.input(2);
  auto rank = static_cast<size_t>(tf_sparse_rank(shape));
  std::vector<int64_t> reduced(rank, 0), kept, gone;
  for (size_t axis : normalize_axes(tf::constant_ints(layer.input(3), "list of axes"), rank)) reduced[axis] = 1;
  for (size_t i = 0; i < rank; ++i) (reduced[i] ? gone : kept).push_back(static_cast<int64_t>(i));
  // A single result is the only element of a list.
  Value where = kept.empty()
                    ? build::fill(layer, 0, DType::i64, build::concat({build::dims(values, {0}), layer.ints({1})}, 0))
                    : build::gather(places, layer.ints(kept), 1);
  Value dims = kept.empty() ? layer.ints({1}) : build::gather(shape, layer.ints(kept), 0);
  auto scattered = [&](const Value& what, double start, std::string_view how) {
    return layer.op("ScatterNDUpdate@15", {build::broadcast(like(what, start), dims), where, what},
                    {{"reduction", std::string(how)}});
  };
  Value y = scattered(values, largest ? lowest_of(values.type()) : 0, largest ? "max" : "sum");
  if (largest) {
    Value ones = build::fill(layer, 1, DType::i32, build::dims(values, {0}));
    y = build::select(layer.op("Greater", {scattered(ones, 0, "sum"), layer.scalar(0, DType::i32)}), y, like(y, 0));
  }
  bool keep = layer.get<bool>("keep_dims", false);
  if (kept.empty()) return reshape(y, std::vector<int64_t>(keep ? rank : 0, 1));
  return keep && !gone.empty() ? unsqueeze(y, gone) : y;
}

// Inputs: places, values, shape, start, size.
std::vector<Value> tf_sparse_slice(Builder& layer) {
  Value places = layer.input(0), shape = layer.input(2), start = layer.input(3);
  Value stop = layer.op("Minimum", {start + layer.op("Minimum", {layer.input(4), shape}), shape});
  Value inside = layer.op("LogicalAnd", {layer.op("GreaterEqual", {places, start}), layer.op("Less", {places, stop})});
  Value all = layer.op("ReduceLogicalAnd", {inside, layer.ints({1})}, {{"keep_dims", false}});
  Value chosen = squeeze(layer.op("NonZero", {all}, {{"output_type", DType::i64}}), {0});
  return {build::gather(places, chosen, 0) - start, build::gather(layer.input(1), chosen, 0),
          layer.op("Maximum", {stop - start, layer.ints({0})})};
}

// Inputs: places, values and shapes of all tensors, kind by kind.
std::vector<Value> tf_sparse_concat(Builder& layer) {
  size_t count = layer.inputs() / 3;
  if (count == 0) fail("expected at least one sparse tensor, got none");
  int64_t rank = tf_sparse_rank(layer.input(2 * count));
  auto axis = static_cast<int64_t>(normalize_axis(layer.get<int64_t>("concat_dim"), static_cast<size_t>(rank)));
  std::vector<int64_t> along(static_cast<size_t>(rank), 0);
  along[static_cast<size_t>(axis)] = 1;
  Value only = layer.ints(along), offset = layer.ints(std::vector<int64_t>(along.size(), 0));
  std::vector<Value> places, values;
  for (size_t i = 0; i < count; ++i) {
    places.push_back(layer.input(i) + offset), values.push_back(layer.input(count + i));
    offset = offset + layer.input(2 * count + i) * only;
  }
  std::vector<Value> out = tf_sorted_places(build::concat(places, 0), build::concat(values, 0));
  Value others = layer.input(2 * count) * (layer.ints(std::vector<int64_t>(along.size(), 1)) - only);
  out.push_back(others + offset);
  return out;
}

}  // namespace

Definitions define_tensorflow_sparse() {
  return {
      tensorflow("SparseConcat").ignore("N").expand(tf_sparse_concat),
      tensorflow("SparseFillEmptyRows").expand(tf_sparse_fill),
      tensorflow("SparseReduceMax").expand(tf_sparse_reduce<true>),
      tensorflow("SparseReduceSum").expand(tf_sparse_reduce<false>),
      tensorflow("SparseReorder").expand(tf_sparse_reorder),
      tensorflow("SparseReshape").expand(tf_sparse_reshape),
      tensorflow("SparseSlice").expand(tf_sparse_slice),
      tensorflow("SparseTensorDenseMatMul").ignore("Tindices").expand(tf_sparse_dense_matmul),
  };
}

}  // namespace graft
