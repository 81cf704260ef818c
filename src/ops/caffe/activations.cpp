// Element-wise layers.
#include <graft/op.hpp>

#include "caffe/building.hpp"

namespace graft {
namespace {

Value import_caffe_relu(Builder& layer) {
  Value x = layer.input(0);
  double slope = layer.get<float>("relu_param.negative_slope", 0);
  if (slope == 0) return layer.op("Relu", {x});
  return layer.op("PRelu", {x, layer.typed({slope}, {1}, x.type())});
}

Value import_caffe_prelu(Builder& layer) {
  Value x = layer.input(0), slope = caffe_vector(layer.weight(0));
  if (layer.get<bool>("prelu_param.channel_shared", false)) slope = reshape(slope, {1});
  return layer.op("PRelu", {x, slope});
}

Value import_caffe_relu6(Builder& layer) { return layer.op("Clamp", {layer.input(0)}, {{"min", 0.0}, {"max", 6.0}}); }
Value import_caffe_clip(Builder& layer) {
  return layer.op("Clamp", {layer.input(0)},
                  {{"min", layer.get<float>("clip_param.min")}, {"max", layer.get<float>("clip_param.max")}});
}

Value caffe_linear(Builder& layer, const std::string& message) {
  Value x = layer.input(0) * double{layer.get<float>(message + ".scale", 1)};
  return x + double{layer.get<float>(message + ".shift", 0)};
}
Value import_caffe_power(Builder& layer) {
  Value x = caffe_linear(layer, "power_param");
  double power = layer.get<float>("power_param.power", 1);
  if (power == 1) return x;
  return layer.op("Power", {x, like(x, power)});
}
double caffe_base(Builder& layer, const std::string& message) {
  double base = layer.get<float>(message + ".base", -1);
  if (base != -1 && !(base > 0)) fail("expected a positive '", message, ".base', got ", base);
  return base;
}
Value import_caffe_exp(Builder& layer) {
  Value x = caffe_linear(layer, "exp_param");
  double base = caffe_base(layer, "exp_param");
  return layer.op("Exp", {base == -1 ? x : x * std::log(base)});
}
Value import_caffe_log(Builder& layer) {
  Value y = layer.op("Log", {caffe_linear(layer, "log_param")});
  double base = caffe_base(layer, "log_param");
  if (base == 1) fail("expected a logarithm base other than 1, got 1");
  return base == -1 ? y : y * (1 / std::log(base));
}
Value import_caffe_threshold(Builder& layer) {
  Value x = layer.input(0);
  return convert(layer.op("Greater", {x, like(x, layer.get<float>("threshold_param.threshold", 0))}), x.type());
}
// -1 for x <= 0, 1 for x > 0.
Value import_caffe_binarization(Builder& layer) {
  Value x = layer.input(0), zero = like(x, 0);
  return layer.op("FakeQuantize", {x, zero, zero, like(x, -1), like(x, 1)}, {{"levels", 2}});
}
// x plus offsets from a text file next to the net; without such a file they are 0.
Value import_caffe_power_file(Builder& layer) {
  if (layer.has("power_file_param.shift_file"))
    unsupported(
        "the offsets are in the file '", layer.get<std::string>("power_file_param.shift_file"),
        "', which is not part of the model: replace the layer by a Bias layer with these values as its weights");
  return layer.input(0);
}
Value import_caffe_swish(Builder& layer) {
  Value x = layer.input(0);
  return layer.op("Swish", {x, like(x, layer.get<float>("swish_param.beta", 1))});
}

// Layers that do nothing at inference time.
Value import_caffe_same(Builder& layer) { return layer.input(0); }
void import_caffe_silence(Builder&) {}

Value import_caffe_eltwise(Builder& layer) {
  std::string operation = caffe_word(layer, "eltwise_param.operation", {"PROD", "SUM", "MAX"}, "SUM");
  if (!layer.flows()) fail("expected at least one input, got none");
  std::vector<double> factors = layer.get<std::vector<double>>("eltwise_param.coeff", {});
  if (!factors.empty() && factors.size() != layer.flows())
    fail("expected one value of 'eltwise_param.coeff' per input (", layer.flows(), "), got ", factors.size());
  if (!factors.empty() && operation != "SUM")
    fail("expected 'eltwise_param.coeff' with operation SUM only, got operation ", operation);
  factors.resize(layer.flows(), 1);
  std::string_view op = operation == "SUM"    ? "Add"
                        : operation == "PROD" ? "Multiply"
                        : operation == "MAX"  ? "Maximum"
                        : operation == "MIN"  ? "Minimum"
                                              : "";
  if (op.empty()) fail("expected 'eltwise_param.operation' PROD, SUM, MAX or MIN, got ", operation);
  Value y = layer.input(0) * factors[0];
  for (size_t i = 1; i < layer.flows(); ++i) {
    bool minus = op == "Add" && factors[i] == -1;
    y = layer.op(minus ? "Subtract" : op, {y, minus ? layer.input(i) : layer.input(i) * factors[i]});
  }
  return y;
}

// a * x + y, where a has one value per channel.
Value import_caffe_axpy(Builder& layer) {
  Value a = layer.input(0), x = layer.input(1), y = layer.input(2);
  Shape s = a.shape();
  if (s.ranked() && s.rank() == 2 && x.rank() > 2) {
    std::vector<int64_t> dims(x.rank(), 1);
    dims[0] = dims[1] = 0;
    a = build::reshape_keeping(a, dims);
  }
  return a * x + y;
}

}  // namespace

Definitions define_caffe_activations() {
  return {
      caffe("ReLU").ignore("relu_param.engine").expand(import_caffe_relu),
      caffe("PReLU").ignore("prelu_param.filler.*").expand(import_caffe_prelu),
      caffe("ReLU6").expand(import_caffe_relu6),
      caffe("Clip").expand(import_caffe_clip),
      caffe("Sigmoid").to("Sigmoid", "opset1").ignore("sigmoid_param.engine"),
      caffe("TanH").to("Tanh", "opset1").ignore("tanh_param.engine"),
      caffe("Tanh").to("Tanh", "opset1").ignore("tanh_param.engine"),
      caffe("AbsVal").to("Abs", "opset1"),
      caffe("BNLL").to("SoftPlus", "opset4"),
      caffe("Power").expand(import_caffe_power),
      caffe("Exp").expand(import_caffe_exp),
      caffe("Log").expand(import_caffe_log),
      caffe("PowerFile").expand(import_caffe_power_file),
      caffe("Threshold").expand(import_caffe_threshold),
      caffe("Binarization").expand(import_caffe_binarization),
      caffe("Swish").expand(import_caffe_swish),
      caffe("Dropout").ignore("dropout_param.*").expand(import_caffe_same),
      caffe("Silence").expand(import_caffe_silence),
      caffe("Eltwise").ignore("eltwise_param.stable_prod_grad").expand(import_caffe_eltwise),
      caffe("Axpy").expand(import_caffe_axpy),
  };
}

}  // namespace graft
