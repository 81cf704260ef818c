// Segment reductions, bin counts and embeddings of sparse features.
#include "segments.hpp"

#include <graft/numeric.hpp>
#include <graft/op.hpp>

#include "rules.hpp"

namespace graft {
namespace {

enum class Combined { sum, mean, by_root, prod, max, min };

// The initial value of a segment.
Value tf_segment_start(const Value& x, Combined how) {
  Builder& layer = x.in();
  switch (how) {
    case Combined::prod: return like(x, 1);
    case Combined::max: return like(x, lowest_of(x.type()));
    case Combined::min:
      if (is_real(x.type())) return like(x, -lowest_of(x.type()));
      if (x.type() == DType::i64) return layer.scalar(INT64_MAX);
      if (x.type() == DType::u64) return layer.constant<uint64_t>({UINT64_MAX}, {});
      return like(x, std::ldexp(1.0, bits_of(x.type()) - is_signed_integer(x.type())) - 1);
    default: return like(x, 0);
  }
}
std::string_view tf_reduction(Combined how) {
  return how == Combined::prod ? "prod" : how == Combined::max ? "max" : how == Combined::min ? "min" : "sum";
}

// The number of segments: given by the layer, otherwise the largest id + 1.
Value tf_count_of_segments(Builder& layer, const Value& ids, size_t given) {
  if (layer.has_input(given)) return convert(tf::as_list(layer.input(given)), DType::i64);
  Value largest = convert(layer.op("ReduceMax", {ids, layer.ints({0})}, {{"keep_dims", true}}), DType::i64);
  return layer.op("Maximum", {largest, layer.ints({-1})}) + 1;
}
// The number of rows per segment, with the rank of x.
Value tf_rows_of_segments(const Value& x, const Value& ids, const Value& count) {
  Builder& layer = x.in();
  Value ones = build::fill(layer, 1, x.type(), build::dims(x, {0}));
  Value rows = tf::combined_segments(ones, ids, count, "sum", 0);
  std::vector<int64_t> dims(x.rank(), 1);
  dims[0] = -1;
  return build::reshape_keeping(rows, dims);
}

// Sorted ids. An empty segment yields 0, or 1 for products.
template <Combined how>
Value tf_segment(Builder& layer) {
  Value x = layer.input(0), ids = layer.input(1), count = tf_count_of_segments(layer, ids, 2);
  Value y = tf::combined_segments(x, ids, count, tf_reduction(how), tf_segment_start(x, how));
  if (how == Combined::sum || how == Combined::prod) return y;
  Value rows = tf_rows_of_segments(x, ids, count);
  if (how == Combined::mean) return y / layer.op("Maximum", {rows, like(x, 1)});
  return build::select(layer.op("Greater", {rows, like(x, 0)}), y, like(x, 0));
}

// Merges the leading axes that the ids cover into one.
Value tf_rows_like(const Value& x, const Value& ids) {
  auto axes = static_cast<int64_t>(ids.rank());
  if (axes == 1) return x;
  Builder& layer = x.in();
  Value tail = layer.op("Slice", {shape_of(x), layer.ints({axes}), layer.ints({INT64_MAX}), layer.ints({1})});
  Value rows = layer.op("ReduceProd", {shape_of(ids), layer.ints({0})}, {{"keep_dims", true}});
  return build::reshape(x, {rows, tail});
}
// Unsorted ids, whose shape is a prefix of that of the data; rows with a negative id are dropped.
template <Combined how>
Value tf_unsorted_segment(Builder& layer) {
  Value x = layer.input(0), ids = convert(layer.input(1), DType::i64);
  Value count = convert(tf::as_list(layer.input(2)), DType::i64);
  x = tf_rows_like(x, ids), ids = tf::as_list(ids);
  // They are collected in an extra segment, which is sliced off.
  Value place = build::select(layer.op("Less", {ids, layer.ints({0})}), count, ids);
  Value y = tf::combined_segments(x, place, count + 1, tf_reduction(how), tf_segment_start(x, how));
  return build::slice(y, 0, layer.ints({0}), count);
}

// Inputs: data, indices, ids.
template <Combined how>
Value tf_sparse_segments(Builder& layer) {
  layer.has("sparse_gradient");
  Value x = build::gather(layer.input(0), layer.input(1), 0), ids = layer.input(2);
  Value count = tf_count_of_segments(layer, ids, 3), sum = tf::combined_segments(x, ids, count, "sum", 0);
  if (how == Combined::sum) return sum;
  // An empty segment stays 0.
  Value rows = layer.op("Maximum", {tf_rows_of_segments(x, ids, count), like(x, 1)});
  return sum / (how == Combined::by_root ? layer.op("Sqrt", {rows}) : rows);
}

// The number of occurrences of each value below `size`, or the sum of their weights. Larger values are collected in an
// extra bin, which is sliced off.
Value tf_counted(const Value& numbers, const Value& size, const Value& weights, bool only_whether) {
  Builder& layer = numbers.in();
  Value place = layer.op("Minimum", {numbers, size});
  return tf::combined_segments(weights, place, size + 1, only_whether ? "max" : "sum", 0);
}
Value tf_weights(Builder& layer, size_t input, const Value& numbers, bool only_whether) {
  Value weights = layer.input(input);
  Dim n = weights.shape().elements();
  if (!n.known()) unsupported("a data-dependent number of weights is not supported");
  if (n.value() == 0 || only_whether) return build::fill(layer, 1, weights.type(), shape_of(numbers));
  return weights;
}
// Counted row by row, in the row of each number: each has its own range of bins.
Value tf_counted_rows(const Value& numbers, const Value& row, const Value& rows, const Value& size,
                      const Value& weights, bool only_whether) {
  Builder& layer = numbers.in();
  Value place = reshape(layer.op("Minimum", {numbers, size}) + row * (size + 1), {-1});
  Value y = tf::combined_segments(reshape(weights, {-1}), place, rows * (size + 1), only_whether ? "max" : "sum", 0);
  return build::slice(build::reshape(y, {rows, size + 1}), 1, layer.ints({0}), size);
}
// Inputs: input, size, weights. A matrix is counted row by row.
Value tf_dense_bincount(Builder& layer) {
  bool binary = layer.get<bool>("binary_output", false);
  Value x = convert(layer.input(0), DType::i64), size = convert(tf::as_list(layer.input(1)), DType::i64);
  Value weights = tf_weights(layer, 2, x, binary);
  if (x.rank() > 2) fail("expected an input of rank 1 or 2, got rank ", x.rank());
  if (x.rank() < 2)
    return build::slice(tf_counted(tf::as_list(x), size, tf::as_list(weights), binary), 0, layer.ints({0}), size);
  Value rows = build::dims(x, {0}), row = build::range(layer.scalar(int64_t{0}), tf::as_scalar(rows), DType::i64);
  return tf_counted_rows(x, unsqueeze(row, {1}), rows, size, weights, binary);
}
// Inputs: splits, values, size, weights.
Value tf_ragged_bincount(Builder& layer) {
  bool binary = layer.get<bool>("binary_output", false);
  Value splits = convert(layer.input(0), DType::i64), x = convert(layer.input(1), DType::i64);
  Value size = convert(tf::as_list(layer.input(2)), DType::i64), weights = tf_weights(layer, 3, x, binary);
  Value at = build::range(layer.scalar(int64_t{0}), tf::as_scalar(build::dims(x, {0})), DType::i64);
  Value row = layer.op("SearchSorted", {splits, at}, {{"right_mode", true}, {"output_type", DType::i64}}) - 1;
  return tf_counted_rows(x, row, build::dims(splits, {0}) - 1, size, weights, binary);
}
Value tf_bincount(Builder& layer) {
  Value x = reshape(convert(layer.input(0), DType::i64), {-1});
  Value size = convert(tf::as_list(layer.input(1)), DType::i64), weights = tf_weights(layer, 2, x, false);
  return build::slice(tf_counted(x, size, reshape(weights, {-1}), false), 0, layer.ints({0}), size);
}

// Inputs: values, their range [low, high], number of bins. Values outside are counted in the first or last bin.
Value tf_histogram(Builder& layer) {
  Value x = reshape(layer.input(0), {-1}), range = convert(layer.input(1), x.type());
  Value bins = convert(tf::as_list(layer.input(2)), DType::i64), last = convert(bins - 1, x.type());
  Value low = build::slice(range, 0, 0, 1), high = build::slice(range, 0, 1, 2);
  Value place = (x - low) / ((high - low) / convert(bins, x.type()));
  place = layer.op("Maximum", {layer.op("Minimum", {place, last}), like(x, 0)});
  DType type = layer.get<DType>("dtype", DType::i32);
  Value ones = build::fill(layer, 1, type, shape_of(x));
  return tf::combined_segments(ones, convert(place, DType::i64), bins, "sum", 0);
}

// Inputs: data, partitions. Outputs: the rows of each partition.
std::vector<Value> tf_dynamic_partition(Builder& layer) {
  auto count = layer.get<int64_t>("num_partitions");
  if (count < 1 || count > 1 << 16) fail("expected attribute 'num_partitions' of 1 to 65536, got ", count);
  Value ids = layer.input(1), x = tf_rows_like(layer.input(0), ids), flat = tf::as_list(ids);
  std::vector<Value> out;
  for (int64_t i = 0; i < count; ++i) {
    Value mine = layer.op("Equal", {flat, like(flat, static_cast<double>(i))});
    Value places = squeeze(layer.op("NonZero", {mine}, {{"output_type", DType::i64}}), {0});
    out.push_back(build::gather(x, places, 0));
  }
  return out;
}
// Inputs: tensors of indices, then of data. Row i of the output is the data with index i; the last duplicate wins.
Value tf_dynamic_stitch(Builder& layer) {
  size_t count = layer.inputs() / 2;
  if (count == 0) fail("expected at least one tensor to stitch, got none");
  std::vector<Value> ids, rows;
  for (size_t i = 0; i < count; ++i) {
    ids.push_back(convert(tf::as_list(layer.input(i)), DType::i64));
    rows.push_back(tf_rows_like(layer.input(count + i), layer.input(i)));
  }
  Value places = build::concat(ids, 0);
  return tf::combined_segments(build::concat(rows, 0), places, tf_count_of_segments(layer, places, SIZE_MAX), "none",
                               0);
}
// Elements of x that are not in y, and their indices in x.
std::vector<Value> tf_list_difference(Builder& layer) {
  Value x = layer.input(0), same = layer.op("Equal", {unsqueeze(x, {1}), unsqueeze(layer.input(1), {0})});
  Value known = layer.op("ReduceLogicalOr", {same, layer.ints({1})}, {{"keep_dims", false}});
  Value places = layer.op("NonZero", {layer.op("LogicalNot", {known})}, {{"output_type", DType::i64}});
  places = squeeze(places, {0});
  return {build::gather(x, places, 0), convert(places, layer.get<DType>("out_idx", DType::i32))};
}

}  // namespace

namespace tf {
Value segment_sum(Builder& layer) { return tf_segment<Combined::sum>(layer); }
Value unsorted_segment_max(Builder& layer) { return tf_unsorted_segment<Combined::max>(layer); }
Value unsorted_segment_min(Builder& layer) { return tf_unsorted_segment<Combined::min>(layer); }
Value unsorted_segment_prod(Builder& layer) { return tf_unsorted_segment<Combined::prod>(layer); }
Value unsorted_segment_sum(Builder& layer) { return tf_unsorted_segment<Combined::sum>(layer); }
}  // namespace tf

Definitions define_tensorflow_segments() {
  return {
      tensorflow("Bincount").expand(tf_bincount),
      tensorflow("DenseBincount").expand(tf_dense_bincount),
      tensorflow("DynamicPartition").expand(tf_dynamic_partition),
      tensorflow("DynamicStitch").ignore("N").expand(tf_dynamic_stitch),
      tensorflow("HistogramFixedWidth").expand(tf_histogram),
      tensorflow("ListDiff").expand(tf_list_difference),
      tensorflow("ParallelDynamicStitch").ignore("N").expand(tf_dynamic_stitch),
      tensorflow("RaggedBincount").expand(tf_ragged_bincount),
      tensorflow("SegmentMax").expand(tf_segment<Combined::max>),
      tensorflow("SegmentMaxV2").expand(tf_unsorted_segment<Combined::max>),
      tensorflow("SegmentMean").expand(tf_segment<Combined::mean>),
      tensorflow("SegmentMin").expand(tf_segment<Combined::min>),
      tensorflow("SegmentMinV2").expand(tf_unsorted_segment<Combined::min>),
      tensorflow("SegmentProd").expand(tf_segment<Combined::prod>),
      tensorflow("SegmentProdV2").expand(tf_unsorted_segment<Combined::prod>),
      tensorflow("SegmentSum").expand(tf_segment<Combined::sum>),
      tensorflow("SegmentSumV2").expand(tf_unsorted_segment<Combined::sum>),
      tensorflow("SparseSegmentMean").expand(tf_sparse_segments<Combined::mean>),
      tensorflow("SparseSegmentMeanWithNumSegments").expand(tf_sparse_segments<Combined::mean>),
      tensorflow("SparseSegmentSqrtN").expand(tf_sparse_segments<Combined::by_root>),
      tensorflow("SparseSegmentSqrtNWithNumSegments").expand(tf_sparse_segments<Combined::by_root>),
      tensorflow("SparseSegmentSum").expand(tf_sparse_segments<Combined::sum>),
      tensorflow("SparseSegmentSumWithNumSegments").expand(tf_sparse_segments<Combined::sum>),
      tensorflow("UnsortedSegmentMax").expand(tf_unsorted_segment<Combined::max>),
      tensorflow("UnsortedSegmentMin").expand(tf_unsorted_segment<Combined::min>),
      tensorflow("UnsortedSegmentProd").expand(tf_unsorted_segment<Combined::prod>),
      tensorflow("UnsortedSegmentSum").expand(tf_unsorted_segment<Combined::sum>),
  };
}

}  // namespace graft
