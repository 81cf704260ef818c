// Sliding windows over the spatial axes of a tensor: what convolution and pooling share.
//
// Along one axis, tap `k` of the window at position `o` is at input element `o * stride + k * dilation - begin`. Shape
// functions ask how many positions there are, kernels which of them put a tap inside the input:
//
//   WindowAttributes a = complete_windows(attributes, 2);
//   Dim height = window_positions(data[2], weights[2], a, 0, Rounding::floor);
//
//   WindowAxes axes = window_axes(x.dims().subspan(2), y.dims().subspan(2), w.dims().subspan(2), a);
//   each_tap(axes, [&](int64_t k, int64_t tz, int64_t ty, int64_t tx) {
//     each_run(axes, tz, ty, tx, [&](int64_t to, int64_t from, int64_t n) {
//       for (int64_t i = 0; i < n; ++i) y[to + i] += w[k] * x[from + i * axes[2].stride];
//     });
//   });
//
// Padding is never materialized: taps inside it are skipped. Functions that get invalid attributes fail (types.hpp);
// all are pure and may be called from any thread.
#pragma once

#include "../op.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// Where the padding comes from: the attributes, or so that output size = ceil(input size / stride), with the odd
// element at the beginning (lower) or the end (upper), or none at all.
enum class AutoPad { given, same_lower, same_upper, valid };
// Rounding of the number of positions. ceil_torch drops a last window that would start in the padding at the end.
enum class Rounding { floor, ceil, ceil_torch };

// Attributes of a window. Empty lists stand for the default of every axis; `complete_windows` fills them in. Operations
// derive from this struct and list the specs below in their schema:
//
//   struct Convolution : WindowAttributes {
//     static constexpr std::tuple schema{strides_attr, pads_begin_attr, pads_end_attr, dilations_attr, auto_pad_attr};
//   };
//
// Negative padding crops the input.
struct WindowAttributes {
  std::vector<int64_t> strides, dilations, pads_begin, pads_end;
  AutoPad auto_pad = AutoPad::given;
};

// Far beyond any tensor, and small enough that products of two such numbers cannot overflow.
inline constexpr double window_limit = 2147483647;

// Specs for schemas: the names and bounds are those of the opset, and the same in every operation with windows.
inline constexpr auto strides_attr =
    attr("strides", &WindowAttributes::strides, "step of the window along each spatial axis; empty: 1")
        .between(1, window_limit);
inline constexpr auto dilations_attr = attr("dilations", &WindowAttributes::dilations,
                                            "dilation: distance between neighboring taps of the window; empty: 1")
                                           .between(1, window_limit);
inline constexpr auto pads_begin_attr =
    attr("pads_begin", &WindowAttributes::pads_begin, "padding at the beginning of each spatial axis; empty: 0")
        .between(-window_limit, window_limit);
inline constexpr auto pads_end_attr =
    attr("pads_end", &WindowAttributes::pads_end, "padding at the end of each spatial axis; empty: 0")
        .between(-window_limit, window_limit);
// With same_* and valid, pads_begin and pads_end are ignored.
inline constexpr auto auto_pad_attr =
    attr("auto_pad", &WindowAttributes::auto_pad, "padding mode: explicit, or computed from the sizes")
        .one_of("explicit", "same_lower", "same_upper", "valid");

// Replaces an empty list by the default for each spatial axis; fails if the length of another one does not match.
inline void complete_list(std::vector<int64_t>& list, std::string_view name, size_t axes, int64_t fallback) {
  if (list.empty()) list.assign(axes, fallback);
  if (list.size() != axes) fail("expected ", axes, " values in '", name, "', one per spatial axis, got ", list.size());
}
// A copy of the attributes in which every list has one value per spatial axis. With automatic padding, the explicit
// pads are ignored and set to 0.
template <class A>
A complete_windows(A a, size_t axes) {
  complete_list(a.strides, "strides", axes, 1);
  complete_list(a.dilations, "dilations", axes, 1);
  if (a.auto_pad != AutoPad::given) {
    a.pads_begin.assign(axes, 0);
    a.pads_end.assign(axes, 0);
  }
  complete_list(a.pads_begin, "pads_begin", axes, 0);
  complete_list(a.pads_end, "pads_end", axes, 0);
  return a;
}

// Whether the padding depends on the input size.
inline bool pads_to_same(AutoPad p) { return p == AutoPad::same_lower || p == AutoPad::same_upper; }

