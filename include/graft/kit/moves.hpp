// Data movement. Kernels that only move elements describe the movement as boxes: the same dimensions walked through two
// buffers, each with its own strides (negative strides walk backward, 0 repeats an element).
#pragma once

#include <cstring>

#include "../shapes.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// A box in a buffer of cells: the first cell, and the stride along each axis in cells.
struct Strided {
  int64_t offset = 0;
  std::vector<int64_t> strides;
};
inline Strided dense_box(std::span<const int64_t> dims) { return {0, strides_of(dims)}; }

namespace detail {

struct BoxAxis {
  int64_t count, to, from;
};

// Drops axes of size 1, and merges adjacent axes that are contiguous on both sides.
inline std::vector<BoxAxis> joined_axes(std::span<const int64_t> dims, const Strided& to, const Strided& from) {
  std::vector<BoxAxis> axes;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    BoxAxis next{dims[i], to.strides[i], from.strides[i]};
    if (!axes.empty() && axes.back().to == next.to * next.count && axes.back().from == next.from * next.count)
      next.count *= axes.back().count, axes.pop_back();
    axes.push_back(next);
  }
  return axes;
}

template <size_t cell>
void copy_row(unsigned char* to, const unsigned char* from, const BoxAxis& row) {
  constexpr auto step = static_cast<int64_t>(cell);
  for (int64_t i = 0; i < row.count; ++i) std::memcpy(to + i * row.to * step, from + i * row.from * step, cell);
}
inline auto row_copier(size_t cell) {
  switch (cell) {
    case 1: return copy_row<1>;
    case 2: return copy_row<2>;
    case 4: return copy_row<4>;
    case 8: return copy_row<8>;
    case sizeof(graft_str): return copy_row<sizeof(graft_str)>;
    default: fail("moving elements of ", cell, " bytes is not supported");
  }
}

}  // namespace detail

// Copies a box by the longest runs that are contiguous on both sides.
inline void copy_box(std::span<const int64_t> dims, size_t cell, unsigned char* to, const Strided& target,
                     const unsigned char* from, const Strided& source) {
  if (count_of(dims) == 0) return;
  auto step = static_cast<int64_t>(cell);
  to += target.offset * step;
  from += source.offset * step;
  std::vector<detail::BoxAxis> axes = detail::joined_axes(dims, target, source);
  detail::BoxAxis row{1, 1, 1};
  if (!axes.empty()) row = axes.back(), axes.pop_back();
  bool together = row.to == 1 && row.from == 1;
  auto copy = detail::row_copier(cell);
  size_t bytes = static_cast<size_t>(row.count) * cell;

  std::vector<int64_t> at(axes.size(), 0);
  int64_t t = 0, f = 0;
  for (;;) {
    if (together) std::memcpy(to + t * step, from + f * step, bytes);
    else copy(to + t * step, from + f * step, row);
    size_t axis = axes.size();
    while (axis-- > 0) {
      const detail::BoxAxis& a = axes[axis];
      t += a.to, f += a.from;
      if (++at[axis] < a.count) break;
      t -= a.to * a.count, f -= a.from * a.count;
      at[axis] = 0;
    }
    if (axis == SIZE_MAX) return;
  }
}

// Produces a whole output from a view of an input. `dims` may split the dimensions of the output further.
inline void move_view(OutputView y, TensorView x, const Strided& source, std::span<const int64_t> dims) {
  if (count_of(dims) != y.size()) fail("an output of shape ", y.info().shape, " does not match a view of shape ", dims);
  Cells from(x);
  OutputCells to(y);
  copy_box(dims, to.cell_size(), to.data(), dense_box(dims), from.data(), source);
  to.write_back();
}
inline void move_view(OutputView y, TensorView x, const Strided& source) { move_view(y, x, source, y.dims()); }

// The same with the input's dimensions split into `finer` ones, which are permuted.
inline void move_reordered(OutputView y, TensorView x, const std::vector<int64_t>& finer,
                           const std::vector<size_t>& order) {
  if (count_of(finer) != x.size())
    fail("an input of shape ", x.info().shape, " does not match a view of shape ", finer);
  std::vector<int64_t> strides = strides_of(finer), dims;
  Strided source;
  for (size_t i : order) dims.push_back(finer[i]), source.strides.push_back(strides[i]);
  move_view(y, x, source, dims);
}

// Maps an index of -count..count-1 to 0..count-1.
inline int64_t checked_index(int64_t index, int64_t count) {
  if (index < -count || index >= count) fail("index ", index, " is out of range for a dimension of ", count);
  return index < 0 ? index + count : index;
}

}  // namespace graft
