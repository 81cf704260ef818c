// BatchNorm, InstanceNorm, LayerNorm, GroupNorm, L2Normalization and LRN.
#include "mxnet/building.hpp"

namespace graft {
namespace {

void mxnet_refuse_statistics(Builder& layer) {
  for (size_t i = 1; i < layer.outputs(); ++i)
    if (layer.output_used(i)) unsupported("the mean and variance as outputs of ", layer.type(), " are not supported");
}

Value mxnet_batch_norm(Builder& layer) {
  mxnet_refuse_statistics(layer);
  Value x = layer.input(0);
  auto parameter = [&](size_t i) { return convert(layer.input(i), x.type()); };
  double eps = layer.get<double>("eps", 1e-3);
  auto axis = mx::int_or(layer, "axis", 1);
  Value gamma = parameter(1), beta = parameter(2), mean = parameter(3), variance = parameter(4);
  if (mx::bool_or(layer, "fix_gamma", true)) gamma = build::fill(layer, 1, x.type(), build::dim(mean, 0));
  if (axis == 1) return layer.op("BatchNormInference@5", {x, gamma, beta, mean, variance}, {{"epsilon", eps}});
  size_t rank = x.rank(), at = normalize_axis(axis, rank);
  auto along = [&](const Value& v) { return mx::per_channel(v, rank, at); };
  Value scale = gamma / layer.op("Sqrt", {variance + eps});
  return (x - along(mean)) * along(scale) + along(beta);
}
Value import_mxnet_batch_norm(Builder& layer) { return mxnet_batch_norm(layer); }
Value import_mxnet_batch_norm_relu(Builder& layer) { return layer.op("Relu", {mxnet_batch_norm(layer)}); }

// What the Model Optimizer called a BatchNorm without statistics: factor and offset per channel.
Value import_mxnet_scale_shift(Builder& layer) {
  Value x = layer.input(0), beta = mx::per_channel(layer.input(2), x.rank());
  return mx::bool_or(layer, "fix_gamma", true) ? x + beta : x * mx::per_channel(layer.input(1), x.rank()) + beta;
}

Value mxnet_normalized(Builder& layer, const Value& x, const std::vector<int64_t>& axes, double eps) {
  return layer.op("MVN@6", {x, layer.ints(axes)},
                  {{"normalize_variance", true}, {"eps", eps}, {"eps_mode", "inside_sqrt"}});
}

Value import_mxnet_instance_norm(Builder& layer) {
  mxnet_refuse_statistics(layer);
  Value x = layer.input(0);
  size_t rank = x.rank();
  if (rank < 3) fail("expected an input of rank 3 or more, got shape ", x.shape());
  Value y = mxnet_normalized(layer, x, mx::axes_from(2, rank), layer.get<double>("eps", 1e-3));
  return y * mx::per_channel(layer.input(1), rank) + mx::per_channel(layer.input(2), rank);
}

Value import_mxnet_layer_norm(Builder& layer) {
  mxnet_refuse_statistics(layer);
  Value x = layer.input(0);
  auto axis = mx::int_or(layer, "axis", -1);
  Value y = mxnet_normalized(layer, x, {axis}, layer.get<double>("eps", 1e-5));
  Value gamma = layer.input(1), beta = layer.input(2);
  if (axis == -1) return y * gamma + beta;
  size_t rank = x.rank(), at = normalize_axis(axis, rank);
  return y * mx::per_channel(gamma, rank, at) + mx::per_channel(beta, rank, at);
}

Value import_mxnet_group_norm(Builder& layer) {
  mxnet_refuse_statistics(layer);
  Value x = layer.input(0), gamma = layer.input(1), beta = layer.input(2);
  auto groups = mx::int_or(layer, "num_groups", 1);
  Shape s = x.shape(), g = gamma.shape();
  // Before 1.7 there was one factor per group.
  bool grouped = s.ranked() && s.rank() > 1 && s[1].known() && g.ranked() && g.rank() == 1 && g[0].known() &&
                 g[0].value() != s[1].value();
  if (grouped) {
    if (groups < 1 || g[0].value() != groups || s[1].value() % groups)
      fail("expected ", s[1], " or ", groups, " factors, got ", g[0]);
    auto widen = [&](const Value& v) {
      return reshape(build::broadcast(unsqueeze(v, {1}), layer.ints({groups, s[1].value() / groups})), {-1});
    };
    gamma = widen(gamma), beta = widen(beta);
  }
  return layer.op("GroupNormalization", {x, gamma, beta},
                  {{"num_groups", groups}, {"epsilon", layer.get<double>("eps", 1e-5)}});
}

Value import_mxnet_l2_normalization(Builder& layer) {
  Value x = layer.input(0);
  std::string mode = mx::word_or(layer, "mode", "instance");
  std::vector<int64_t> axes{1};
  if (mode == "instance") axes = mx::axes_from(1, x.rank());
  else if (mode == "spatial") axes = mx::axes_from(2, x.rank());
  else if (mode != "channel") fail("expected 'mode' instance, channel or spatial, got '", mode, "'");
  return layer.op("NormalizeL2", {x, layer.ints(axes)},
                  {{"eps", layer.get<double>("eps", 1e-10)}, {"eps_mode", "add"}});
}

Value import_mxnet_lrn(Builder& layer) {
  return layer.op("LRN", {layer.input(0), layer.ints({1})},
                  {{"alpha", layer.get<double>("alpha", 1e-4)},
                   {"beta", layer.get<double>("beta", 0.75)},
                   {"bias", layer.get<double>("knorm", 2)},
                   {"size", layer.get<int64_t>("nsize")}});
}

}  // namespace

Definitions define_mxnet_normalization() {
  return {
      mx::rules({"BatchNorm", "BatchNorm_v1", "CuDNNBatchNorm", "_contrib_SyncBatchNorm"}, import_mxnet_batch_norm,
                {"momentum", "use_global_stats", "output_mean_var", "cudnn_off", "ndev", "key", "min_calib_range",
                 "max_calib_range"}),
      mx::rules({"_contrib_BatchNormWithReLU"}, import_mxnet_batch_norm_relu,
                {"momentum", "use_global_stats", "output_mean_var", "cudnn_off", "min_calib_range", "max_calib_range"}),
      mx::rules({"ScaleShift"}, import_mxnet_scale_shift),
      mx::rules({"InstanceNorm"}, import_mxnet_instance_norm),
      mx::rules({"LayerNorm"}, import_mxnet_layer_norm, {"output_mean_var"}),
      mx::rules({"GroupNorm"}, import_mxnet_group_norm, {"output_mean_var"}),
      mx::rules({"L2Normalization"}, import_mxnet_l2_normalization),
      mx::rules({"LRN"}, import_mxnet_lrn),
  };
}

}  // namespace graft
