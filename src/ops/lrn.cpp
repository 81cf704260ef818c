#include <graft/op.hpp>

#include "slots.hpp"

namespace graft {
namespace {

struct Lrn {
  double alpha = 0, beta = 0, bias = 1;
  int64_t size = 1;
  static constexpr std::tuple schema{
      attr("alpha", &Lrn::alpha, "scale of the sum of squares, divided by the number of elements in the window")
          .required(),
      attr("beta", &Lrn::beta, "exponent").required(),
      attr("bias", &Lrn::bias, "constant added to the scaled sum of squares").required(),
      attr("size", &Lrn::size, "window size along each axis").required().between(1, 2147483647)};
};

void lrn_infer(Infer& ctx, const Lrn&) {
  Shape data = ctx.shape(0);
  axes_input(ctx, 1, data);
  ctx.output(0, ctx.type(0), data);
}

// Sums over a window of `reach` elements to either side along one axis.
std::vector<double> lrn_sums(const std::vector<double>& v, std::span<const int64_t> dims, size_t axis, int64_t reach) {
  int64_t outer = count_of(dims.first(axis)), n = dims[axis], inner = count_of(dims.subspan(axis + 1));
  std::vector<double> out(v.size());
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = std::max<int64_t>(i - reach, 0); j < std::min(i + reach + 1, n); ++j)
        for (int64_t k = 0; k < inner; ++k)
          out[static_cast<size_t>((o * n + i) * inner + k)] += v[static_cast<size_t>((o * n + j) * inner + k)];
  return out;
}

void lrn_run(Run& ctx, const Lrn& a) {
  TensorView x = ctx.input(0);
  std::vector<double> v = x.to<double>(), sum = v;
  std::vector<size_t> axes = normalize_axes(ctx.input(1).to<int64_t>(), x.rank());
  if (v.empty()) return;
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  for (double& s : sum) s *= s;
  double scale = a.alpha;
  for (size_t axis : axes) {
    sum = lrn_sums(sum, x.dims(), axis, (a.size - 1) / 2);
    scale /= static_cast<double>(a.size);
  }
  for (size_t i = 0; i < v.size(); ++i) v[i] /= std::pow(a.bias + scale * sum[i], a.beta);
  ctx.output(0).assign(v);
}

}  // namespace

Definitions define_lrn() {
  return op<Lrn>("LRN", 1)
      .doc("Local response normalization: x / (bias + alpha / size^axes * sum of squares in the window)^beta")
      .inputs("data, axes")
      .infer(lrn_infer)
      .reference(lrn_run);
}

}  // namespace graft
