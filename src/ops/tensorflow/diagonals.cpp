// Matrices from diagonals and diagonals of matrices.
//
// Several diagonals are packed as rows of a matrix, the highest first; shorter ones are aligned to the left or right of
// their row and padded to the length of the longest.
#include <graft/op.hpp>

#include "layout.hpp"
#include "rules.hpp"

namespace graft {
namespace {

// All numbers are i64, and constants if the sizes are known.
class Band {
 public:
  // `k`: one diagonal, or the lowest and the highest. Rows and columns are those of the matrices, scalars.
  Band(Builder& layer, Value rows, Value columns, const Value& k, const std::string& align)
      : layer_(layer), rows_(std::move(rows)), columns_(std::move(columns)) {
    Value bounds = tf::as_list(convert(k, DType::i64));
    Shape s = bounds.shape();
    if (!s.ranked() || !s[0].known()) unsupported("a data-dependent number of values in 'k' is not supported");
    if (s[0].value() != 1 && s[0].value() != 2) fail("expected one or two values in 'k', got ", s[0]);
    single_ = s[0].value() == 1;
    low_ = at(bounds, 0), high_ = single_ ? low_ : at(bounds, 1);
    auto side = [&](std::string_view word) { return word == "RIGHT"; };
    size_t split = align.find('_');
    std::string_view above = std::string_view(align).substr(0, split);
    std::string_view below = split == align.npos ? "" : std::string_view(align).substr(split + 1);
    if ((above != "LEFT" && above != "RIGHT") || (below != "LEFT" && below != "RIGHT"))
      fail("expected attribute 'align' to be LEFT_LEFT, RIGHT_LEFT, LEFT_RIGHT or RIGHT_RIGHT, got '", align, "'");
    right_above_ = side(above), right_below_ = side(below);
  }

  bool single() const { return single_; }
  // Length of the longest diagonal and number of diagonals, scalars.
  Value longest() const { return least(rows_ + least(high_, zero()), columns_ - most(low_, zero())); }
  Value count() const { return high_ - low_ + 1; }

  // For every element of a matrix: whether it lies in the band, and its position in the flat diagonals.
  void places_in_matrix(Value& inside, Value& place) const {
    Value row = unsqueeze(counting(rows_), {1}), column = unsqueeze(counting(columns_), {0});
    Value d = column - row;
    inside = both(layer_.op("GreaterEqual", {d, low_}), layer_.op("LessEqual", {d, high_}));
    Value along = least(row, column) + offset(d);
    place = (high_ - d) * longest() + along;
    place = build::select(inside, place, zero());
  }
  // For every element of the rows of diagonals: whether it lies in the matrix, and its position in the flat matrix.
  void places_in_rows(Value& inside, Value& place) const {
    Value d = high_ - unsqueeze(counting(count()), {1});
    Value along = unsqueeze(counting(longest()), {0}) - offset(d);
    inside = both(layer_.op("GreaterEqual", {along, zero()}), layer_.op("Less", {along, length(d)}));
    place = (along + most(-d, zero())) * columns_ + along + most(d, zero());
    place = build::select(inside, place, zero());
  }

 private:
  Value zero() const { return layer_.scalar(int64_t{0}); }
  Value at(const Value& list, int64_t i) const { return build::gather(list, layer_.scalar(i), 0); }
  Value least(const Value& a, const Value& b) const { return layer_.op("Minimum", {a, b}); }
  Value most(const Value& a, const Value& b) const { return layer_.op("Maximum", {a, b}); }
  Value both(const Value& a, const Value& b) const { return layer_.op("LogicalAnd", {a, b}); }
  Value counting(const Value& n) const { return build::range(zero(), n, DType::i64); }
  Value length(const Value& d) const { return least(rows_ + least(d, zero()), columns_ - most(d, zero())); }
  // Number of padding elements before the first element of a diagonal.
  Value offset(const Value& d) const {
    Value free = longest() - length(d);
    Value above = right_above_ ? free : zero(), below = right_below_ ? free : zero();
    return build::select(layer_.op("GreaterEqual", {d, zero()}), above, below);
  }