// The number of elements from the first to the last tap, including the gaps of a dilated window: (kernel - 1) *
// dilation
// + 1. Fails for a window without taps.
inline Dim window_extent(const Dim& kernel, int64_t dilation) {
  if (kernel.max() == 0) fail("expected a non-empty window, got a size of 0");
  if (kernel.known()) return (kernel - 1) * Dim(dilation) + 1;
  Dim between_taps = Dim::between(std::max<int64_t>(kernel.min(), 1) - 1,
                                  kernel.max() == Dim::unbounded ? Dim::unbounded : kernel.max() - 1);
  return between_taps * Dim(dilation) + 1;
}

// A dimension plus a signed number; bounds below 0 become 0, and an unbounded dimension stays unbounded.
inline Dim shifted(const Dim& d, int64_t by) {
  auto end = [&](int64_t v) {
    int64_t r;
    if (v == Dim::unbounded || __builtin_add_overflow(v, by, &r)) return Dim::unbounded;
    return std::max<int64_t>(r, 0);
  };
  return by == 0 ? d : Dim::between(end(d.min()), end(d.max()));
}

// The number of positions of a window of `extent` along an axis of `input` elements:
//
//   same_*:    ceil(input / stride)
//   otherwise: floor or ceil((begin + input + end - extent) / stride) + 1
inline int64_t count_positions(int64_t input, int64_t extent, const WindowAttributes& a, size_t axis,
                               Rounding rounding) {
  int64_t stride = a.strides[axis], begin = a.pads_begin[axis], end = a.pads_end[axis];
  if (pads_to_same(a.auto_pad)) {
    int64_t n = input / stride + (input % stride != 0);
    int64_t needed = (n - 1) * stride + extent;
    return n > 0 && rounding == Rounding::ceil && needed < input ? n + 1 : n;
  }
  int64_t room = input + begin + end - extent;
  // Rounding up leaves one position unless a whole stride is missing; otherwise window_positions rejects this if it
  // is certain.
  if (room < 0) return 1;
  int64_t n = room / stride + 1;
  if (rounding != Rounding::floor && room % stride != 0) ++n;
  // The last window must not start in the padding at the end.
  if (rounding == Rounding::ceil_torch && n > 1 && (n - 1) * stride >= input + begin) --n;
  return n;
}
// The same over dimensions that may be unknown; fails if the window certainly does not fit the padded input:
//
//   window_positions(Dim(224), Dim(7), a, 0, Rounding::floor)   // 112 for stride 2 and padding 3
//   window_positions(Dim(), Dim(7), a, 0, Rounding::floor)      // 1..
//
// An axis with stride 1 and "same" padding keeps its dimension, including its symbol.
inline Dim window_positions(const Dim& input, const Dim& kernel, const WindowAttributes& a, size_t axis,
                            Rounding rounding) {
  Dim extent = window_extent(kernel, a.dilations[axis]);
  bool same = pads_to_same(a.auto_pad);
  int64_t added = a.pads_begin[axis] + a.pads_end[axis];
  bool keeps = same ? rounding != Rounding::ceil : extent.known() && extent.value() == added + 1;
  if (a.strides[axis] == 1 && keeps) return input;
  Dim padded = shifted(input, added);
  int64_t missing = rounding == Rounding::floor ? 0 : a.strides[axis] - 1;  // compensated by rounding up
  if (!same && shifted(padded, missing).max() < extent.min())
    fail("a window of ", extent, " does not fit the padded input of ", padded, " along spatial axis ", axis);
  auto positions = [&](int64_t in, int64_t window) {
    constexpr int64_t huge = int64_t{1} << 61;
    return in > huge ? Dim::unbounded : count_positions(in, std::min(window, huge), a, axis, rounding);
  };
  return Dim::between(positions(input.min(), extent.max()), positions(input.max(), extent.min()));
}

// One axis of the loops over windows. `input` is the side that the taps touch, `output` the one with one element per
// position. `padded` tells whether there is any padding. `begin` is the padding at the beginning; that at the end is
// implied by the sizes.
//
//   input = 5, kernel = 3, stride = 2, begin = 1:
//
//   element      -1  0  1  2  3  4  5
//   position 0    x  x  x
//   position 1          x  x  x
//   position 2                x  x  x
struct WindowAxis {
  int64_t input = 1, output = 1, kernel = 1, stride = 1, dilation = 1, begin = 0;
  bool padded = false;

