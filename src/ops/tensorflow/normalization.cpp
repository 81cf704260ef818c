// BiasAdd, FusedBatchNorm, LRN, L2Loss and similar layers.
#include <graft/op.hpp>

#include "layout.hpp"

namespace graft {
namespace {

Value tf_bias_add(Builder& layer) {
  Value x = layer.input(0), bias = layer.input(1);
  auto format = layer.get<std::string>("data_format", "NHWC");
  if (!format.starts_with("NC")) return x + bias;
  std::vector<int64_t> axes;
  for (size_t i = 2; i < x.rank(); ++i) axes.push_back(static_cast<int64_t>(i) - 1);
  return x + (axes.empty() ? bias : unsqueeze(bias, axes));
}

// Inputs x, scale, offset, mean, variance; in training mode mean and variance are computed from the data.
std::vector<Value> tf_fused_batch_norm(Builder& layer) {
  layer.has("exponential_avg_factor");
  auto format = layer.get<std::string>("data_format", "NHWC");
  tf::Layout layout(layer, format.size() == 5 ? 3 : 2);
  double epsilon = layer.get<float>("epsilon", 1e-4f);
  Value x = layer.input(0), scale = layer.input(1), offset = layer.input(2);
  DType type = x.type();
  Value data = layout.in(x), mean, variance;
  if (layer.get<bool>("is_training", true)) {
    std::vector<int64_t> axes{0};
    for (size_t i = 0; i < layout.spatial(); ++i) axes.push_back(static_cast<int64_t>(i) + 2);
    Value wide = convert(data, scale.type());
    Value m = build::reduce_mean(wide, axes), d = wide - m;
    mean = reshape(m, {-1});
    variance = reshape(build::reduce_mean(d * d, axes), {-1});
  } else {
    mean = layer.input(3), variance = layer.input(4);
  }
  Value y = layer.op("BatchNormInference@5", {convert(data, scale.type()), scale, offset, mean, variance},
                     {{"epsilon", epsilon}});
  std::vector<Value> out{layout.out(convert(y, type)), mean, variance, mean, variance};
  if (layer.output_used(5)) out.push_back(layer.constant<float>({}, {0}));
  return out;
}

// x, mean, variance, beta, gamma
Value tf_old_batch_norm(Builder& layer) {
  double epsilon = layer.get<float>("variance_epsilon");
  Value gamma = layer.get<bool>("scale_after_normalization", true)
                    ? layer.input(4)
                    : build::fill(layer, 1, layer.input(4).type(), shape_of(layer.input(4)));
  return tf::channels_last(
      layer.op("BatchNormInference@5",
               {tf::channels_second(layer.input(0), 2), gamma, layer.input(3), layer.input(1), layer.input(2)},
               {{"epsilon", epsilon}}),
      2);
}

Value tf_lrn(Builder& layer) {
  auto radius = layer.get<int64_t>("depth_radius", 5);
  if (radius < 0 || radius > 1 << 20) fail("expected 'depth_radius' of 0 to ", 1 << 20, ", got ", radius);
  auto size = 2 * radius + 1;
  double alpha = layer.get<float>("alpha", 1) * static_cast<double>(size);
  return tf::channels_last(layer.op("LRN", {tf::channels_second(layer.input(0), 2), layer.ints({1})},
                                    {{"alpha", alpha},
                                     {"beta", static_cast<double>(layer.get<float>("beta", 0.5f))},
                                     {"bias", static_cast<double>(layer.get<float>("bias", 1))},
                                     {"size", size}}),
                           2);
}

Value tf_l2_loss(Builder& layer) {
  Value x = reshape(layer.input(0), {-1});
  return layer.op("ReduceSum", {x * x, layer.ints({0})}, {{"keep_dims", false}}) / 2;
}

}  // namespace

Definitions define_tensorflow_normalization() {
  return {
      tensorflow("BatchNormWithGlobalNormalization").expand(tf_old_batch_norm),
      tensorflow("BiasAdd").expand(tf_bias_add),
      tensorflow("BiasAddV1").expand(tf_bias_add),
      tensorflow("FusedBatchNorm").expand(tf_fused_batch_norm),
      tensorflow("FusedBatchNormV2").expand(tf_fused_batch_norm),
      tensorflow("FusedBatchNormV3").expand(tf_fused_batch_norm),
      tensorflow("L2Loss").expand(tf_l2_loss),
      tensorflow("LRN").expand(tf_lrn),
  };
}

}  // namespace graft
