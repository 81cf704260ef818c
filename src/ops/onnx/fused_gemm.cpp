#include <graft/op.hpp>

#include "onnx/windows.hpp"

namespace graft {
namespace {

Value import_fused_gemm(Builder& layer) {
  Value y =
      layer.op("MatMul", {layer.input(0), layer.input(1)},
               {{"transpose_a", layer.get<bool>("transA", false)}, {"transpose_b", layer.get<bool>("transB", false)}});
  y = y * layer.get<double>("alpha", 1);
  if (layer.has_input(2)) y = y + layer.input(2) * layer.get<double>("beta", 1);
  auto name = layer.get<std::string>("activation", "Relu");
  // The parameters of this activation, with the defaults of the corresponding layer.
  std::vector<float> parameters;
  if (name == "LeakyRelu") parameters = {layer.get<float>("activation_alpha", 0.01f)};
  if (name == "HardSigmoid")
    parameters = {layer.get<float>("activation_alpha", 0.2f), layer.get<float>("activation_beta", 0.5f)};
  return layer_activation(layer, y, name, parameters);
}

}  // namespace

Definitions define_onnx_fused_gemm() {
  return onnx("FusedGemm")
      .domain("com.microsoft")
      .ignore("activation_alpha")
      .ignore("activation_beta")
      .ignore("activation_gamma")
      .expand(import_fused_gemm);
}

}  // namespace graft
