// Activations, normalizations, and components without an effect at inference.
#include <algorithm>
#include <cmath>

#include "kaldi/building.hpp"

namespace graft {
namespace {

Value import_kaldi_identity(Builder& layer) { return layer.input(0); }

// nnet3 scales at test time, nnet2 has scaled in training.
Value import_kaldi_dropout(Builder& layer) {
  if (layer.has("DropoutScale")) return layer.input(0);
  return layer.input(0) * (1 - double{layer.get<float>("DropoutProportion", 0)});
}

Value import_kaldi_softmax(Builder& layer) { return build::softmax(layer.input(0), 1); }
Value import_kaldi_log_softmax(Builder& layer) { return layer.op("LogSoftmax", {layer.input(0)}, {{"axis", 1}}); }
Value import_kaldi_block_softmax(Builder& layer) {
  auto sizes = layer.get<std::vector<int64_t>>("BlockSoftmax.0");
  if (sizes.empty()) fail("expected the size of at least one block");
  std::vector<Value> parts = build::split(layer.input(0), 1, sizes);
  for (Value& v : parts) v = build::softmax(v, 1);
  return build::concat(parts, 1);
}

// Slopes per column for positive and for negative values.
Value import_kaldi_prelu(Builder& layer) {
  Value x = layer.input(0), zero = like(x, 0);
  return layer.op("Maximum", {x, zero}) * kaldi_weight(layer, "0") +
         layer.op("Minimum", {x, zero}) * kaldi_weight(layer, "1");
}

Value import_kaldi_power(Builder& layer) {
  Value x = layer.input(0);
  return layer.op("Power", {layer.op("Abs", {x}), like(x, double{layer.get<float>("Power")})});
}

Value kaldi_mean_square(const Value& x) {
  int64_t last = static_cast<int64_t>(x.rank()) - 1;
  return build::reduce_mean(x * x, {last});
}

// Divides by the root of the mean square of a frame (of its blocks of columns), up to the factor TargetRms.
Value import_kaldi_normalize(Builder& layer) {
  constexpr double floor = 0x1p-66;
  Value x = layer.input(0);
  double rms = layer.get<float>("TargetRms", 1);
  if (!(rms > 0)) fail("expected a positive TargetRms, got ", rms);
  int64_t dim = kaldi_input_dim(layer, x);
  auto block = layer.get<int64_t>("BlockDim", dim);
  if (block < 1 || dim % block != 0) fail("expected a BlockDim that divides ", dim, ", got ", block);
  Value parts = block == dim ? x : reshape(x, {-1, dim / block, block});
  Value norm = layer.op("Maximum", {kaldi_mean_square(parts) * (1 / (rms * rms)), like(x, floor)});
  Value root = layer.op("Sqrt", {norm}), y = parts / root;
  if (layer.get<bool>("AddLogStddev", false))
    y = build::concat({y, layer.op("Log", {root * rms})}, block == dim ? 1 : 2);
  if (block == dim) return y;
  return reshape(y, {-1, dim + (layer.get<bool>("AddLogStddev", false) ? dim / block : 0)});
}
Value import_kaldi_length_norm(Builder& layer) {
  Value x = layer.input(0);
  Value sum = layer.op("ReduceSum", {x * x, layer.ints({1})}, {{"keep_dims", true}});
  return x / layer.op("Sqrt", {sum});
}

// With the statistics of training; without any, the values stay as they are.
Value import_kaldi_batch_norm(Builder& layer) {
  Value x = layer.input(0);
  std::vector<double> mean = kaldi_numbers(layer, "StatsMean"), scale = kaldi_numbers(layer, "StatsVar"), shift;
  if (mean.size() != scale.size())
    fail("expected as many means as variances, got ", mean.size(), " and ", scale.size());
  double eps = layer.get<float>("Epsilon", 1e-3f), rms = layer.get<float>("TargetRms", 1);
  layer.field("BlockDim");
  if (mean.empty()) return x;
  for (size_t i = 0; i < mean.size(); ++i) {
    scale[i] = rms / std::sqrt(std::max(scale[i], 0.0) + eps);
    shift.push_back(-mean[i] * scale[i]);
  }
  int64_t dim = kaldi_input_dim(layer, x), block = static_cast<int64_t>(mean.size());
  return x * kaldi_tiled(layer.typed(scale, {block}, x.type()), dim) +
         kaldi_tiled(layer.typed(shift, {block}, x.type()), dim);
}

// The same scale for all values: dropout at test time keeps the expected value.
Value import_kaldi_dropout_mask(Builder& layer) {
  int64_t dim = kaldi_size(layer, "OutputDim");
  double p = layer.get<float>("DropoutProportion", 0);
  double value = layer.get<bool>("Continuous", false) ? 1 : 1 - p;
  auto extra = layer.get<int64_t>("extra", 0);
  Value rows = build::dim(layer.input(0), 0) + layer.ints({extra});
  return build::fill(layer, value, DType::f32, build::concat({rows, layer.ints({dim})}, 0));
}

Definitions kaldi_rows(std::string_view op, std::initializer_list<std::string_view> types) {
  Definitions out;
  for (std::string_view type : types)
    out += kaldi_component(type)
               .ignore("BlockDim")
               .to(op, op == "SoftPlus"   ? "opset4"
                       : op == "SoftSign" ? "opset9"
                                          : "opset1");
  return out;
}

}  // namespace

Definitions define_kaldi_activations() {
  Definitions out{
      kaldi_rows("Sigmoid", {"Sigmoid", "SigmoidComponent"}),
      kaldi_rows("Tanh", {"Tanh", "TanhComponent"}),
      kaldi_rows("Relu", {"Relu", "RectifiedLinearComponent"}),
      kaldi_rows("SoftPlus", {"SoftHingeComponent"}),
      kaldi_rows("SoftSign", {"Softsign", "SoftsignComponent"}),
      kaldi_component("BlockSoftmax").expand(import_kaldi_block_softmax),
      kaldi_component("ParametricRelu").expand(import_kaldi_prelu),
      kaldi_component("PowerComponent").expand(import_kaldi_power),
      kaldi_component("NormalizeComponent").expand(import_kaldi_normalize),
      kaldi_component("LengthNormComponent").expand(import_kaldi_length_norm),
      kaldi_component("BatchNormComponent").expand(import_kaldi_batch_norm),
      kaldi("DropoutMaskComponent").ignore("TestMode").expand(import_kaldi_dropout_mask),
      kaldi_component("DropoutComponent").expand(import_kaldi_dropout),
      kaldi_component("LogSoftmaxComponent").expand(import_kaldi_log_softmax),
  };
  for (const char* type : {"Softmax", "HiddenSoftmax", "SoftmaxComponent"})
    out += kaldi_component(type).ignore("BlockDim").expand(import_kaldi_softmax);
  for (const char* type : {"NoOpComponent", "Dropout", "GeneralDropoutComponent", "SpecAugmentTimeMaskComponent",
                           "ClipGradientComponent", "AdditiveNoiseComponent", "output-node"}) {
    Rule r = kaldi_component(type);
    for (const char* field :
         {"BlockDim", "TimePeriod", "Continuous", "SpecAugmentMaxProportion", "SpecAugmentMaxRegions",
          "ZeroedProportion", "TimeMaskMaxFrames", "BackpropScale", "ClippingThreshold", "NormBasedClipping",
          "NumElementsClipped", "NumElementsProcessed", "NumSelfRepaired", "NumBackpropped",
          "SelfRepairClippedProportionThreshold", "SelfRepairTarget", "Stddev"})
      r.ignore(field);
    out += r.expand(import_kaldi_identity);
  }
  return out;
}

}  // namespace graft
