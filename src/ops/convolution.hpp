// Shared by all convolutions: matching data with weights, and the loop nest.
#pragma once

#include <graft/kit/known.hpp>
#include <graft/kit/windows.hpp>
#include <graft/numeric.hpp>

namespace graft {

// Matches the spatial axes of data [N, C, ...] with those of weights that have `leading` axes in front of theirs. An
// unranked shape becomes a ranked one with unknown dimensions. Returns false if both are unranked.
inline bool match_spatial_rank(Shape& data, Shape& weights, size_t leading) {
  if (!data.ranked() && !weights.ranked()) return false;
  if (!weights.ranked()) weights = Shape::of_rank(data.rank() < 2 ? leading : data.rank() - 2 + leading);
  if (!data.ranked()) data = Shape::of_rank(weights.rank() < leading ? 2 : weights.rank() - leading + 2);
  if (data.rank() < 3 || data.rank() > 5) fail("expected data with 1 to 3 spatial axes, got shape ", data);
  if (weights.rank() != data.rank() - 2 + leading)
    fail("expected weights of rank ", data.rank() - 2 + leading, " for data of shape ", data, ", got shape ", weights);
  return true;
}

inline void check_channels(const Dim& found, const Dim& wanted) {
  agree(found, wanted, "channels in the data", "to match the weights");
}

// The shape of the result. Weights are [O, I, ...], or [G, O, I, ...] with groups.
inline Shape convolution_shape(Infer& ctx, const WindowAttributes& attributes, bool grouped) {
  Shape data = ctx.shape(0), weights = ctx.shape(1);
  size_t leading = grouped ? 3 : 2;
  if (!match_spatial_rank(data, weights, leading)) return Shape::unknown();
  size_t spatial = data.rank() - 2;
  WindowAttributes a = complete_windows(attributes, spatial);
  Dim groups = grouped ? weights[0] : Dim(1), channels = groups * weights[leading - 1];
  if (grouped && groups.max() == 0) fail("expected weights with a group axis, got shape ", weights);
  check_channels(data[1], channels);
  Shape out{data[0], groups * weights[leading - 2]};
  for (size_t i = 0; i < spatial; ++i)
    out.push_back(window_positions(data[i + 2], weights[i + leading], a, i, Rounding::floor));
  return out;
}
inline Info convolution_info(Infer& ctx, const WindowAttributes& attributes, bool grouped) {
  DType type = common_type(ctx);
  return {type, convolution_shape(ctx, attributes, grouped)};
}

// One convolution, forward or backward. The "outer" side is the one that the kernel taps touch.
struct ConvolutionPlan {
  WindowAxes axes;
  int64_t batch = 0, groups = 1, inputs = 0, outputs = 0;  // channels per group
};

inline ConvolutionPlan convolution_plan(std::span<const int64_t> x, std::span<const int64_t> w,
                                        std::span<const int64_t> y, const WindowAttributes& a, bool grouped) {
  size_t leading = grouped ? 3 : 2;
  ConvolutionPlan plan;
  plan.axes = window_axes(x.subspan(2), y.subspan(2), w.subspan(leading), a);
  plan.batch = x[0], plan.groups = grouped ? w[0] : 1;
  plan.outputs = w[leading - 2], plan.inputs = w[leading - 1];
  return plan;
}

// y[n, g, o] = sum over i and taps of w(g, o, i, tap) * x[n, g, i]. `backward` swaps the two sides of the window and
// expects the weights as [g, i, o].
template <bool backward, class T>
std::vector<T> convolve(const ConvolutionPlan& p, const std::vector<T>& x, const std::vector<T>& w) {
  int64_t from = backward ? output_plane(p.axes) : input_plane(p.axes);
  int64_t to = backward ? input_plane(p.axes) : output_plane(p.axes);
  int64_t taps = p.axes[0].kernel * p.axes[1].kernel * p.axes[2].kernel, stride = p.axes[2].stride;
  std::vector<T> y(static_cast<size_t>(p.batch * p.groups * p.outputs * to));
  if (y.empty() || x.empty() || w.empty()) return y;
  for (int64_t n = 0; n < p.batch; ++n)
    for (int64_t g = 0; g < p.groups; ++g)
      for (int64_t o = 0; o < p.outputs; ++o) {
        T* target = y.data() + ((n * p.groups + g) * p.outputs + o) * to;
        for (int64_t i = 0; i < p.inputs; ++i) {
          const T* source = x.data() + ((n * p.groups + g) * p.inputs + i) * from;
          const T* kernel = w.data() + (backward ? (g * p.inputs + i) * p.outputs + o  //
                                                 : (g * p.outputs + o) * p.inputs + i) *
                                           taps;
          each_tap(p.axes, [&](int64_t at, int64_t tz, int64_t ty, int64_t tx) {
            const T weight = kernel[at];
            each_run(p.axes, tz, ty, tx, [&](int64_t dense, int64_t spread, int64_t count) {
              T* t = target + (backward ? spread : dense);
              const T* s = source + (backward ? dense : spread);
              int64_t t_step = backward ? stride : 1, s_step = backward ? 1 : stride;
              for (int64_t k = 0; k < count; ++k)
                t[k * t_step] = wrap_add(t[k * t_step], wrap_mul(weight, s[k * s_step]));
            });
          });
        }
      }
  return y;
}

}  // namespace graft
