// Shared by average and max pooling.
#pragma once

#include <graft/kit/windows.hpp>

namespace graft {

struct PoolAttributes : WindowAttributes {
  std::vector<int64_t> kernel;
  Rounding rounding_type = Rounding::floor;
};
inline constexpr auto kernel_attr =
    attr("kernel", &PoolAttributes::kernel, "size of the window along each spatial axis")
        .required()
        .between(1, window_limit);
inline constexpr auto rounding_attr =
    attr("rounding_type", &PoolAttributes::rounding_type, "rounding of the output size")
        .one_of("floor", "ceil", "ceil_torch");

inline Shape pool_shape(Infer& ctx, const PoolAttributes& attributes) {
  Shape data = ctx.shape(0);
  size_t spatial = attributes.kernel.size();
  if (!data.ranked()) data = Shape::of_rank(spatial + 2);
  if (data.rank() < 3 || data.rank() > 5) fail("expected data with 1 to 3 spatial axes, got shape ", data);
  if (data.rank() != spatial + 2)
    fail("expected ", data.rank() - 2, " values in 'kernel' for data of shape ", data, ", got ", spatial);
  WindowAttributes a = complete_windows<WindowAttributes>(attributes, spatial);
  Shape out{data[0], data[1]};
  for (size_t i = 0; i < spatial; ++i)
    out.push_back(window_positions(data[i + 2], attributes.kernel[i], a, i, attributes.rounding_type));
  return out;
}

// The rounding type of earlier opsets that yields the same number of positions as that of the node; none if this is
// not certain for either. Their 'ceil' differs from 'ceil_torch' in a last window that starts in the end padding:
// 'ceil_torch' drops it.
inline std::optional<std::string> earlier_rounding(const NodeRef& n) {
  auto rounding = n.get<std::string>("rounding_type");
  if (rounding != "ceil_torch") return rounding;
  auto mode = n.get<std::string>("auto_pad");
  if (mode == "same_upper" || mode == "same_lower") return "floor";
  auto kernel = n.get<std::vector<int64_t>>("kernel");
  WindowAttributes a;
  a.auto_pad = mode == "valid" ? AutoPad::valid : AutoPad::given;
  a.strides = n.get<std::vector<int64_t>>("strides", {}), a.dilations = n.get<std::vector<int64_t>>("dilations", {});
  a.pads_begin = n.get<std::vector<int64_t>>("pads_begin", {}),
  a.pads_end = n.get<std::vector<int64_t>>("pads_end", {});
  a = complete_windows(a, kernel.size());
  Shape data = n.input(0).shape();
  bool as_ceil = true, as_floor = true;
  for (size_t i = 0; i < kernel.size(); ++i) {
    int64_t extent = (kernel[i] - 1) * a.dilations[i] + 1;
    bool always = a.pads_end[i] + a.strides[i] <= extent;  // no window can start in the end padding
    if (!data.ranked() || !data[i + 2].known()) {
      as_ceil = as_ceil && always, as_floor = as_floor && a.strides[i] == 1;
      continue;
    }
    auto positions = [&](Rounding r) { return count_positions(data[i + 2].value(), extent, a, i, r); };
    as_ceil = as_ceil && (always || positions(Rounding::ceil) == positions(Rounding::ceil_torch));
    as_floor = as_floor && positions(Rounding::floor) == positions(Rounding::ceil_torch);
  }
  if (as_ceil) return "ceil";
  if (as_floor) return "floor";
  return std::nullopt;
}
inline bool all_ones(const std::vector<int64_t>& list) {
  return std::all_of(list.begin(), list.end(), [](int64_t x) { return x == 1; });
}

// For every window position calls begin(position), element(offset in the plane) for each covered input element in
// row-major order, and end(position).
template <class Begin, class Element, class End>
void each_window(const WindowAxes& axes, Begin begin, Element element, End end) {
  int64_t at = 0;
  for (int64_t oz = 0; oz < axes[0].output; ++oz)
    for (int64_t oy = 0; oy < axes[1].output; ++oy)
      for (int64_t ox = 0; ox < axes[2].output; ++ox, ++at) {
        begin(at);
        auto [z0, z1] = axes[0].taps(oz);
        auto [y0, y1] = axes[1].taps(oy);
        auto [x0, x1] = axes[2].taps(ox);
        for (int64_t z = z0; z < z1; ++z)
          for (int64_t y = y0; y < y1; ++y) {
            int64_t iz = oz * axes[0].stride + axes[0].offset(z), iy = oy * axes[1].stride + axes[1].offset(y);
            int64_t row = (iz * axes[1].input + iy) * axes[2].input + ox * axes[2].stride - axes[2].begin;
            for (int64_t x = x0; x < x1; ++x) element(row + x * axes[2].dilation);
          }
        end(at);
      }
}

}  // namespace graft
