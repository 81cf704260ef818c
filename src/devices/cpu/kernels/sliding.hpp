// Vectorized sliding windows over one plane, for kernels that combine the elements of a window one tap at a time. See
// sliding-inl.hpp.
#pragma once

#include <graft/kit/windows.hpp>

#include "scratch.hpp"

namespace graft {

// Floats of an image that a thread holds, and the maximum number of taps per row of a window.
inline constexpr int64_t sliding_band_floats = 16384, sliding_most_taps = 64;

inline void accept_sliding(const WindowAxes& axes) {
  const WindowAxis &az = axes[0], &ay = axes[1], &ax = axes[2];
  if (az.kernel != 1 || az.input != 1 || az.output != 1) unsupported("requires one or two spatial axes");
  if (ax.kernel > sliding_most_taps)
    unsupported("expected at most ", sliding_most_taps, " taps per row, got ", ax.kernel);
  // The rows under one line of windows must fit in the memory of a thread.
  double width =
      static_cast<double>(ax.output + ax.kernel * ax.dilation / ax.stride + 80) * static_cast<double>(ax.stride);
  double height = static_cast<double>(ay.kernel) * static_cast<double>(ay.dilation);
  constexpr int64_t most = 16 * sliding_band_floats;
  if (width * height > static_cast<double>(most)) unsupported("expected windows over at most ", most, " elements");
}

}  // namespace graft
