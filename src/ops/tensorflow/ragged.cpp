// Ragged tensors: values, and for each ragged axis the splits or rows that they belong to.
#include <graft/op.hpp>

#include "layout.hpp"

namespace graft {
namespace {

// How the elements of one level form rows: row i has those from split i up to split i + 1, or the row of each element
// is given.
struct RaggedLevel {
  Value list;
  bool splits;
};

Value tf_search(const Value& sorted, const Value& v, bool right) {
  return v.in().op("SearchSorted", {sorted, v}, {{"right_mode", right}, {"output_type", DType::i64}});
}
// The places within each row of elements whose rows are known.
Value tf_ragged_columns(const RaggedLevel& level, const Value& at, const Value& row) {
  return at - (level.splits ? build::gather(level.list, row, 0) : tf_search(level.list, row, false));
}
Value tf_places_of(const Value& list) {
  Builder& layer = list.in();
  return build::range(layer.scalar(int64_t{0}), tf::as_scalar(build::dims(list, {0})), DType::i64);
}

// The row and, level by level, the place of each value.
std::vector<Value> tf_ragged_places(const std::vector<RaggedLevel>& levels, const Value& values) {
  Value at = tf_places_of(values);
  std::vector<Value> out;
  for (size_t i = levels.size(); i-- > 0;) {
    const RaggedLevel& level = levels[i];
    bool of_values = i + 1 == levels.size();
    Value row = level.splits ? tf_search(level.list, at, true) - 1
                : of_values  ? level.list
                             : build::gather(level.list, at, 0);
    out.insert(out.begin(), tf_ragged_columns(level, at, row));
    at = row;
  }
  out.insert(out.begin(), at);
  return out;
}
// The length of the longest row of a level, a list of one number.
Value tf_longest_row(const RaggedLevel& level) {
  Builder& layer = level.list.in();
  auto most = [&](const Value& v, int64_t least) {
    return layer.op("ReduceMax", {build::concat({layer.ints({least}), v}, 0), layer.ints({0})}, {{"keep_dims", true}});
  };
  if (!level.splits) return most(tf_ragged_columns(level, tf_places_of(level.list), level.list), -1) + 1;
  Value later = build::slice(level.list, 0, 1, INT64_MAX), earlier = build::slice(level.list, 0, 0, -1);
  return most(later - earlier, 0);
}
Value tf_ragged_list(const Value& v) { return convert(tf::as_list(v), DType::i64); }
Value tf_rows_of(const RaggedLevel& level) { return build::dims(level.list, {0}) - 1; }

// What TensorFlow refuses is refused: splits that do not begin with 0, fall, or do not end with the number of elements
// of their level.
void tf_check_splits(std::vector<RaggedLevel>& levels, const Value& values) {
  for (size_t i = levels.size(); i-- > 0;) {
    if (!levels[i].splits) continue;
    Value count = values.in().ints({-1});
    if (i + 1 == levels.size()) count = build::dims(values, {0});
    else if (levels[i + 1].splits) count = tf_rows_of(levels[i + 1]);
    levels[i].list = values.in().op("RowSplits@graft", {levels[i].list, count});
  }
}

// Pads rows of different lengths. Inputs: shape, values, default, row partitions. What is beyond the shape along an
// axis is collected in an extra row or column, which is sliced off.
Value tf_ragged_to_tensor(Builder& layer) {
  auto kinds = layer.get<std::vector<std::string>>("row_partition_types");
  Value values = layer.input(1), rows;
  std::vector<RaggedLevel> levels;
  for (size_t i = 0; i < kinds.size(); ++i) {
    Value list = tf_ragged_list(layer.input(3 + i));
    if (kinds[i] == "FIRST_DIM_SIZE" && i == 0) rows = list;
    else if (kinds[i] == "ROW_SPLITS" || kinds[i] == "VALUE_ROWIDS") levels.push_back({list, kinds[i] == "ROW_SPLITS"});
    else unsupported("expected row partitions ROW_SPLITS and VALUE_ROWIDS, got '", kinds[i], "'");
  }
  if (levels.empty() || levels.size() > 32) fail("expected 1 to 32 ragged axes, got ", levels.size());
  if (!rows && !levels[0].splits) fail("expected the number of rows in front of VALUE_ROWIDS, got none");
  tf_check_splits(levels, values);
  std::vector<Value> places = tf_ragged_places(levels, values), sizes{rows ? rows : tf_rows_of(levels[0])};
  for (const RaggedLevel& level : levels) sizes.push_back(tf_longest_row(level));
  // A scalar means that the shape is unknown.
  Shape known = layer.input(0).shape();
  if (!known.ranked()) unsupported("the rank of the shape must be known");
  if (known.rank() == 1) {
    Value wanted = convert(layer.input(0), DType::i64);
    for (size_t i = 0; i < sizes.size(); ++i) {
      auto axis = static_cast<int64_t>(i);
      Value w = build::slice(wanted, 0, axis, axis + 1);
      sizes[i] = build::select(layer.op("Less", {w, layer.ints({0})}), sizes[i], w);
    }
  }
  std::vector<Value> dims;
  for (size_t i = 0; i < sizes.size(); ++i) {
    places[i] = unsqueeze(layer.op("Minimum", {places[i], sizes[i]}), {1});
    dims.push_back(sizes[i] + 1);
  }
  dims.push_back(layer.op("Slice", {shape_of(values), layer.ints({1}), layer.ints({INT64_MAX}), layer.ints({1})}));
  Value blank = build::broadcast(layer.input(2), build::concat(dims, 0));
  Value y = layer.op("ScatterNDUpdate@4", {blank, build::concat(places, 1), values});
  for (size_t i = 0; i < sizes.size(); ++i) y = build::slice(y, static_cast<int64_t>(i), layer.ints({0}), sizes[i]);
  return y;
}

// Inputs: nested splits, values. The places of the values, the values, and the size along each axis.
std::vector<Value> tf_ragged_to_sparse(Builder& layer) {
  size_t count = layer.inputs() - 1;
  if (count < 1 || count > 32) fail("expected 1 to 32 ragged axes, got ", count);
  Value values = layer.input(count);
  if (values.rank() != 1)
    unsupported("expected a list of values in the rows of a ragged tensor, got shape ", values.shape());
  std::vector<RaggedLevel> levels;
  for (size_t i = 0; i < count; ++i) levels.push_back({tf_ragged_list(layer.input(i)), true});
  tf_check_splits(levels, values);
  std::vector<Value> places, sizes{tf_rows_of(levels[0])};
  for (const Value& v : tf_ragged_places(levels, values)) places.push_back(unsqueeze(v, {1}));
  for (const RaggedLevel& level : levels) sizes.push_back(tf_longest_row(level));
  return {build::concat(places, 1), values, build::concat(sizes, 0)};
}

// Inputs: nested splits, values, indices of rows. The chosen rows: nested splits, where the axes of the indices come
// first, and values.
std::vector<Value> tf_ragged_gather(Builder& layer) {
  size_t levels = layer.inputs() - 2;
  if (levels < 1 || levels > 32) fail("expected 1 to 32 ragged axes, got ", levels);
  Value indices = convert(layer.input(levels + 1), DType::i64);
  DType type = layer.input(0).type();
  std::vector<Value> out;
  auto axes = static_cast<int64_t>(indices.rank());
  if (axes < 1 || axes > 32) fail("expected indices of 1 to 32 axes, got ", axes);
  for (int64_t axis = 1; axis < axes; ++axis) {
    std::vector<int64_t> outer;
    for (int64_t i = 0; i < axis; ++i) outer.push_back(i);
    Value rows = layer.op("ReduceProd", {build::dims(indices, outer), layer.ints({0})}, {{"keep_dims", false}});
    Value counted = build::range(layer.scalar(int64_t{0}), rows + 1, DType::i64);
    out.push_back(convert(counted * build::dims(indices, {axis}), type));
  }
  std::vector<RaggedLevel> nested;
  for (size_t i = 0; i < levels; ++i) nested.push_back({tf_ragged_list(layer.input(i)), true});
  tf_check_splits(nested, layer.input(levels));
  Value at = layer.op("IndicesInRange@graft", {reshape(indices, {-1}), tf_rows_of(nested[0])});
  for (size_t i = 0; i < levels; ++i) {
    Value first = build::gather(nested[i].list, at, 0), end = build::gather(nested[i].list, at + 1, 0);
    std::vector<Value> rows =
        layer.ops("RaggedRange@graft", {first, end, layer.scalar(int64_t{1})}, {{"Tsplits", type}}, 2);
    out.push_back(rows[0]);
    at = rows[1];
  }
  out.push_back(build::gather(layer.input(levels), at, 0));
  return out;
}

}  // namespace

Definitions define_tensorflow_ragged() {
  return {
      tensorflow("RaggedGather")
          .ignore("PARAMS_RAGGED_RANK")
          .ignore("OUTPUT_RAGGED_RANK")
          .ignore("Tsplits")
          .expand(tf_ragged_gather),
      tensorflow("RaggedTensorToSparse").ignore("RAGGED_RANK").ignore("Tsplits").expand(tf_ragged_to_sparse),
      tensorflow("RaggedTensorToTensor").ignore("num_row_partition_tensors").expand(tf_ragged_to_tensor),
  };
}

}  // namespace graft
