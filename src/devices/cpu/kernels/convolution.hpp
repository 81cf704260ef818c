// Shared by the CPU convolutions: attributes, sizes, and common reasons to decline.
#pragma once

#include <graft/kit/windows.hpp>

#include "gemm.hpp"
#include "scratch.hpp"

namespace graft {

struct ConvolutionAttributes : WindowAttributes {
  static constexpr std::tuple schema{strides_attr, dilations_attr, pads_begin_attr, pads_end_attr, auto_pad_attr};
};

struct ConvolutionSizes {
  WindowAxes axes;
  int64_t batch = 0, groups = 1, outputs = 0, inputs = 0;  // channels per group
  int64_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
};

inline ConvolutionSizes convolution_sizes(Accept& ctx, const WindowAttributes& a) {
  std::vector<int64_t> x = ctx.shape(0).values(), w = ctx.shape(1).values(), y = ctx.output(0).shape.values();
  size_t leading = w.size() - (x.size() - 2);  // one more with groups
  ConvolutionSizes s;
  s.axes = window_axes(std::span(x).subspan(2), std::span(y).subspan(2), std::span(w).subspan(leading), a);
  s.batch = x[0];
  s.groups = leading == 3 ? w[0] : 1;
  s.outputs = w[leading - 2];
  s.inputs = w[leading - 1];
  return s;
}

inline void convolution_accept(Accept& ctx) {
  if (ctx.type(0) != DType::f32 || ctx.type(1) != DType::f32) unsupported("expected f32, got ", ctx.type(0));
  if (!ctx.shape(0).is_static() || !ctx.shape(1).is_static() || !ctx.output(0).shape.is_static())
    unsupported("requires static shapes");
}

}  // namespace graft
