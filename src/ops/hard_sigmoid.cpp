#include <graft/op.hpp>

#include "one_way.hpp"

namespace graft {
namespace {

void hard_sigmoid_infer(Infer& ctx, const NoAttributes&) {
  check_single(ctx, 1, "alpha");
  check_single(ctx, 2, "beta");
  ctx.output(0, common_type(ctx), ctx.shape(0));
}

void hard_sigmoid_run(Run& ctx, const NoAttributes&) {
  std::vector<double> x = ctx.input(0).to<double>();
  double alpha = ctx.input(1).scalar<double>(), beta = ctx.input(2).scalar<double>();
  for (double& v : x) v = std::max(std::min(alpha * v + beta, 1.0), 0.0);
  ctx.output(0).assign(x);
}

Value import_hard_sigmoid(Builder& layer) {
  Value x = layer.input(0);
  return layer.op("HardSigmoid",
                  {x, like(x, layer.get<float>("alpha", 0.2f)), like(x, layer.get<float>("beta", 0.5f))});
}

}  // namespace

Definitions define_hard_sigmoid() {
  return op("HardSigmoid", 1)
      .doc("max(0, min(1, alpha * x + beta))")
      .traits(Trait::elementwise, Trait::widens)
      .inputs("data, alpha, beta")
      .infer(hard_sigmoid_infer)
      .linear()
      .reference(hard_sigmoid_run)
      .in_place()
      .import(onnx("HardSigmoid").ignore("consumed_inputs").expand(import_hard_sigmoid));
}

}  // namespace graft
