// Arithmetic with the windows of a file, which may be any numbers.
#pragma once

#include <graft/kit/windows.hpp>

namespace graft {

// Far larger ones would overflow the arithmetic of windows.
inline void within_limits(std::string_view name, const std::vector<int64_t>& values) {
  for (int64_t v : values)
    if (std::abs(static_cast<double>(v)) > window_limit)
      fail("expected '", name, "' of at most ", static_cast<int64_t>(window_limit), ", got ", v);
}

// The elements of an axis that a transposed convolution without padding writes to.
inline Dim spread_extent(const Dim& data, const Dim& kernel, int64_t stride, int64_t dilation) {
  return shifted(data, -1) * Dim(stride) + window_extent(kernel, dilation);
}

}  // namespace graft
