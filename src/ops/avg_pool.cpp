#include <graft/op.hpp>

#include "pooling.hpp"

namespace graft {
namespace {

struct AvgPoolAttributes : PoolAttributes {
  bool exclude_pad = false;
};
constexpr auto exclude_pad_attr =
    attr("exclude-pad", &AvgPoolAttributes::exclude_pad, "exclude padding from the divisor");

struct AvgPool : AvgPoolAttributes {
  static constexpr std::tuple schema{kernel_attr,      strides_attr,  pads_begin_attr, pads_end_attr,
                                     exclude_pad_attr, auto_pad_attr, rounding_attr};
};
struct AvgPool16 : AvgPoolAttributes {
  static constexpr std::tuple schema{kernel_attr,      strides_attr,  pads_begin_attr, pads_end_attr,
                                     exclude_pad_attr, auto_pad_attr, rounding_attr,   dilations_attr};
};

void avg_pool_infer1(Infer& ctx, const AvgPool& a) {
  if (a.rounding_type == Rounding::ceil_torch)
    fail("expected rounding_type 'floor' or 'ceil', got 'ceil_torch', which needs AvgPool of opset14 or later");
  ctx.output(0, ctx.type(0), pool_shape(ctx, a));
}
void avg_pool_infer(Infer& ctx, const AvgPool& a) { ctx.output(0, ctx.type(0), pool_shape(ctx, a)); }
void avg_pool_infer16(Infer& ctx, const AvgPool16& a) { ctx.output(0, ctx.type(0), pool_shape(ctx, a)); }

// With exclude-pad false, the divisor includes explicit padding. A window that extends past the end only because the
// output size is rounded up still counts just the elements it covers.
template <class T>
std::vector<double> average_windows(const std::vector<T>& x, int64_t planes, const WindowAxes& axes, bool exclude_pad) {
  bool all = !exclude_pad && (axes[0].padded || axes[1].padded || axes[2].padded);
  double taps = 1;
  for (const WindowAxis& w : axes) taps *= static_cast<double>(w.kernel);
  std::vector<double> y(static_cast<size_t>(planes * output_plane(axes)));
  for (int64_t p = 0; p < planes; ++p) {
    const T* from = x.data() + p * input_plane(axes);
    double* to = y.data() + p * output_plane(axes);
    double sum = 0, count = 0;
    each_window(
        axes, [&](int64_t) { sum = count = 0; }, [&](int64_t at) { sum += static_cast<double>(from[at]), count += 1; },
        [&](int64_t at) {
          double n = all ? taps : count;
          to[at] = n == 0 ? 0 : sum / n;
        });
  }
  return y;
}

void avg_pool_any(Run& ctx, const AvgPoolAttributes& a) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  WindowAxes axes = window_axes(x.dims().subspan(2), y.dims().subspan(2), a.kernel, a);
  std::vector<double> out = average_windows(x.to<double>(), x.dim(0) * x.dim(1), axes, a.exclude_pad);
  // OpenVINO rounds 8-bit averages to nearest even and truncates wider integers.
  if (is_integer(x.type()) && bits_of(x.type()) <= 8)
    for (double& v : out) v = std::nearbyint(v);
  y.assign(out);
}
void avg_pool_run(Run& ctx, const AvgPool& a) { avg_pool_any(ctx, a); }
void avg_pool_run16(Run& ctx, const AvgPool16& a) { avg_pool_any(ctx, a); }

// ---- earlier opsets ----

void avg_pool_as_14(Rewrite& at) {
  if (all_ones(at.get<std::vector<int64_t>>("dilations", {}))) at.restate("AvgPool@14", {at.input(0)}, {"dilations"});
}
void avg_pool_as_1(Rewrite& at) {
  if (auto rounding = earlier_rounding(at.node()))
    at.restate("AvgPool@1", {at.input(0)}, {}, {{"rounding_type", *rounding}});
}

}  // namespace

Definitions define_avg_pool() {
  constexpr std::string_view doc = "Average pooling over a sliding window";
  return {
      op<AvgPool>("AvgPool", 1)
          .doc(doc)
          .traits(Trait::channelwise, Trait::widens)
          .inputs("data")
          .infer(avg_pool_infer1)
          .reference(avg_pool_run),
      op<AvgPool>("AvgPool", 14)
          .doc(doc)
          .traits(Trait::channelwise, Trait::widens)
          .inputs("data")
          .infer(avg_pool_infer)
          .reference(avg_pool_run)
          .earlier(avg_pool_as_1),
      op<AvgPool16>("AvgPool", 16)
          .doc(doc)
          .traits(Trait::channelwise, Trait::widens)
          .inputs("data")
          .infer(avg_pool_infer16)
          .reference(avg_pool_run16)
          .earlier(avg_pool_as_14),
  };
}

}  // namespace graft
