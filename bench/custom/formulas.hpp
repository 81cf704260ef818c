// What the custom operations of bench/custom_models.py compute, for the engines that take C++.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace formulas {

// onnxruntime-extensions takes operations in Python in this domain only, and all engines read the same files.
constexpr const char* domain = "ai.onnx.contrib";

// The functions are found for vectors, too, where an SDK has such.
inline constexpr auto mish = [](auto x) {
  using std::exp, std::log, std::tanh;
  return x * tanh(log(1 + exp(x)));
};
inline constexpr auto cosine = [](auto x) {
  using std::cosh;
  return cosh(x);
};

// A picture [N, C, H, W] in memory, in either layout.
struct Picture {
  int64_t batch, channels, rows, columns, channel_step, pixel_step;
  template <class Dims>
  Picture(const Dims& d, bool last)
      : batch(static_cast<int64_t>(d[0])),
        channels(static_cast<int64_t>(d[1])),
        rows(static_cast<int64_t>(d[2])),
        columns(static_cast<int64_t>(d[3])),
        channel_step(last ? 1 : rows * columns),
        pixel_step(last ? channels : 1) {}
  int64_t pixels() const { return rows * columns; }
  int64_t image() const { return channels * pixels(); }
};

// Each pixel's channels divided by their length, times gain[c], for the pixels from `begin` to `end` of all images.
inline void normalize_pixels(const Picture& p, const float* x, const float* gain, float* y, int64_t begin,
                             int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    int64_t at = i / p.pixels() * p.image() + i % p.pixels() * p.pixel_step;
    float square = 0;
    for (int64_t c = 0; c < p.channels; ++c) square += x[at + c * p.channel_step] * x[at + c * p.channel_step];
    float scale = 1 / (std::sqrt(square) + 1e-6f);
    for (int64_t c = 0; c < p.channels; ++c) y[at + c * p.channel_step] = x[at + c * p.channel_step] * scale * gain[c];
  }
}

struct Sample {
  int64_t corner[4];
  float weight[4];
};
inline Sample sample_at(const Picture& p, float x, float y) {
  x = std::clamp(x, 0.0f, static_cast<float>(p.columns - 1)), y = std::clamp(y, 0.0f, static_cast<float>(p.rows - 1));
  auto x0 = static_cast<int64_t>(x), y0 = static_cast<int64_t>(y);
  int64_t x1 = std::min(x0 + 1, p.columns - 1), y1 = std::min(y0 + 1, p.rows - 1);
  float u = x - static_cast<float>(x0), v = y - static_cast<float>(y0);
  return {{y0 * p.columns + x0, y0 * p.columns + x1, y1 * p.columns + x0, y1 * p.columns + x1},
          {(1 - v) * (1 - u), (1 - v) * u, v * (1 - u), v * u}};
}

// Bilinear samples at the places that the flow [N, 2, H, W] (x, y) points to, limited to the picture; rows of all
// images.
inline void warp_rows(const Picture& p, const float* x, const float* flow, float* y, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    int64_t n = i / p.rows, row = i % p.rows;
    const float *image = x + n * p.image(), *place = flow + n * 2 * p.pixels() + row * p.columns;
    for (int64_t column = 0; column < p.columns; ++column) {
      Sample s = sample_at(p, static_cast<float>(column) + place[column],
                           static_cast<float>(row) + place[p.pixels() + column]);
      const float *a = image + s.corner[0] * p.pixel_step, *b = image + s.corner[1] * p.pixel_step,
                  *c = image + s.corner[2] * p.pixel_step, *d = image + s.corner[3] * p.pixel_step;
      float* to = y + n * p.image() + (row * p.columns + column) * p.pixel_step;
      for (int64_t channel = 0, k = 0; channel < p.channels; ++channel, k += p.channel_step)
        to[k] = a[k] * s.weight[0] + b[k] * s.weight[1] + c[k] * s.weight[2] + d[k] * s.weight[3];
    }
  }
}

}  // namespace formulas
