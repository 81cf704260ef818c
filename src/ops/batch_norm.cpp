#include <graft/kit/known.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct BatchNorm {
  double epsilon = 0;
  static constexpr std::tuple schema{
      attr("epsilon", &BatchNorm::epsilon, "value added to the variance for numerical stability")
          .required()
          .at_least(0)};
};

// The position of the data differs between versions; the other inputs keep their order.
template <size_t data_at>
void batch_norm_infer(Infer& ctx, const BatchNorm&) {
  Shape data = ctx.shape(data_at), channels{Dim()};
  for (size_t i = 0; i < 5; ++i)
    if (i != data_at) channels = merge(channels, ctx.shape(i));
  if (data.ranked()) {
    if (data.rank() < 2) fail("expected data with a channel axis, got shape ", data);
    data[1] = agree(data[1], channels[0], "channels in the data", "to match the other inputs");
  }
  ctx.output(0, common_type(ctx), data);
}

template <size_t data_at>
void batch_norm_run(Run& ctx, const BatchNorm& a) {
  TensorView x = ctx.input(data_at);
  std::vector<double> v = x.to<double>(), rest[4];
  for (size_t i = 0, r = 0; i < 5; ++i)
    if (i != data_at) rest[r++] = ctx.input(i).to<double>();
  auto& [gamma, beta, mean, variance] = rest;
  int64_t plane = count_of(x.dims().subspan(2)), channels = x.dim(1);
  for (int64_t i = 0; i < x.size(); ++i) {
    auto c = static_cast<size_t>(i / plane % channels);
    double& e = v[static_cast<size_t>(i)];
    e = (e - mean[c]) / std::sqrt(variance[c] + a.epsilon) * gamma[c] + beta[c];
  }
  ctx.output(0).assign(v);
}

void batch_norm_as_1(Rewrite& at) {
  at.restate("BatchNormInference@1", {at.input(1), at.input(2), at.input(0), at.input(3), at.input(4)});
}

}  // namespace

Definitions define_batch_norm() {
  constexpr std::string_view doc = "Per-channel (x - mean) / sqrt(variance + epsilon) * gamma + beta";
  return {
      op<BatchNorm>("BatchNormInference", 1)
          .doc(doc)
          .traits(Trait::widens)
          .inputs("gamma, beta, data, mean, variance")
          .infer(batch_norm_infer<2>)
          .linear()
          .reference(batch_norm_run<2>),
      op<BatchNorm>("BatchNormInference", 5)
          .doc(doc)
          .traits(Trait::widens, Trait::per_channel)
          .inputs("data, gamma, beta, mean, variance")
          .infer(batch_norm_infer<0>)
          .linear()
          .reference(batch_norm_run<0>)
          .earlier(batch_norm_as_1),
  };
}

}  // namespace graft
