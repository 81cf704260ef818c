// What the steps of Winograd's convolution take.
#pragma once

#include <array>
#include <cstdint>

namespace graft {
inline constexpr int64_t winograd_most_points = 36;

// The input of one tile: where the channels of each element are.
struct WinogradInput {
  std::array<const float*, winograd_most_points> at;
  int64_t channels;
  float* to;      // [channels] of the tile at the first point
  int64_t plane;  // from one point to the next
};
// Matrix products of a block of tiles with one panel of weights, at all points.
struct WinogradProduct {
  const float* x;  // [point][tile][channel]
  int64_t tiles, channels, pitch, plane;
  const float* w;   // [point][channel][panel]
  int64_t columns;  // of the panel that exist
  float* y;         // [point][tile][panel]
  int64_t y_plane;
};
// The results of one tile and one panel.
struct WinogradOutput {
  const float* x;  // of the tile at the first point
  int64_t plane;
  int64_t rows, columns, channels;  // that exist: of the tile, of the panel
  const float *bias, *sum;          // null: none
  float* y;
  int64_t y_row, y_step;  // from one row to the next, from one position to the next; also of `sum`
  float low, high;        // bounds of the result
};
}  // namespace graft
