// Element-wise work on `n` inputs that broadcast, as rows in which each input is either contiguous or a single number.
#pragma once

#include <array>
#include <graft/op.hpp>

namespace graft {

template <size_t n>
struct RowPlan {
  int64_t length = 1;                           // of a row
  std::array<int64_t, n> step{};                // within a row: 1, or 0 for a single number
  std::vector<int64_t> dims;                    // of the rows
  std::array<std::vector<int64_t>, n> strides;  // of the rows, per input
};

inline constexpr size_t most_row_axes = 16;

// Adjacent axes along which all inputs advance uniformly are merged; the last one becomes the row. `all`: the strides
// of each input along the axes of y.
template <size_t n>
RowPlan<n> plan_strides(const std::array<std::vector<int64_t>, n>& all, const std::vector<int64_t>& y) {
  RowPlan<n> p;
  for (size_t i = 0; i < y.size(); ++i) {
    if (y[i] == 1) continue;
    bool merges = !p.dims.empty();
    for (size_t k = 0; k < n; ++k) merges = merges && p.strides[k].back() == all[k][i] * y[i];
    if (merges) p.dims.back() *= y[i];
    else p.dims.push_back(y[i]);
    for (size_t k = 0; k < n; ++k) {
      if (merges) p.strides[k].back() = all[k][i];
      else p.strides[k].push_back(all[k][i]);
    }
  }
  if (p.dims.empty()) return p;
  p.length = p.dims.back();
  p.dims.pop_back();
  for (size_t k = 0; k < n; ++k) p.step[k] = p.strides[k].back(), p.strides[k].pop_back();
  if (p.dims.size() > most_row_axes) unsupported("expected at most ", most_row_axes + 1, " axes after merging");
  return p;
}

template <size_t n>
RowPlan<n> plan_rows(const std::array<std::vector<int64_t>, n>& inputs, const std::vector<int64_t>& y) {
  std::array<std::vector<int64_t>, n> all;
  for (size_t k = 0; k < n; ++k) all[k] = broadcast_strides(inputs[k], y);
  return plan_strides<n>(all, y);
}

// Calls f(offsets in the inputs, offset in the output, number of elements), distributed among the threads.
template <size_t n, class F>
void for_rows(Run& ctx, const RowPlan<n>& p, const F& f) {
  constexpr int64_t piece = 8192;
  int64_t pieces = (p.length + piece - 1) / piece, rows = count_of(p.dims);
  if (rows * pieces == 0) return;
  ctx.parallel_for(rows * pieces, std::max<int64_t>(1, 2 * piece / std::min(p.length, piece)),
                   [&](int64_t begin, int64_t end) {
                     std::array<int64_t, most_row_axes> index{};
                     std::array<int64_t, n> at{};
                     int64_t row = begin / pieces;
                     for (size_t i = p.dims.size(); i-- > 0; row /= p.dims[i]) {
                       index[i] = row % p.dims[i];
                       for (size_t k = 0; k < n; ++k) at[k] += index[i] * p.strides[k][i];
                     }
                     for (int64_t t = begin; t < end;) {
                       int64_t first = t % pieces * piece, last = std::min(p.length, first + (end - t) * piece);
                       std::array<int64_t, n> from = at;
                       for (size_t k = 0; k < n; ++k) from[k] += first * p.step[k];
                       f(from, t / pieces * p.length + first, last - first);
                       t += (last - first + piece - 1) / piece;
                       for (size_t i = p.dims.size(); i-- > 0;) {
                         for (size_t k = 0; k < n; ++k) at[k] += p.strides[k][i];
                         if (++index[i] < p.dims[i]) break;
                         for (size_t k = 0; k < n; ++k) at[k] -= p.strides[k][i] * p.dims[i];
                         index[i] = 0;
                       }
                     }
                   });
}

}  // namespace graft
