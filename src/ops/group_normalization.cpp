#include <graft/kit/known.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct GroupNormalization {
  int64_t num_groups = 1;
  double epsilon = 0;
  static constexpr std::tuple schema{
      attr("num_groups", &GroupNormalization::num_groups, "number of channel groups").required().at_least(1),
      attr("epsilon", &GroupNormalization::epsilon, "value added to the variance for numerical stability").required()};
};

void group_normalization_infer(Infer& ctx, const GroupNormalization& a) {
  Shape data = ctx.shape(0);
  Shape per_channel = merge(merge(ctx.shape(1), ctx.shape(2)), Shape{Dim()});
  if (data.ranked()) {
    if (data.rank() < 2) fail("expected data with a channel axis, got shape ", data);
    data[1] = agree(data[1], per_channel[0], "channels in the data", "to match scale and bias");
    if (data[1].known() && data[1].value() % a.num_groups != 0)
      fail("expected a number of channels divisible by num_groups ", a.num_groups, ", got ", data[1]);
  }
  ctx.output(0, common_type(ctx), data);
}

void group_normalization_run(Run& ctx, const GroupNormalization& a) {
  TensorView x = ctx.input(0);
  std::vector<double> v = x.to<double>(), scale = ctx.input(1).to<double>(), bias = ctx.input(2).to<double>();
  if (v.empty()) return;
  int64_t channels = x.dim(1), plane = x.size() / (x.dim(0) * channels), size = channels / a.num_groups * plane;
  for (int64_t begin = 0; begin < x.size(); begin += size) {
    std::span<double> group(v.data() + begin, static_cast<size_t>(size));
    double mean = std::accumulate(group.begin(), group.end(), 0.0) / static_cast<double>(size), variance = 0;
    for (double e : group) variance += (e - mean) * (e - mean);
    double deviation = std::sqrt(variance / static_cast<double>(size) + a.epsilon);
    for (size_t i = 0; i < group.size(); ++i) {
      auto c = static_cast<size_t>((begin + static_cast<int64_t>(i)) / plane % channels);
      group[i] = (group[i] - mean) / deviation * scale[c] + bias[c];
    }
  }
  ctx.output(0).assign(v);
}

}  // namespace

Definitions define_group_normalization() {
  return op<GroupNormalization>("GroupNormalization", 12)
      .doc("Normalize each group of channels to mean 0 and variance 1, then apply a per-channel scale and bias")
      .traits(Trait::widens)
      .inputs("data, scale, bias")
      .infer(group_normalization_infer)
      .linear()
      .reference(group_normalization_run);
}

}  // namespace graft
