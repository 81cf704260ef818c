#include <graft/op.hpp>

#include "slots.hpp"

namespace graft {
namespace {

struct Mvn2 {
  double eps = 1e-9;
  bool across_channels = true, normalize_variance = true;
  std::vector<int64_t> reduction_axes;
  static constexpr std::tuple schema{
      attr("eps", &Mvn2::eps, "value added to the variance for numerical stability"),
      attr("across_channels", &Mvn2::across_channels, "normalize all channels together instead of separately"),
      attr("normalize_variance", &Mvn2::normalize_variance, "also divide by the standard deviation"),
      attr("reduction_axes", &Mvn2::reduction_axes, "axes to normalize over; empty: all axes after the channels")};
};
struct Mvn6 {
  float eps = 0;
  bool normalize_variance = true;
  enum Where { inside, outside } eps_mode = inside;
  static constexpr std::tuple schema{
      attr("eps", &Mvn6::eps, "value added to the variance or to its square root for numerical stability").required(),
      attr("normalize_variance", &Mvn6::normalize_variance, "also divide by the standard deviation").required(),
      attr("eps_mode", &Mvn6::eps_mode, "whether eps is added inside or outside of the square root")
          .required()
          .one_of("INSIDE_SQRT", "OUTSIDE_SQRT")};
};

void mvn2_infer(Infer& ctx, const Mvn2& a) {
  Shape data = ctx.shape(0);
  if (data.ranked()) normalize_axes(a.reduction_axes, data.rank());
  ctx.output(0, ctx.type(0), data);
}
void mvn6_infer(Infer& ctx, const Mvn6&) {
  Shape data = ctx.shape(0);
  axes_input(ctx, 1, data);
  ctx.output(0, ctx.type(0), data);
}

void normalize_mean_variance(TensorView x, OutputView y, const std::vector<size_t>& axes, bool variance, double eps,
                             bool outside) {
  std::vector<double> v = x.to<double>();
  Slots slots(x.dims(), axes);
  std::vector<double> mean = slots.sums([&](size_t i, size_t) { return v[i]; });
  for (double& m : mean) m /= slots.share();
  slots.each([&](size_t i, size_t s) { v[i] -= mean[s]; });
  if (variance) {
    std::vector<double> spread = slots.sums([&](size_t i, size_t) { return v[i] * v[i]; });
    for (double& s : spread) s = outside ? std::sqrt(s / slots.share()) + eps : std::sqrt(s / slots.share() + eps);
    slots.each([&](size_t i, size_t s) { v[i] /= spread[s]; });
  }
  y.assign(v);
}
void mvn2_run(Run& ctx, const Mvn2& a) {
  TensorView x = ctx.input(0);
  std::vector<size_t> axes = normalize_axes(a.reduction_axes, x.rank());
  for (size_t i = a.across_channels ? 1 : 2; i < x.rank() && a.reduction_axes.empty(); ++i) axes.push_back(i);
  normalize_mean_variance(x, ctx.output(0), axes, a.normalize_variance, a.eps, false);
}
void mvn6_run(Run& ctx, const Mvn6& a) {
  TensorView x = ctx.input(0);
  normalize_mean_variance(x, ctx.output(0), normalize_axes(ctx.input(1).to<int64_t>(), x.rank()), a.normalize_variance,
                          a.eps, a.eps_mode == Mvn6::outside);
}

}  // namespace

Definitions define_mvn() {
  return {
      op<Mvn2>("MVN", 2)
          .doc("Mean-variance normalization: subtract the mean and optionally divide by the standard deviation")
          .traits(Trait::widens)
          .inputs("data")
          .infer(mvn2_infer)
          .linear()
          .reference(mvn2_run),
      op<Mvn6>("MVN", 6)
          .doc("Mean-variance normalization over the given axes")
          .traits(Trait::widens)
          .inputs("data, axes")
          .infer(mvn6_infer)
          .linear()
          .reference(mvn6_run),
  };
}

}  // namespace graft
