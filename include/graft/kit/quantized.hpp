// The epilogue of a computation in 8 bits: what happens to a number between the product of bytes and the result.
//
//   struct Layer : QuantizedEpilogue {
//     static constexpr std::tuple schema{level_step_attr, ..., zero_attr};
//   };
//   y = quantized_epilogue(a, x, sum);
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "windows.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// In this order, in f32:
//  1. rounding to a level, if `level_factor` is not zero: x = min(max(round(x * level_factor), low), high) * level_step
//  2. the sum: x += (sum - sum_zero) * sum_scale
//  3. bounds: x = min(max(x, low), high)
//  4. the result as a byte, if `factor` is not zero: min(max(round(x * factor) + zero, 0), 255)
struct QuantizedEpilogue {
  double level_factor = 0, level_low = 0, level_high = 0, level_step = 0;
  double sum_zero = 0, sum_scale = 1;
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  double factor = 0;
  int64_t zero = 0;
};

inline constexpr auto level_factor_attr =
    attr("level_factor", &QuantizedEpilogue::level_factor, "levels per unit of the rounding before the sum; 0: none");
inline constexpr auto level_low_attr =
    attr("level_low", &QuantizedEpilogue::level_low, "lowest level of that rounding");
inline constexpr auto level_high_attr =
    attr("level_high", &QuantizedEpilogue::level_high, "highest level of that rounding");
inline constexpr auto level_step_attr = attr("level_step", &QuantizedEpilogue::level_step, "what a level stands for");
inline constexpr auto sum_zero_attr = attr("sum_zero", &QuantizedEpilogue::sum_zero, "what is subtracted from the sum");
inline constexpr auto sum_scale_attr = attr("sum_scale", &QuantizedEpilogue::sum_scale, "factor of the sum");
inline constexpr auto low_attr = attr("low", &QuantizedEpilogue::low, "lower bound of the result");
inline constexpr auto high_attr = attr("high", &QuantizedEpilogue::high, "upper bound of the result");
inline constexpr auto factor_attr = attr("factor", &QuantizedEpilogue::factor, "levels per unit of the result; 0: f32");
inline constexpr auto zero_attr = attr("zero", &QuantizedEpilogue::zero, "zero point in the result").between(0, 255);

// The attributes of QuantizedConvolution, for the operation and for its kernels.
struct QuantizedConvolution : WindowAttributes, QuantizedEpilogue {
  bool grouped = false;
  int64_t data_zero = 0;
  static constexpr std::tuple schema{
      strides_attr,
      dilations_attr,
      pads_begin_attr,
      pads_end_attr,
      auto_pad_attr,
      attr("grouped", &QuantizedConvolution::grouped, "the weights are [G, O, I, ...] instead of [O, I, ...]"),
      attr("data_zero", &QuantizedConvolution::data_zero, "zero point in the data and its padding").between(0, 255),
      level_step_attr,
      level_low_attr,
      level_high_attr,
      level_factor_attr,
      sum_zero_attr,
      sum_scale_attr,
      low_attr,
      high_attr,
      factor_attr,
      zero_attr};
};

inline float quantized_epilogue(const QuantizedEpilogue& e, float x, std::optional<float> sum) {
  auto f = [](double v) { return static_cast<float>(v); };
  if (e.level_factor > 0)
    x = std::min(std::max(std::nearbyint(x * f(e.level_factor)), f(e.level_low)), f(e.level_high)) * f(e.level_step);
  if (sum) x = std::fma(*sum - f(e.sum_zero), f(e.sum_scale), x);
  x = std::min(std::max(x, f(e.low)), f(e.high));
  if (!(e.factor > 0)) return x;
  float zero = static_cast<float>(e.zero);
  return std::nearbyint(std::min(std::max(x * f(e.factor), -zero), 255 - zero)) + zero;
}

}  // namespace graft
