// What the kernels of bytes share: the end of the computation as they take it.
#pragma once

#include <cstring>
#include <graft/kit/quantized.hpp>

#include "window_walk.hpp"

namespace graft {

// The numbers of QuantizedEpilogue in f32.
struct QuantizedNumbers {
  float level_factor, level_low, level_high, level_step, sum_zero, sum_scale, low, high, factor;
  int32_t zero;
  uint8_t low_byte, high_byte;  // the bounds, if the results are bytes
  bool levels = false;          // bytes with factors of one, and numbers that never leave the range of i32
};
inline QuantizedNumbers quantized_numbers(const QuantizedEpilogue& e) {
  auto f = [](double v) { return static_cast<float>(v); };
  auto byte = [&](double v) {
    return static_cast<uint8_t>(
        std::clamp(std::nearbyint(f(v) * f(e.factor)) + static_cast<float>(e.zero), 0.f, 255.f));
  };
  bool bytes = e.factor > 0;
  return {f(e.level_factor),
          f(e.level_low),
          f(e.level_high),
          f(e.level_step),
          f(e.sum_zero),
          f(e.sum_scale),
          f(e.low),
          f(e.high),
          f(e.factor),
          static_cast<int32_t>(e.zero),
          bytes ? byte(e.low) : uint8_t{0},
          bytes ? byte(e.high) : uint8_t{255}};
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

// One panel of output channels for `count` positions that are `x_step` apart in the input and `y_step` in the output.
struct QuantizedJob {
  const uint8_t* x;
  int64_t count, x_step, y_step;
  const int64_t* offsets;  // of the runs of `run` consecutive groups of four bytes under the window
  int64_t runs, run;
  const int8_t* w;     // [runs * run][panel][4]
  const int8_t* next;  // weights that are needed after these
  int64_t columns;     // of the panel that exist
  const int32_t* start;
  const float *scale, *bias;  // whole panels
  QuantizedPlaces at;
  const QuantizedNumbers* end;
};
using QuantizedLine = void (*)(const QuantizedJob&);
QuantizedLine quantized_line();
int64_t quantized_panel();  // columns

constexpr int64_t quantized_unit = 4;  // input channels that are multiplied at once
inline int64_t whole_quantized_units(int64_t n) { return (n + quantized_unit - 1) / quantized_unit * quantized_unit; }

// [group][panel][run][unit][column of the panel][4]. A run is what lies together under the window: the taps of a row,
// or the channels of one tap. It is filled up to whole units, so that any number of channels can be used where it lies:
// the bytes that follow are multiplied by zero.
struct QuantizedWeights : PanelWeights {  // depth in bytes
  bool rows = false;                      // runs are rows of taps
  int64_t run = 0, runs = 0;              // bytes
  hwy::AlignedFreeUniquePtr<int8_t[]> packed;
  std::vector<int32_t> sums;  // of the weights of a column
};
QuantizedWeights quantized_pack(Pack& ctx);

}  // namespace graft