  Builder& layer_;
  Value rows_, columns_, low_, high_;
  bool single_ = true, right_above_ = false, right_below_ = false;
};

Value tf_main_diagonal(Builder& layer) { return layer.ints({0}); }
Value tf_side(const Value& x, int64_t axis) { return tf::as_scalar(build::dims(x, {axis})); }
// Merges the last `axes` axes into one.
Value tf_flat_tail(const Value& x, int64_t axes) {
  Builder& layer = x.in();
  Value head = layer.op("Slice", {shape_of(x), layer.ints({0}), layer.ints({-axes}), layer.ints({1})});
  return build::reshape(x, {head, layer.ints({-1})});
}
Value tf_picked(const Value& flat, const Value& inside, const Value& place, const Value& padding) {
  return build::select(inside, build::gather(flat, place, -1), padding);
}
Value tf_padding(Builder& layer, size_t input, const Value& x) {
  return layer.has_input(input) ? tf::as_scalar(layer.input(input)) : like(x, 0);
}
// Versions before V3 have no attribute and align to the left.
std::string tf_align(Builder& layer) {
  return layer.get<std::string>("align", layer.type().ends_with("V3") ? "RIGHT_LEFT" : "LEFT_LEFT");
}

// Inputs: diagonal, k, num_rows, num_cols, padding. A size of -1 means the smallest that fits.
Value tf_matrix_diag(Builder& layer) {
  Value x = layer.input(0), zero = layer.scalar(int64_t{0});
  Value k = layer.has_input(1) ? layer.input(1) : tf_main_diagonal(layer);
  auto bounds = tf::as_list(convert(k, DType::i64));
  Value low = layer.op("ReduceMin", {bounds, layer.ints({0})}, {{"keep_dims", false}});
  Value high = layer.op("ReduceMax", {bounds, layer.ints({0})}, {{"keep_dims", false}});
  Value length = tf_side(x, -1);
  auto given = [&](size_t input) {
    return layer.has_input(input) ? convert(tf::as_scalar(layer.input(input)), DType::i64) : layer.scalar(int64_t{-1});
  };
  Value rows = given(2), columns = given(3);
  auto is_open = [&](const Value& v) { return layer.op("Equal", {v, layer.scalar(int64_t{-1})}); };
  // At least this many are needed to hold the longest diagonal.
  Value least_rows = length - layer.op("Minimum", {high, zero});
  Value least_columns = length + layer.op("Maximum", {low, zero});
  Value both_open = layer.op("LogicalAnd", {is_open(rows), is_open(columns)});
  Value side = layer.op("Maximum", {least_rows, least_columns});
  Value all_rows = build::select(both_open, side, build::select(is_open(rows), least_rows, rows));
  Value all_columns = build::select(both_open, side, build::select(is_open(columns), least_columns, columns));
  Band band(layer, all_rows, all_columns, k, tf_align(layer));
  Value inside, place;
  band.places_in_matrix(inside, place);
  return tf_picked(band.single() ? x : tf_flat_tail(x, 2), inside, place, tf_padding(layer, 4, x));
}

// Inputs: input, k, padding.
Value tf_matrix_diag_part(Builder& layer) {
  Value x = layer.input(0);
  Band band(layer, tf_side(x, -2), tf_side(x, -1), layer.has_input(1) ? layer.input(1) : tf_main_diagonal(layer),
            tf_align(layer));
  Value inside, place;
  band.places_in_rows(inside, place);
  Value y = tf_picked(tf_flat_tail(x, 2), inside, place, tf_padding(layer, 2, x));
  return band.single() ? squeeze(y, {-2}) : y;
}

// Inputs: input, diagonal, k.
Value tf_matrix_set_diag(Builder& layer) {
  Value x = layer.input(0), diagonal = layer.input(1);
  Value k = layer.has_input(2) ? layer.input(2) : tf_main_diagonal(layer);
  Band band(layer, tf_side(x, -2), tf_side(x, -1), k, tf_align(layer));
  Value inside, place;
  band.places_in_matrix(inside, place);
  // A band of one diagonal may omit the axis of the diagonals.
  Shape d = diagonal.shape(), s = x.shape();
  bool rows = !band.single() && !(d.ranked() && s.ranked() && d.rank() + 1 == s.rank());
  return tf_picked(rows ? tf_flat_tail(diagonal, 2) : diagonal, inside, place, x);
}

// Diag and DiagPart: a tensor of twice the rank with x on its diagonal, and back.
Value tf_tensor_diag(Builder& layer) {
  Value x = layer.input(0), flat = reshape(x, {-1}), n = tf_side(flat, 0);
  Band band(layer, n, n, tf_main_diagonal(layer), "LEFT_LEFT");
  Value inside, place;
  band.places_in_matrix(inside, place);
  return build::reshape(tf_picked(flat, inside, place, like(x, 0)), {shape_of(x), shape_of(x)});
}
Value tf_tensor_diag_part(Builder& layer) {
  Value x = layer.input(0);
  if (x.rank() % 2) fail("expected an input of even rank, got rank ", x.rank());
  std::vector<int64_t> first;
  for (size_t i = 0; i < x.rank() / 2; ++i) first.push_back(static_cast<int64_t>(i));
  Value dims = build::dims(x, first);
  Value n = layer.op("ReduceProd", {dims, layer.ints({0})}, {{"keep_dims", false}});
  Value places = build::range(layer.scalar(int64_t{0}), n, DType::i64) * (n + 1);
  return build::reshape(build::gather(reshape(x, {-1}), places, 0), {dims});
}

}  // namespace

namespace tf {
Value matrix_diag(Builder& layer) { return tf_matrix_diag(layer); }
Value matrix_set_diag(Builder& layer) { return tf_matrix_set_diag(layer); }
}  // namespace tf

Definitions define_tensorflow_diagonals() {
  Definitions ops{tensorflow("Diag").expand(tf_tensor_diag), tensorflow("DiagPart").expand(tf_tensor_diag_part)};
  for (std::string_view type : {"BatchMatrixDiag", "MatrixDiag", "MatrixDiagV2", "MatrixDiagV3"})
    ops += tensorflow(type).expand(tf_matrix_diag);
  for (std::string_view type : {"BatchMatrixDiagPart", "MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3"})
    ops += tensorflow(type).expand(tf_matrix_diag_part);
  for (std::string_view type : {"BatchMatrixSetDiag", "MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3"})
    ops += tensorflow(type).expand(tf_matrix_set_diag);
  return ops;
}

}  // namespace graft
