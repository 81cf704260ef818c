// Layers that scale, shift and normalize.
#include <graft/op.hpp>

#include "caffe/building.hpp"

namespace graft {
namespace {

std::vector<double> caffe_numbers(const Value& weights) {
  auto v = weights.values<double>();
  if (!v) fail("expected constant weights");
  return *v;
}

// x * scale + shift with one value per channel.
Value caffe_scale_shift(Builder& layer, const Value& x, const std::vector<double>& scale,
                        const std::vector<double>& shift) {
  std::vector<int64_t> dims(x.rank(), 1);
  if (dims.size() < 2) fail("expected an input of rank 2 or more, got rank ", dims.size());
  dims[1] = static_cast<int64_t>(scale.size());
  return x * layer.typed(scale, dims, x.type()) + layer.typed(shift, dims, x.type());
}

Value caffe_normalised(Builder& layer, const Value& x, const std::vector<double>& mean,
                       const std::vector<double>& variance, double eps, std::vector<double> scale,
                       std::vector<double> shift) {
  scale.resize(mean.size(), 1);
  shift.resize(mean.size(), 0);
  if (variance.size() != mean.size())
    fail("expected as many means as variances, got ", mean.size(), " and ", variance.size());
  for (size_t c = 0; c < mean.size(); ++c) {
    scale[c] /= std::sqrt(variance[c] + eps);
    shift[c] -= mean[c] * scale[c];
  }
  return caffe_scale_shift(layer, x, scale, shift);
}

Value import_caffe_batch_norm(Builder& layer) {
  Value x = layer.input(0);
  double eps = layer.get<float>("batch_norm_param.eps", 1e-5f);
  if (!layer.get<bool>("batch_norm_param.use_global_stats", true)) {
    std::vector<int64_t> axes = caffe_axes_from(2, x.rank());
    axes.insert(axes.begin(), 0);
    return layer.op("MVN@6", {x, layer.ints(axes)},
                    {{"eps", eps}, {"normalize_variance", true}, {"eps_mode", "INSIDE_SQRT"}});
  }
  std::vector<double> mean = caffe_numbers(layer.weight(0)), variance = caffe_numbers(layer.weight(1));
  if (layer.weights() > 2) {  // both are sums over this many steps: divide
    std::vector<double> steps = caffe_numbers(layer.weight(2));
    double factor = steps.empty() || steps[0] == 0 ? 0 : 1 / steps[0];
    for (double& v : mean) v *= factor;
    for (double& v : variance) v *= factor;
  }
  bool own_scale = layer.weights() >= 5;  // a fork with its own scale and shift
  return caffe_normalised(layer, x, mean, variance, eps,
                          own_scale ? caffe_numbers(layer.weight(3)) : std::vector<double>(),
                          own_scale ? caffe_numbers(layer.weight(4)) : std::vector<double>());
}

// BN of several forks: scale and shift, and the statistics unless they are folded into these already.
Value import_caffe_bn(Builder& layer) {
  Value x = layer.input(0);
  std::vector<double> scale = caffe_numbers(layer.weight(0)), shift = caffe_numbers(layer.weight(1));
  if (scale.size() != shift.size())
    fail("expected as many scales as shifts, got ", scale.size(), " and ", shift.size());
  if (layer.weights() == 2) return caffe_scale_shift(layer, x, scale, shift);
  return caffe_normalised(layer, x, caffe_numbers(layer.weight(2)), caffe_numbers(layer.weight(3)),
                          layer.get<float>("bn_param.eps", 1e-5f), scale, shift);
}

// A factor or term broadcast from `axis` on, for a value of rank `rank`.
Value caffe_along(Builder& layer, const Value& v, bool is_weight, const std::string& message, size_t rank) {
  size_t axis = caffe_axis(layer.get<int64_t>(message + ".axis", 1), rank);
  auto count = layer.get<int64_t>(message + ".num_axes", 1);
  Shape s = v.shape();
  std::vector<int64_t> dims;
  if (is_weight && count == 1) dims = {-1};
  else if (is_weight && count == 0) dims = {};
  else {
    if (!s.ranked()) needs_shape("the rank of the input is unknown, but this conversion requires it");
    dims.assign(s.rank(), 0);  // 0 keeps a dimension
  }
  size_t own = dims.size();
  if (axis + own > rank)
    fail("a factor or term of shape ", s, " does not fit a tensor of rank ", rank, " at axis ", axis);
  if (own + axis == rank && !is_weight) return v;
  if (own) dims.resize(rank - axis, 1);
  return build::reshape_keeping(v, dims);
}

Value import_caffe_scale(Builder& layer) {
  Value x = layer.input(0);
  bool two = layer.flows() > 1;
  if (layer.flows() > 2) fail("expected 1 or 2 inputs, got ", layer.flows());
  Value y = x * caffe_along(layer, two ? layer.input(1) : layer.weight(0), !two, "scale_param", x.rank());
  if (!layer.get<bool>("scale_param.bias_term", false)) return y;
  return y + caffe_along(layer, layer.weight(two ? 0 : 1), true, "scale_param", x.rank());
}
Value import_caffe_bias(Builder& layer) {
  Value x = layer.input(0);
  bool two = layer.flows() > 1;
  return x + caffe_along(layer, two ? layer.input(1) : layer.weight(0), !two, "bias_param", x.rank());
}

Value import_caffe_lrn(Builder& layer) {
  auto size = layer.get<int64_t>("lrn_param.local_size", 5);
  if (size < 1 || size % 2 == 0) fail("expected an odd 'lrn_param.local_size', got ", size);
  std::string region =
      caffe_word(layer, "lrn_param.norm_region", {"ACROSS_CHANNELS", "WITHIN_CHANNEL"}, "ACROSS_CHANNELS");
  bool across = region == "ACROSS_CHANNELS";
  if (!across && region != "WITHIN_CHANNEL")
    fail("expected 'lrn_param.norm_region' ACROSS_CHANNELS or WITHIN_CHANNEL, got ", region);
  double k = layer.get<float>("lrn_param.k", 1);
  return layer.op("LRN", {layer.input(0), layer.ints(across ? std::vector<int64_t>{1} : std::vector<int64_t>{2, 3})},
                  {{"alpha", layer.get<float>("lrn_param.alpha", 1)},
                   {"beta", layer.get<float>("lrn_param.beta", 0.75f)},
                   {"bias", across ? k : 1.0},
                   {"size", size}});
}

Value import_caffe_mvn(Builder& layer) {
  Value x = layer.input(0);
  bool across = layer.get<bool>("mvn_param.across_channels", false);
  return layer.op("MVN@6", {x, layer.ints(caffe_axes_from(across ? 1 : 2, x.rank()))},
                  {{"eps", layer.get<float>("mvn_param.eps", 1e-9f)},
                   {"normalize_variance", layer.get<bool>("mvn_param.normalize_variance", true)},
                   {"eps_mode", "OUTSIDE_SQRT"}});
}

Value import_caffe_normalize(Builder& layer) {
  Value x = layer.input(0);
  bool across = layer.get<bool>("norm_param.across_spatial", true);
  std::vector<int64_t> axes = across ? caffe_axes_from(1, x.rank()) : std::vector<int64_t>{1};
  Value y = layer.op("NormalizeL2", {x, layer.ints(axes)},
                     {{"eps", layer.get<float>("norm_param.eps", 1e-10f)}, {"eps_mode", "add"}});
  bool shared = layer.get<bool>("norm_param.channel_shared", true);
  Value scale = layer.weight(0);
  if (x.rank() < 1) fail("expected an input of rank 1 or more, got a scalar");
  return y * (shared ? reshape(scale, std::vector<int64_t>(x.rank(), 1)) : caffe_per_channel(scale, x.rank()));
}

}  // namespace

Definitions define_caffe_normalization() {
  return {
      caffe("BatchNorm")
          .ignore("batch_norm_param.moving_average_fraction")
          .ignore("batch_norm_param.engine")
          .expand(import_caffe_batch_norm),
      caffe("BN").ignore("bn_param.*").expand(import_caffe_bn),
      caffe("Scale").ignore("scale_param.filler.*").ignore("scale_param.bias_filler.*").expand(import_caffe_scale),
      caffe("Bias").ignore("bias_param.filler.*").expand(import_caffe_bias),
      caffe("LRN").ignore("lrn_param.engine").expand(import_caffe_lrn),
      caffe("MVN").expand(import_caffe_mvn),
      caffe("Normalize").ignore("norm_param.scale_filler.*").expand(import_caffe_normalize),
      caffe("GRN").to("GRN", "opset1").attr("bias", "grn_param.bias", 1.0),
  };
}

}  // namespace graft
