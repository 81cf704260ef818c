// Moving elements. Kernels that compute nothing describe what they do as boxes: the same dimensions walked through two
// buffers, each with strides of its own (negative ones walk backwards, 0 repeats).
#pragma once

#include <cstring>
#include <graft/shapes.hpp>

namespace graft {

// A box in a buffer of cells: the first cell and the way to the next along each axis, in cells.
struct Strided {
  int64_t offset = 0;
  std::vector<int64_t> strides;
};
inline Strided dense_box(std::span<const int64_t> dims) { return {0, strides_of(dims)}; }

namespace detail {

struct BoxAxis {
  int64_t count, to, from;
};

// Axes of one element are left out, and neighbours that both sides walk as one become one.
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
    default: fail("elements of ", cell, " bytes cannot be moved");
  }
}

}  // namespace detail

// Copies a box, by the longest runs that lie together on both sides.
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

// Makes a whole output from a view of an input. `dims` may cut the output's dimensions into finer ones.
inline void move_view(TensorView y, TensorView x, const Strided& source, std::span<const int64_t> dims) {
  if (count_of(dims) != y.size()) fail("an output of shape ", y.info().shape, " cannot be made of ", dims);
  Cells from(x), to = Cells::blank(y);
  copy_box(dims, to.cell_size(), to.data(), dense_box(dims), from.data(), source);
  to.write_back();
}
inline void move_view(TensorView y, TensorView x, const Strided& source) { move_view(y, x, source, y.dims()); }

// The same with the input's dimensions cut into finer ones, whose order changes.
inline void move_reordered(TensorView y, TensorView x, const std::vector<int64_t>& finer,
                           const std::vector<size_t>& order) {
  if (count_of(finer) != x.size()) fail("an input of shape ", x.info().shape, " cannot be seen as ", finer);
  std::vector<int64_t> strides = strides_of(finer), dims;
  Strided source;
  for (size_t i : order) dims.push_back(finer[i]), source.strides.push_back(strides[i]);
  move_view(y, x, source, dims);
}

// An index of -count..count-1 as one of 0..count-1.
inline int64_t checked_index(int64_t index, int64_t count) {
  if (index < -count || index >= count) fail("index ", index, " is outside a dimension of ", count);
  return index < 0 ? index + count : index;
}

}  // namespace graft
