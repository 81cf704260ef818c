// Shared by average and max pooling.
#pragma once

#include <graft/windows.hpp>

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
