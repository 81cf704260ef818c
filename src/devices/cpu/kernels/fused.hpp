// What the kernels of FusedConvolution share: attributes, sizes, and the end of the computation.
#pragma once

#include <graft/activation.hpp>

#include "convolution.hpp"
#include "finish.hpp"

namespace graft {

struct FusedAttributes : WindowAttributes, Activation {
  bool grouped = false;
  static constexpr std::tuple schema{strides_attr,    dilations_attr,    pads_begin_attr,
                                     pads_end_attr,   auto_pad_attr,     attr("grouped", &FusedAttributes::grouped, ""),
                                     activation_attr, activation_a_attr, activation_b_attr};
};

inline constexpr std::string_view fused_convolution = "FusedConvolution";

// Channels-last kernels: one combination of layouts; weights and bias stay plain.
inline std::vector<Kernel::Ports> fused_layouts() {
  constexpr Layout last = Layout::channels_last;
  return {{{last, Layout::plain, Layout::plain, last}, {last}}};
}

inline void fused_accept(Accept& ctx) {
  convolution_accept(ctx);
  if (!ctx.is_constant(1)) unsupported("requires constant weights");
  if (ctx.shape(0).rank() > 4) unsupported("expected at most two spatial axes, got ", ctx.shape(0));
}

}  // namespace graft
