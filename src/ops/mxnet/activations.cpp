// Activations, softmax, and the output layers of training.
#include "flatten.hpp"
#include "mxnet/building.hpp"

namespace graft {
namespace {

Value import_mxnet_activation(Builder& layer) {
  Value x = layer.input(0);
  auto type = layer.get<std::string>("act_type");
  constexpr std::pair<std::string_view, std::string_view> operations[] = {
      {"relu", "Relu"},         {"sigmoid", "Sigmoid"},   {"tanh", "Tanh"},
      {"softrelu", "SoftPlus"}, {"softsign", "SoftSign"}, {"mish", "Mish"}};
  for (const auto& [theirs, ours] : operations)
    if (type == theirs) return layer.op(ours, {x});
  if (type == "log_sigmoid") return layer.op("Negative", {layer.op("SoftPlus", {layer.op("Negative", {x})})});
  unsupported("activation '", type, "' is not supported");
}

Value import_mxnet_leaky_relu(Builder& layer) {
  Value x = layer.input(0);
  std::string type = mx::word_or(layer, "act_type", "leaky");
  auto leaky = [&](double slope) { return layer.op("PRelu", {x, layer.typed({slope}, {1}, x.type())}); };
  double slope = layer.get<double>("slope", 0.25);
  double lower = layer.get<double>("lower_bound", 0.125), upper = layer.get<double>("upper_bound", 0.334);
  if (type == "leaky") return leaky(slope);
  if (type == "rrelu") return leaky((lower + upper) / 2);  // random in training
  if (type == "prelu") return layer.op("PRelu", {x, convert(layer.input(1), x.type())});
  if (type == "elu") return layer.op("Elu", {x}, {{"alpha", slope}});
  if (type == "selu") return layer.op("Selu", {x, like(x, 1.6732632423543772848), like(x, 1.0507009873554804934)});
  if (type == "gelu" || type == "gelu_erf") return layer.op("Gelu@7", {x}, {{"approximation_mode", "ERF"}});
  if (type == "gelu_tanh") return layer.op("Gelu@7", {x}, {{"approximation_mode", "TANH"}});
  unsupported("LeakyReLU with act_type '", type, "' is not supported");
}

Value import_mxnet_hard_sigmoid(Builder& layer) {
  Value x = layer.input(0);
  return layer.op("HardSigmoid",
                  {x, like(x, layer.get<double>("alpha", 0.2)), like(x, layer.get<double>("beta", 0.5))});
}

// ---- softmax ----

// Elements beyond a row's length do not take part, and become zero.
Value mxnet_softmax_of_lengths(Builder& layer, const Value& x, int64_t axis) {
  size_t rank = x.rank(), at = normalize_axis(axis, rank);
  std::vector<int64_t> dims(rank, 1);
  dims[at] = -1;
  Value positions = reshape(counting(dimension_of(x, axis), DType::i64), dims);
  Value inside = layer.op("Less", {positions, unsqueeze(mx::to_indices(layer.input(1)), {axis})});
  Value lowest = like(x, x.type() == DType::f16 ? -65504.0 : -3.0e38);
  return build::select(inside, build::softmax(build::select(inside, x, lowest), axis), like(x, 0));
}

Value mxnet_softmax_input(Builder& layer, bool negative) {
  Value x = layer.input(0);
  x = convert(x, mx::element_type(layer, "dtype", x.type()));
  if (negative) x = layer.op("Negative", {x});
  return mx::is_none(layer, "temperature") ? x : x / layer.get<double>("temperature");
}
Value mxnet_softmax(Builder& layer, bool negative) {
  auto axis = mx::int_or(layer, "axis", -1);
  Value x = mxnet_softmax_input(layer, negative);
  if (mx::bool_or(layer, "use_length", false)) return mxnet_softmax_of_lengths(layer, x, axis);
  return build::softmax(x, axis);
}
Value import_mxnet_softmax(Builder& layer) { return mxnet_softmax(layer, false); }
Value import_mxnet_softmin(Builder& layer) { return mxnet_softmax(layer, true); }
Value import_mxnet_log_softmax(Builder& layer) {
  if (mx::bool_or(layer, "use_length", false)) unsupported("log_softmax with use_length is not supported");
  return layer.op("LogSoftmax", {mxnet_softmax_input(layer, false)}, {{"axis", mx::int_or(layer, "axis", -1)}});
}

Value import_mxnet_softmax_activation(Builder& layer) {
  std::string mode = mx::word_or(layer, "mode", "instance");
  if (mode != "channel" && mode != "instance") fail("expected 'mode' instance or channel, got '", mode, "'");
  return build::softmax(layer.input(0), mode == "channel" ? 1 : -1);
}
Value import_mxnet_softmax_output(Builder& layer) {
  Value x = layer.input(0);
  bool channels = mx::bool_or(layer, "multi_output", false), last = mx::bool_or(layer, "preserve_shape", false);
  return channels ? build::softmax(x, 1) : last ? build::softmax(x, -1) : along_rows(x, 1, build::softmax);
}

// ---- layers without effect in inference ----

Value import_mxnet_same(Builder& layer) { return layer.input(0); }
Value import_mxnet_logistic_output(Builder& layer) { return layer.op("Sigmoid", {layer.input(0)}); }

}  // namespace

Definitions define_mxnet_activations() {
  return {
      mx::rules({"Activation"}, import_mxnet_activation),
      mx::rules({"LeakyReLU"}, import_mxnet_leaky_relu),
      mx::rules({"hard_sigmoid"}, import_mxnet_hard_sigmoid),
      mx::rules({"softmax", "_npx_softmax"}, import_mxnet_softmax),
      mx::rules({"softmin"}, import_mxnet_softmin),
      mx::rules({"log_softmax", "_npx_log_softmax"}, import_mxnet_log_softmax),
      mx::rules({"SoftmaxActivation"}, import_mxnet_softmax_activation),
      mx::rules({"SoftmaxOutput", "Softmax"}, import_mxnet_softmax_output,
                {"grad_scale", "ignore_label", "use_ignore", "normalization", "out_grad", "smooth_alpha"}),
      mx::rules({"LogisticRegressionOutput"}, import_mxnet_logistic_output, {"grad_scale"}),
      mx::rules({"LinearRegressionOutput", "MAERegressionOutput", "SVMOutput", "MakeLoss", "make_loss"},
                import_mxnet_same,
                {"grad_scale", "margin", "regularization_coefficient", "use_linear", "valid_thresh", "normalization"}),
      mx::rules({"BlockGrad", "stop_gradient", "_copy", "identity", "_identity_with_attr_like_rhs", "Dropout",
                 "IdentityAttachKLSparseReg", "_CrossDeviceCopy"},
                import_mxnet_same, {"p", "mode", "axes", "cudnn_off", "sparseness_target", "penalty", "momentum"}),
  };
}

}  // namespace graft
