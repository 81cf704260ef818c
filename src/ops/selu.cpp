#include <graft/op.hpp>

#include "one_way.hpp"

namespace graft {
namespace {

void selu_infer(Infer& ctx, const NoAttributes&) {
  check_single(ctx, 1, "alpha");
  check_single(ctx, 2, "lambda");
  ctx.output(0, common_type(ctx), ctx.shape(0));
}

void selu_run(Run& ctx, const NoAttributes&) {
  std::vector<double> x = ctx.input(0).to<double>();
  double alpha = ctx.input(1).scalar<double>(), lambda = ctx.input(2).scalar<double>();
  for (double& v : x) v = lambda * (v > 0 ? v : alpha * std::expm1(v));
  ctx.output(0).assign(x);
}

Value import_selu(Builder& layer) {
  Value x = layer.input(0);
  bool old = layer.version() < 6;  // with fewer digits
  float alpha = layer.get<float>("alpha", old ? 1.6732f : 1.67326319217681884765625f);
  float gamma = layer.get<float>("gamma", old ? 1.0507f : 1.05070102214813232421875f);
  return layer.op("Selu", {x, layer.typed({alpha}, {1}, x.type()), layer.typed({gamma}, {1}, x.type())});
}

}  // namespace

Definitions define_selu() {
  return op("Selu", 1)
      .doc("lambda * x where x > 0, lambda * alpha * (e^x - 1) elsewhere")
      .traits(Trait::elementwise, Trait::widens)
      .inputs("data, alpha, lambda")
      .infer(selu_infer)
      .linear()
      .reference(selu_run)
      .in_place()
      .import(onnx("Selu").ignore("consumed_inputs").expand(import_selu));
}

}  // namespace graft
