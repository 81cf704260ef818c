#include <graft/kit/known.hpp>
#include <graft/kit/moves.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

void sparse_fill_infer(Infer& ctx, const NoAttributes&) {
  Shape values = merge(ctx.shape(0), Shape::of_rank(1)), indices = merge(ctx.shape(2), Shape{Dim(), 2});
  merge(ctx.shape(1), Shape{2});
  Dim given = merge(values[0], indices[0]), rows;
  if (auto dense = numbers_of(ctx, 1)) {
    const Dim& d = (*dense)[0];
    if (d.known() && d.min() < 0) fail("expected a non-negative number of rows in dense_shape, got ", d.min());
    if (d.min() >= 0) rows = d;
  }
  // Each row gains at most one element.
  Dim filled = Dim::between(std::max(given.min(), rows.min()), (given + rows).max());
  ctx.output(0, common_type(ctx, {1, 2}), Shape{filled, 2});
  ctx.output(1, common_type(ctx, {0, 3}), Shape{filled});
  ctx.output(2, DType::boolean, Shape{rows});
}

void sparse_fill_run(Run& ctx, const NoAttributes&) {
  TensorView values = ctx.input(0);
  std::vector<int64_t> dense = ctx.input(1).to<int64_t>(), indices = ctx.input(2).to<int64_t>();
  if (dense.size() != 2 || static_cast<int64_t>(indices.size()) != 2 * values.size() || ctx.input(3).size() != 1)
    fail("expected indices of shape [values,2], one pair per value");
  int64_t rows = dense[0], columns = dense[1];
  if (rows < 0 || columns < 0) fail("expected dense_shape with 2 non-negative dimensions, got ", dense);
  OutputView empty = ctx.allocate(2, {rows});
  std::vector<uint8_t> used(static_cast<size_t>(rows), 0);
  // Row, column, and position of the value; -1 is the default.
  struct Entry {
    int64_t row, column, value;
  };
  std::vector<Entry> entries;
  for (int64_t i = 0; i < values.size(); ++i) {
    int64_t row = indices[static_cast<size_t>(2 * i)], column = indices[static_cast<size_t>(2 * i + 1)];
    if (row < 0 || row >= rows || column < 0 || column >= columns)
      fail("index [", row, ",", column, "] is out of range for dense_shape ", dense);
    used[static_cast<size_t>(row)] = 1;
    entries.push_back({row, column, i});
  }
  for (int64_t r = 0; r < rows; ++r)
    if (!used[static_cast<size_t>(r)]) entries.push_back({r, 0, -1});
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.row, a.column) < std::pair(b.row, b.column);
  });
  auto n = static_cast<int64_t>(entries.size());
  if (ctx.output_used(0)) {
    std::vector<int64_t> places;
    for (const Entry& e : entries) places.push_back(e.row), places.push_back(e.column);
    ctx.allocate(0, {n, 2}).assign(places);
  }
  if (ctx.output_used(1)) {
    Cells from(values), fallback(ctx.input(3));
    OutputCells to(ctx.allocate(1, {n}));
    size_t cell = to.cell_size();
    for (size_t i = 0; i < entries.size(); ++i) {
      const unsigned char* source =
          entries[i].value < 0 ? fallback.data() : from.data() + static_cast<size_t>(entries[i].value) * cell;
      std::memcpy(to.data() + i * cell, source, cell);
    }
    to.write_back();
  }
  if (empty) {
    for (uint8_t& u : used) u = !u;
    empty.assign(used);
  }
}

}  // namespace

Definitions define_sparse_fill_empty_rows() {
  return op("SparseFillEmptyRows", 16)
      .doc("Insert a default value at the beginning of each empty row of a sparse matrix")
      .inputs("values, dense_shape, indices, default_value")
      .outputs("output_indices, output_values, empty_row_indicator")
      .infer(sparse_fill_infer)
      .reference(sparse_fill_run);
}

}  // namespace graft