  // The input element under this tap at position 0; negative in the padding. Position o adds o * stride.
  int64_t offset(int64_t tap) const { return tap * dilation - begin; }
  // The taps [first, last) of this position that lie inside the input.
  std::pair<int64_t, int64_t> taps(int64_t position) const {
    int64_t at = position * stride - begin;
    int64_t first = at >= 0 ? 0 : std::min((-at + dilation - 1) / dilation, kernel);
    int64_t last = at >= input ? 0 : std::min((input - 1 - at) / dilation + 1, kernel);
    return {first, std::max(first, last)};
  }
  // The positions [first, last) that put this tap inside the input.
  std::pair<int64_t, int64_t> inside(int64_t tap) const {
    int64_t at = offset(tap);
    int64_t first = at >= 0 ? 0 : (-at + stride - 1) / stride;
    int64_t last = at >= input ? 0 : (input - 1 - at) / stride + 1;
    first = std::min(first, output);
    return {first, std::max(first, std::min(last, output))};
  }
};

// Always three axes, z, y and x; if the tensor has fewer, the first ones have size 1, so that kernels need no cases for
// the rank.
using WindowAxes = std::array<WindowAxis, 3>;

// The axes for known sizes, with automatic padding resolved. Fails for more than three spatial axes or sizes of
// different ranks.
inline WindowAxes window_axes(std::span<const int64_t> input, std::span<const int64_t> output,
                              std::span<const int64_t> kernel, const WindowAttributes& attributes) {
  size_t n = kernel.size();
  if (n > 3 || input.size() != n || output.size() != n) fail("windows over ", n, " spatial axes are not supported");
  WindowAttributes a = complete_windows(attributes, n);
  WindowAxes axes;
  for (size_t i = 0; i < n; ++i) {
    WindowAxis& w = axes[3 - n + i];
    // Tensors without elements may have dimensions of any size.
    if (static_cast<double>(kernel[i]) > window_limit)
      fail("expected a window of at most ", window_limit, ", got ", kernel[i]);
    w = {input[i], output[i], kernel[i], a.strides[i], a.dilations[i], a.pads_begin[i], false};
    int64_t total = a.pads_begin[i] + a.pads_end[i];
    if (pads_to_same(a.auto_pad)) {
      int64_t positions = (w.input + w.stride - 1) / w.stride;
      int64_t needed = (positions - 1) * w.stride + (w.kernel - 1) * w.dilation + 1;
      total = std::max<int64_t>(needed - w.input, 0);
      w.begin = a.auto_pad == AutoPad::same_upper ? total / 2 : total - total / 2;
    }
    w.padded = w.begin != 0 || total != 0;
  }
  return axes;
}

// Calls f(kernel offset, tap z, tap y, tap x) for every tap of a window, in row-major order.
template <class F>
void each_tap(const WindowAxes& axes, F f) {
  int64_t at = 0;
  for (int64_t z = 0; z < axes[0].kernel; ++z)
    for (int64_t y = 0; y < axes[1].kernel; ++y)
      for (int64_t x = 0; x < axes[2].kernel; ++x) f(at++, z, y, x);
}

// Calls f(output offset, input offset, count) for each run of positions along the last axis that puts this tap inside
// the input: output elements are contiguous, input elements `axes[2].stride` apart.
template <class F>
void each_run(const WindowAxes& axes, int64_t z, int64_t y, int64_t x, F f) {
  auto [z0, z1] = axes[0].inside(z);
  auto [y0, y1] = axes[1].inside(y);
  auto [x0, x1] = axes[2].inside(x);
  if (x0 >= x1) return;
  for (int64_t oz = z0; oz < z1; ++oz)
    for (int64_t oy = y0; oy < y1; ++oy) {
      int64_t iz = oz * axes[0].stride + axes[0].offset(z), iy = oy * axes[1].stride + axes[1].offset(y);
      int64_t ix = x0 * axes[2].stride + axes[2].offset(x);
      f((oz * axes[1].output + oy) * axes[2].output + x0, (iz * axes[1].input + iy) * axes[2].input + ix, x1 - x0);
    }
}

// Elements of one channel on either side.
inline int64_t input_plane(const WindowAxes& axes) { return axes[0].input * axes[1].input * axes[2].input; }
inline int64_t output_plane(const WindowAxes& axes) { return axes[0].output * axes[1].output * axes[2].output; }

}  // namespace graft
