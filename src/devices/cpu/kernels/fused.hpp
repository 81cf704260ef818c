// What the kernels of FusedConvolution share: attributes and sizes.
#pragma once

#include <graft/kit/epilogue.hpp>

#include "convolution.hpp"

namespace graft {

struct FusedAttributes : WindowAttributes, EpilogueAttributes {
  bool grouped = false;
  static constexpr std::tuple schema{strides_attr,      dilations_attr,
                                     pads_begin_attr,   pads_end_attr,
                                     auto_pad_attr,     attr("grouped", &FusedAttributes::grouped, ""),
                                     epilogue_low_attr, epilogue_high_attr,
                                     activation_attr,   activation_numbers_attr};
};

inline constexpr std::string_view fused_convolution = "FusedConvolution";

// Channels-last kernels: one combination of layouts; weights and bias stay plain.
inline std::vector<Kernel::Ports> fused_layouts() {
  constexpr Layout last = Layout::channels_last;
  return {{{last, Layout::plain, Layout::plain, last}, {last}}};
}

// The sizes with at most two spatial axes, for tensors with the channels last. A window that is flat in a volume is one
// in images: planes that do not meet are images of the batch, and rows that do not meet are one long row.
inline ConvolutionSizes image_sizes(Accept& ctx, const WindowAttributes& a) {
  ConvolutionSizes s = convolution_sizes(ctx, a);
  auto& [z, y, x] = s.axes;
  auto flat = [](const WindowAxis& w) { return w.kernel == 1 && w.stride == 1 && w.begin == 0 && w.input == w.output; };
  if (flat(z)) {
    s.batch *= z.output;
  } else {
    if (!flat(y) || !flat(x)) unsupported("expected a window over at most two axes, or along the first of three");
    x.input = x.output = y.output * x.output;
    y = z;
  }
  z = {};
  return s;
}

inline void fused_accept(Accept& ctx) {
  convolution_accept(ctx);
  if (!ctx.is_constant(1)) unsupported("requires constant weights");
  image_sizes(ctx, ctx.attributes<FusedAttributes>());
}

}  // namespace graft
