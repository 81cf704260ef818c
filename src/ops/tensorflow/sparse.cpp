// Sparse tensors as lists of indices and values, and segment sums: the building blocks of sparse feature embeddings.
#include "layout.hpp"

namespace graft {
namespace {

// ---- segments ----

// Row k is the sum of the rows of x whose id is k.
Value tf_sum_of_segments(const Value& x, const Value& ids, const Value& count) {
  Import& layer = x.in();
  Value tail = layer.op("Slice", {shape_of(x), layer.ints({1}), layer.ints({INT64_MAX}), layer.ints({1})});
  Value zeros = build::fill(layer, 0, x.type(), build::concat({count, tail}, 0));
  return layer.op("ScatterNDUpdate@15", {zeros, unsqueeze(ids, {-1}), x}, {{"reduction", "sum"}});
}
// The number of segments: given by the layer, otherwise the largest id + 1.
Value tf_count_of_segments(Import& layer, const Value& ids, size_t given) {
  if (layer.has_input(given)) return convert(tf::as_list(layer.input(given)), DType::i64);
  Value largest = convert(layer.op("ReduceMax", {ids, layer.ints({0})}, {{"keep_dims", true}}), DType::i64);
  return layer.op("Maximum", {largest, layer.ints({-1})}) + 1;
}
Value tf_segment_sum(Import& layer) {
  return tf_sum_of_segments(layer.input(0), layer.input(1), tf_count_of_segments(layer, layer.input(1), 2));
}

enum class Combined { sum, mean, by_root };
template <Combined how>
Value tf_sparse_segments(Import& layer) {
  layer.has("sparse_gradient");
  Value x = build::gather(layer.input(0), layer.input(1), 0), ids = layer.input(2);
  Value count = tf_count_of_segments(layer, ids, 3), sum = tf_sum_of_segments(x, ids, count);
  if (how == Combined::sum) return sum;
  // An empty segment stays 0.
  Value ones = build::fill(layer, 1, x.type(), build::concat({build::dims(x, {0}), layer.ints({1})}, 0));
  Value rows = layer.op("Maximum", {tf_sum_of_segments(ones, ids, count), like(x, 1)});
  if (how == Combined::by_root) rows = layer.op("Sqrt", {rows});
  size_t rank = x.rank();
  return sum / (rank == 2 ? rows : build::reshape_keeping(rows, [&] {
           std::vector<int64_t> dims(rank, 1);
           dims[0] = -1;
           return dims;
         }()));
}

// ---- sparse matrices ----

std::vector<Value> tf_sparse_fill(Import& layer) {
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
  Import& layer = shape.in();
  std::vector<Value> strides{layer.ints({1})};
  for (int64_t axis = rank - 1; axis > 0; --axis)
    strides.insert(strides.begin(), strides[0] * build::gather(shape, layer.ints({axis}), 0));
  return build::concat(strides, 0);
}
std::vector<Value> tf_sparse_reshape(Import& layer) {
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

}  // namespace

Ops define_tensorflow_sparse() {
  return {
      tensorflow("SegmentSum").expand(tf_segment_sum),
      tensorflow("SparseFillEmptyRows").expand(tf_sparse_fill),
      tensorflow("SparseReshape").expand(tf_sparse_reshape),
      tensorflow("SparseSegmentMean").expand(tf_sparse_segments<Combined::mean>),
      tensorflow("SparseSegmentMeanWithNumSegments").expand(tf_sparse_segments<Combined::mean>),
      tensorflow("SparseSegmentSqrtN").expand(tf_sparse_segments<Combined::by_root>),
      tensorflow("SparseSegmentSqrtNWithNumSegments").expand(tf_sparse_segments<Combined::by_root>),
      tensorflow("SparseSegmentSum").expand(tf_sparse_segments<Combined::sum>),
      tensorflow("SparseSegmentSumWithNumSegments").expand(tf_sparse_segments<Combined::sum>),
      tensorflow("UnsortedSegmentSum").expand(tf_segment_sum),
  };
}

}  // namespace graft
