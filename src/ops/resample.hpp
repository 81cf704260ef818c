// Separable resampling, one axis after the other: each output element is a weighted sum of input elements along the
// axis.
#pragma once

#include <graft/kit/interpolation.hpp>
#include <graft/op.hpp>

namespace graft {

// Resamples one axis of a tensor; `dims` is updated accordingly.
template <class T>
std::vector<T> resample(const std::vector<T>& x, std::vector<int64_t>& dims, size_t axis, const AxisTaps& taps) {
  std::span<const int64_t> all(dims);
  int64_t outer = count_of(all.first(axis)), inner = count_of(all.subspan(axis + 1)), n = dims[axis];
  std::vector<T> y(static_cast<size_t>(outer * taps.count() * inner));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t r = 0; r < taps.count(); ++r) {
      T* to = y.data() + (o * taps.count() + r) * inner;
      for (size_t t = taps.rows[static_cast<size_t>(r)]; t < taps.rows[static_cast<size_t>(r) + 1]; ++t) {
        const T* from = x.data() + (o * n + taps.elements[t]) * inner;
        auto weight = static_cast<T>(taps.weights[t]);
        for (int64_t i = 0; i < inner; ++i) to[i] += weight * from[i];
      }
    }
  dims[axis] = taps.count();
  return y;
}

}  // namespace graft
