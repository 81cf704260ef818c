// What the kernels of pooling share.
#pragma once

#include <graft/kit/windows.hpp>
#include <graft/op.hpp>

namespace graft {

Definitions volume_pool();  // pool_volume.cpp
Definitions byte_pool();    // quantize.cpp

inline WindowAxes pool_axes(Accept& ctx) {
  std::vector<int64_t> x = ctx.shape(0).values(), y = ctx.output(0).shape.values();
  auto kernel = ctx.attr<std::vector<int64_t>>("kernel");
  WindowAttributes a;
  a.strides = ctx.attr<std::vector<int64_t>>("strides");
  a.dilations = ctx.attr<std::optional<std::vector<int64_t>>>("dilations").value_or(std::vector<int64_t>());
  a.pads_begin = ctx.attr<std::vector<int64_t>>("pads_begin");
  a.pads_end = ctx.attr<std::vector<int64_t>>("pads_end");
  auto pad = ctx.attr<std::string>("auto_pad");
  a.auto_pad = pad == "same_lower"   ? AutoPad::same_lower
               : pad == "same_upper" ? AutoPad::same_upper
               : pad == "valid"      ? AutoPad::valid
                                     : AutoPad::given;
  return window_axes(std::span(x).subspan(2), std::span(y).subspan(2), kernel, a);
}

// Declines windows without any element, whose maximum is a matter of definition.
inline void accept_full_windows(const WindowAxes& axes) {
  for (const WindowAxis& w : axes)
    for (int64_t i = 0; i < w.output; ++i)
      if (auto [first, last] = w.taps(i); first == last) unsupported("requires windows with at least one element");
}
inline void accept_indices(Accept& ctx) {
  if (ctx.outputs() < 2) return;
  if (DType t = ctx.output(1).type; t != DType::i32 && t != DType::i64)
    unsupported("expected indices of type i32 or i64, got ", t);
}

// Whether a value takes the place of the largest one so far. A NaN is larger than all numbers.
inline bool beats(float x, float most) { return x > most || (x != x && most == most); }

}  // namespace graft
