// NormalizeL2 and GRN: division by the L2 norm.
#include <graft/op.hpp>

#include "slots.hpp"

namespace graft {
namespace {

struct NormalizeL2 {
  float eps = 0;
  enum Mode { add, max } eps_mode = add;
  static constexpr std::tuple schema{
      attr("eps", &NormalizeL2::eps, "value that keeps the sum of squares above zero").required(),
      attr("eps_mode", &NormalizeL2::eps_mode, "whether eps is added to the sum of squares or is its minimum")
          .required()
          .one_of("add", "max")};
};
struct Grn {
  float bias = 1;
  static constexpr std::tuple schema{attr("bias", &Grn::bias, "value added to the sum of squares")};
};

void normalize_l2_infer(Infer& ctx, const NormalizeL2&) {
  Shape data = ctx.shape(0);
  axes_input(ctx, 1, data);
  ctx.output(0, ctx.type(0), data);
}
void grn_infer(Infer& ctx, const Grn&) {
  Shape data = ctx.shape(0);
  if (data.ranked() && (data.rank() < 2 || data.rank() > 4)) fail("expected data of rank 2 to 4, got shape ", data);
  ctx.output(0, ctx.type(0), data);
}

void divide_by_norm(TensorView x, OutputView y, const std::vector<size_t>& axes, double eps, NormalizeL2::Mode mode) {
  std::vector<double> v = x.to<double>();
  if (axes.empty()) {
    // No axes: each element is normalized by itself.
    for (double& e : v) e = e == 0 ? 0 : 1;
    return y.assign(v);
  }
  Slots slots(x.dims(), axes);
  std::vector<double> sum = slots.sums([&](size_t i, size_t) { return v[i] * v[i]; });
  for (double& s : sum) s = std::sqrt(mode == NormalizeL2::add ? s + eps : std::max(s, eps));
  slots.each([&](size_t i, size_t s) { v[i] /= sum[s]; });
  y.assign(v);
}
void normalize_l2_run(Run& ctx, const NormalizeL2& a) {
  TensorView x = ctx.input(0);
  divide_by_norm(x, ctx.output(0), normalize_axes(ctx.input(1).to<int64_t>(), x.rank()), a.eps, a.eps_mode);
}
void grn_run(Run& ctx, const Grn& a) { divide_by_norm(ctx.input(0), ctx.output(0), {1}, a.bias, NormalizeL2::add); }

}  // namespace

Definitions define_normalize_l2() {
  return {
      op<NormalizeL2>("NormalizeL2", 1)
          .doc("Divide by the L2 norm over the given axes")
          .traits(Trait::widens)
          .inputs("data, axes")
          .infer(normalize_l2_infer)
          .linear()
          .reference(normalize_l2_run),
      op<Grn>("GRN", 1)
          .doc("Divide by the L2 norm over the channels (global response normalization)")
          .inputs("data")
          .infer(grn_infer)
          .linear()
          .reference(grn_run),
  };
}

}  // namespace graft
