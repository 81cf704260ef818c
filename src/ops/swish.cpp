#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>

#include "one_way.hpp"

namespace graft {
namespace {

void swish_infer(Infer& ctx, const NoAttributes&) {
  check_single(ctx, 1, "beta");
  ctx.output(0, common_type(ctx), ctx.shape(0));
}

void swish_run(Run& ctx, const NoAttributes&) {
  std::vector<double> x = ctx.input(0).to<double>();
  double beta = ctx.has_input(1) ? ctx.input(1).scalar<double>() : 1;
  for (double& v : x) v = v / (1 + std::exp(-beta * v));
  ctx.output(0).assign(x);
}

Value import_swish(Builder& layer) {
  Value x = layer.input(0);
  float alpha = layer.get<float>("alpha", 1.0f);
  return alpha == 1 ? layer.op("Swish", {x}) : layer.op("Swish", {x, like(x, alpha)});
}
Value import_swish_with_input(Builder& layer) {
  Value x = layer.input(0);
  return layer.has_input(1) ? layer.op("Swish", {x, as_scalar(layer.input(1))}) : layer.op("Swish", {x});
}

}  // namespace

Definitions define_swish() {
  return op("Swish", 4)
      .doc("x / (1 + e^(-beta * x)), where beta defaults to 1")
      .traits(Trait::elementwise, Trait::widens)
      .inputs("data, beta?")
      .infer(swish_infer)
      .linear()
      .reference(swish_run)
      .in_place()
      .import(onnx("Swish").expand(import_swish))
      .import(onnx("Swish").domain("org.openvinotoolkit").expand(import_swish_with_input));
}

}  // namespace graft
