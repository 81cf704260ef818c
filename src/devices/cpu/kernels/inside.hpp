// Convolutions whose weights are not all finite.
//
// Padding contributes nothing, not even where the weight is infinite or NaN. Kernels that multiply weights by the zeros
// of the padding leave such weights to `convolve_inside`, which is slow, but takes the taps inside the input only.
#pragma once

#include <bit>

#include "fused.hpp"

namespace graft {

inline bool all_finite(const float* values, int64_t count) {
  constexpr uint32_t exponent = 0x7f800000;
  uint32_t found = 0;
  for (int64_t i = 0; i < count; ++i) found |= (std::bit_cast<uint32_t>(values[i]) & exponent) == exponent;
  return found == 0;
}
// A copy of weights that are not all finite; empty for all others.
inline Floats not_finite(TensorView w) {
  const float* from = w.data<float>();
  if (all_finite(from, w.size())) return {};
  Floats out = allocate_floats(static_cast<size_t>(w.size()));
  std::copy(from, from + w.size(), out.get());
  return out;
}

// Weights are [group][output][input][tap]; data and result have the channels last or are plain. `end(sum, channel,
// position)` gives the result at a position of `y`.
template <class End>
void convolve_inside(Run& ctx, const ConvolutionSizes& s, const float* w, bool last, const float* x, float* y,
                     End end) {
  const auto& [az, ay, ax] = s.axes;
  int64_t channels = s.groups * s.inputs, outputs = s.groups * s.outputs;
  int64_t from = input_plane(s.axes), to = output_plane(s.axes), taps = s.taps();
  auto sum_at = [&, &az = az, &ay = ay, &ax = ax](int64_t n, int64_t o, int64_t pz, int64_t py, int64_t px) {
    double sum = 0;
    auto [z0, z1] = az.taps(pz);
    auto [y0, y1] = ay.taps(py);
    auto [x0, x1] = ax.taps(px);
    for (int64_t i = 0; i < s.inputs; ++i) {
      const float* weights = w + (o * s.inputs + i) * taps;
      int64_t c = o / s.outputs * s.inputs + i;
      for (int64_t tz = z0; tz < z1; ++tz)
        for (int64_t ty = y0; ty < y1; ++ty)
          for (int64_t tx = x0; tx < x1; ++tx) {
            int64_t row = (pz * az.stride + az.offset(tz)) * ay.input + py * ay.stride + ay.offset(ty);
            int64_t at = row * ax.input + px * ax.stride + ax.offset(tx);
            double value = x[last ? (n * from + at) * channels + c : (n * channels + c) * from + at];
            sum += value * double{weights[(tz * ay.kernel + ty) * ax.kernel + tx]};
          }
    }
    return sum;
  };
  ctx.parallel_for(s.batch * outputs, 1, [&, &ay = ay, &ax = ax](int64_t begin, int64_t stop) {
    for (int64_t t = begin; t < stop; ++t)
      for (int64_t p = 0; p < to; ++p) {
        int64_t n = t / outputs, o = t % outputs, at = last ? (n * to + p) * outputs + o : t * to + p;
        y[at] = end(sum_at(n, o, p / ax.output / ay.output, p / ax.output % ay.output, p % ax.output), o, at);
      }
  });
}

// Tensors with the channels last and weights that are not all finite.
inline void fused_inside(Run& ctx, const Epilogue& epilogue, const ConvolutionSizes& s, const float* w) {
  const float* bias = ctx.has_input(2) ? ctx.input(2).data<const float>() : nullptr;
  const float* more = ctx.has_input(3) ? ctx.input(3).channels_last<const float>() : nullptr;
  float* y = ctx.output(0).channels_last<float>();
  convolve_inside(ctx, s, w, true, ctx.input(0).channels_last<const float>(), y,
                  [&](double sum, int64_t channel, int64_t at) {
                    double v = sum + double{bias ? bias[channel] : 0.0f} + double{more ? more[at] : 0.0f};
                    return epilogue.bounded(static_cast<float>(v));
                  });
  epilogue.activate(y, 1, 0, ctx.output(0).size());
}

}  // namespace graft
