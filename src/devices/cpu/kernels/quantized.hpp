// What the kernels of bytes share: the end of the computation as they take it.
#pragma once

#include <cstring>
#include <graft/quantized.hpp>

#include "convolution.hpp"

namespace graft {

// The numbers of QuantizedEnd in f32.
struct QuantizedNumbers {
  float level_factor, level_low, level_high, level_step, sum_zero, sum_scale, low, high, factor;
  int32_t zero;
};
inline QuantizedNumbers quantized_numbers(const QuantizedEnd& e) {
  auto f = [](double v) { return static_cast<float>(v); };
  return {f(e.level_factor), f(e.level_low), f(e.level_high), f(e.level_step), f(e.sum_zero),
          f(e.sum_scale),    f(e.low),       f(e.high),       f(e.factor),     static_cast<int32_t>(e.zero)};
}

// Where the sum is read and the result written: as bytes or as f32; null: not so.
struct QuantizedPlaces {
  const float* sum = nullptr;
  const uint8_t* sum8 = nullptr;
  float* y = nullptr;
  uint8_t* y8 = nullptr;

  QuantizedPlaces from(int64_t element) const {
    QuantizedPlaces p = *this;
    if (sum) p.sum += element;
    if (sum8) p.sum8 += element;
    if (y) p.y += element;
    if (y8) p.y8 += element;
    return p;
  }
};

}  // namespace graft
