// Separable resampling, one axis after the other: each output element is a weighted sum of input elements along the
// axis.
#pragma once

#include <graft/op.hpp>

namespace graft {

// The input elements and weights of each output element along an axis.
struct AxisTaps {
  std::vector<size_t> rows{0};
  std::vector<int64_t> elements;
  std::vector<double> weights;

  void add(int64_t element, double weight) {
    elements.push_back(element);
    weights.push_back(weight);
  }
  void end_row() { rows.push_back(elements.size()); }
  int64_t count() const { return static_cast<int64_t>(rows.size()) - 1; }
};

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

// Weights of the four elements around a position at distance `r` after the second one; `a` is the coefficient of Keys'
// cubic convolution.
inline std::array<double, 4> cubic_weights(double r, double a) {
  auto near = [&](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  auto far = [&](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(r + 1), near(r), near(1 - r), far(2 - r)};
}

}  // namespace graft
