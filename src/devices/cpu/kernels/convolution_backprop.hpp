// Shared by the kernels of transposed convolutions: attributes, sizes, and common reasons to decline.
#pragma once

#include "convolution.hpp"

namespace graft {

struct BackpropAttributes : WindowAttributes {
  std::vector<int64_t> output_padding;
  static constexpr std::tuple schema{strides_attr,    dilations_attr,
                                     pads_begin_attr, pads_end_attr,
                                     auto_pad_attr,   attr("output_padding", &BackpropAttributes::output_padding, "")};
};

// Spatial axes of a node: its weights have one more leading dimension with groups.
inline size_t backprop_axes(Accept& ctx) { return ctx.shape(0).rank() - 2; }

struct BackpropSizes {
  WindowAxes axes;  // our output is the image of the forward convolution, our input its result
  int64_t batch = 0, groups = 1, inputs = 0, outputs = 0;  // channels per group
  int64_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
};

inline BackpropSizes backprop_sizes(Accept& ctx, const WindowAttributes& attributes) {
  std::vector<int64_t> x = ctx.shape(0).values(), w = ctx.shape(1).values(), y = ctx.output(0).shape.values();
  size_t axes = backprop_axes(ctx), leading = w.size() - axes;
  WindowAttributes a = complete_windows<WindowAttributes>(attributes, axes);
  a.auto_pad = AutoPad::given;
  BackpropSizes s;
  s.axes = window_axes(std::span(y).subspan(2), std::span(x).subspan(2), std::span(w).subspan(leading), a);
  s.batch = x[0], s.groups = leading == 3 ? w[0] : 1, s.inputs = w[leading - 2], s.outputs = w[leading - 1];
  return s;
}

inline void backprop_accept(Accept& ctx) {
  convolution_accept(ctx);
  auto pad = ctx.attr<std::string>("auto_pad");
  if (ctx.has_input(2) && pad.starts_with("same")) unsupported("requires explicit padding");
  std::vector<int64_t> w = ctx.shape(1).values();
  // A thread holds the contributions of all taps for a block of positions.
  constexpr int64_t most = 8192;
  int64_t taps = count_of(std::span(w).subspan(w.size() - backprop_axes(ctx)));
  if (taps > most) unsupported("expected windows of at most ", most, " elements, got ", taps);
}

}  // namespace graft
