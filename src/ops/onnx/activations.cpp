// ONNX activations expressed by other operations.
#include <graft/op.hpp>

namespace graft {
namespace {

// max(0, x) + min(0, alpha * (e^(x / alpha) - 1))
Value import_celu(Builder& layer) {
  Value x = layer.input(0);
  float alpha = layer.get<float>("alpha", 1.0f);
  if (alpha == 0) fail("expected a nonzero alpha, got 0");
  if (alpha > 0) return layer.op("Elu", {x / alpha}, {{"alpha", 1.0}}) * alpha;
  Value curve = (layer.op("Exp", {x / alpha}) - 1.0) * alpha;
  return layer.op("Relu", {x}) + layer.op("Minimum", {curve, like(x, 0)});
}

Value import_thresholded_relu(Builder& layer) {
  Value x = layer.input(0);
  Value above = layer.op("Greater", {x, like(x, layer.get<float>("alpha", 1.0f))});
  return layer.op("Select", {above, x, like(x, 0)});
}

// x + bias below -lambd, x - bias above lambd, 0 in between. Integers are compared in f64, because the bounds may be
// fractional.
Value import_shrink(Builder& layer) {
  Value given = layer.input(0), x = is_real(given.type()) ? given : convert(given, DType::f64);
  float bound = layer.get<float>("lambd", 0.5f), bias = layer.get<float>("bias", 0.0f);
  Value above = layer.op("Select", {layer.op("Greater", {x, like(x, bound)}), x - bias, like(x, 0)});
  Value y = layer.op("Select", {layer.op("Less", {x, like(x, -bound)}), x + bias, above});
  return convert(y, given.type());
}

Value import_reciprocal(Builder& layer) { return 1.0 / layer.input(0); }

Value import_scaled_tanh(Builder& layer) {
  return layer.op("Tanh", {layer.input(0) * layer.get<float>("beta", 1.0f)}) * layer.get<float>("alpha", 1.0f);
}
Value import_parametric_softplus(Builder& layer) {
  return layer.op("SoftPlus", {layer.input(0) * layer.get<float>("beta", 1.0f)}) * layer.get<float>("alpha", 1.0f);
}

}  // namespace

Definitions define_onnx_activations() {
  return {
      onnx("Celu").expand(import_celu),
      onnx("ThresholdedRelu").expand(import_thresholded_relu),
      onnx("Shrink").expand(import_shrink),
      onnx("Reciprocal").ignore("consumed_inputs").expand(import_reciprocal),
      onnx("ScaledTanh").expand(import_scaled_tanh),
      onnx("ParametricSoftplus").expand(import_parametric_softplus),
  };
}

}  // namespace graft
