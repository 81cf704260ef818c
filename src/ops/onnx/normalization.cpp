// Batch, instance, layer and group normalization.
#include <graft/op.hpp>

#include "onnx/windows.hpp"

namespace graft {
namespace {

std::vector<int64_t> axes_from(size_t first, size_t rank) {
  std::vector<int64_t> axes;
  for (size_t i = first; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  return axes;
}
Value mean_over(Value x, const std::vector<int64_t>& axes, bool keep) {
  return x.in().op("ReduceMean", {x, x.in().ints(axes)}, {{"keep_dims", keep}});
}
Value mean_and_variance_normal(Value x, const std::vector<int64_t>& axes, double eps, const char* where) {
  return x.in().op("MVN@6", {x, x.in().ints(axes)}, {{"eps", eps}, {"normalize_variance", true}, {"eps_mode", where}});
}

// Scale, bias, mean and variance may have a different type than the data.
Value batch_norm_by_channel(Builder& layer, Value x, Value mean, Value variance, double epsilon) {
  DType type = x.type();
  return layer.op(
      "BatchNormInference@5",
      {x, convert(layer.input(1), type), convert(layer.input(2), type), convert(mean, type), convert(variance, type)},
      {{"epsilon", epsilon}});
}

// The outputs are y and the updated mean and variance; up to opset 13 also the statistics of this batch.
std::vector<Value> batch_norm_training(Builder& layer, Value x, double epsilon) {
  std::vector<int64_t> axes = axes_from(1, x.rank());
  axes[0] = 0;
  Value mean = mean_over(x, axes, false);
  Value apart = x - by_channel(mean, x.rank() - 2), variance = mean_over(apart * apart, axes, false);
  Value y = batch_norm_by_channel(layer, x, mean, variance, epsilon);
  double momentum = layer.get<float>("momentum", 0.9f);
  auto moved = [&](Value old, Value now) { return old * momentum + convert(now, old.type()) * (1 - momentum); };
  return {y, moved(layer.input(3), mean), moved(layer.input(4), variance), mean, variance};
}

std::vector<Value> import_batch_norm(Builder& layer) {
  for (std::string_view unused : {"consumed_inputs", "is_test", "momentum"}) layer.has(unused);
  Value x = layer.input(0);
  double epsilon = layer.get<float>("epsilon", 1e-5f);
  bool training = layer.version() >= 14 ? layer.get<bool>("training_mode", false) : layer.output_used(1);
  if (training) return batch_norm_training(layer, x, epsilon);
  if (layer.version() < 9 && !layer.get<bool>("spatial", true)) {
    // Statistics per element.
    Value deviation = layer.op("Sqrt", {layer.input(4) + epsilon});
    return {(x - layer.input(3)) / deviation * layer.input(1) + layer.input(2)};
  }
  return {batch_norm_by_channel(layer, x, layer.input(3), layer.input(4), epsilon)};
}

Value import_instance_norm(Builder& layer) {
  layer.has("consumed_inputs");
  Value x = layer.input(0);
  size_t spatial = x.rank() - 2;
  Value y = mean_and_variance_normal(x, axes_from(2, x.rank()), layer.get<float>("epsilon", 1e-5f), "INSIDE_SQRT");
  return y * by_channel(convert(layer.input(1), x.type()), spatial) +
         by_channel(convert(layer.input(2), x.type()), spatial);
}

Value import_mean_variance_norm(Builder& layer) {
  Value x = layer.input(0);
  if (layer.version() < 9)
    return layer.op("MVN@2", {x},
                    {{"across_channels", layer.get<bool>("across_channels", false)},
                     {"normalize_variance", layer.get<bool>("normalize_variance", true)}});
  return mean_and_variance_normal(x, layer.get<std::vector<int64_t>>("axes", {0, 2, 3}), 1e-9, "OUTSIDE_SQRT");
}

// The type and the axes that LayerNormalization and RMSNormalization compute with.
DType stash_type(Builder& layer) { return onnx_element_type(layer.get<int64_t>("stash_type", 1)); }
std::vector<int64_t> trailing_axes(Builder& layer, Value x) {
  auto axis = layer.get<int64_t>("axis", -1);
  std::vector<int64_t> axes;
  if (axis < -64) fail("expected an axis of the input, got ", axis);
  if (axis >= 0 || x.shape().ranked()) return axes_from(normalize_axis(axis, x.rank()), x.rank());
  for (; axis < 0; ++axis) axes.push_back(axis);
  return axes;
}

// Scale and bias of the trailing axes; some files store them flattened.
Value over_trailing_axes(Value v, Value x, const std::vector<int64_t>& axes) {
  v = convert(v, x.type());
  Shape whole = x.shape(), row = v.shape();
  if (axes.size() < 2 || !whole.ranked() || !row.ranked() || row.rank() != 1) return v;
  Shape part(std::vector<Dim>(whole.end() - static_cast<std::ptrdiff_t>(axes.size()), whole.end()));
  bool fits = row[0].same(part[part.rank() - 1]) || row[0].same(Dim(1));
  return !fits && part.is_static() ? reshape(v, part.values()) : v;
}

std::vector<Value> import_layer_norm(Builder& layer) {
  Value x = layer.input(0), wide = convert(x, stash_type(layer));
  std::vector<int64_t> axes = trailing_axes(layer, x);
  double epsilon = layer.get<float>("epsilon", 1e-5f);
  Value y = convert(mean_and_variance_normal(wide, axes, epsilon, "INSIDE_SQRT"), x.type());
  y = y * over_trailing_axes(layer.input(1), x, axes);
  if (layer.has_input(2)) y = y + over_trailing_axes(layer.input(2), x, axes);
  std::vector<Value> out{y};
  if (layer.output_used(1) || layer.output_used(2)) {
    Value mean = mean_over(wide, axes, true), apart = wide - mean;
    out.push_back(mean);
    out.push_back(1 / layer.op("Sqrt", {mean_over(apart * apart, axes, true) + epsilon}));
  }
  return out;
}

Value import_rms_norm(Builder& layer) {
  Value x = layer.input(0), wide = convert(x, stash_type(layer));
  Value size =
      layer.op("Sqrt", {mean_over(wide * wide, trailing_axes(layer, x), true) + layer.get<float>("epsilon", 1e-5f)});
  return convert(wide / size, x.type()) * convert(layer.input(1), x.type());
}

Value import_group_norm(Builder& layer) {
  Value x = layer.input(0), scale = layer.input(1), bias = layer.input(2);
  auto groups = layer.get<int64_t>("num_groups");
  double epsilon = layer.get<float>("epsilon", 1e-5f);
  if (layer.version() >= 21) {
    DType stash = stash_type(layer);
    Value y = layer.op("GroupNormalization@12", {convert(x, stash), convert(scale, stash), convert(bias, stash)},
                       {{"num_groups", groups}, {"epsilon", epsilon}});
    return convert(y, x.type());
  }
  // One scale and bias per group.
  Value grouped = layer.op("Reshape", {x, layer.ints({0, groups, -1})}, {{"special_zero", true}});
  Value y = mean_and_variance_normal(grouped, {2}, epsilon, "INSIDE_SQRT") * by_channel(scale, 1) + by_channel(bias, 1);
  return layer.op("Reshape", {y, shape_of(x)}, {{"special_zero", false}});
}

Value import_openvino_group_norm(Builder& layer) {
  auto list = [](Value v) { return v.rank() == 1 ? v : reshape(v, {-1}); };
  return layer.op("GroupNormalization@12", {layer.input(0), list(layer.input(1)), list(layer.input(2))},
                  {{"num_groups", layer.get<int64_t>("num_groups")}, {"epsilon", layer.get<float>("eps", 1e-6f)}});
}

Value import_openvino_normalize(Builder& layer) {
  Value x = layer.input(0), weights = layer.input(1);
  size_t rank = x.rank();
  std::vector<int64_t> axes = layer.get<bool>("across_spatial", false) ? axes_from(1, rank) : std::vector<int64_t>{1};
  Value y = layer.op("NormalizeL2", {x, layer.ints(axes)}, {{"eps", layer.get<float>("eps", 0)}, {"eps_mode", "add"}});
  return y * (layer.get<bool>("channel_shared", false) ? weights : by_channel(weights, rank - 2));
}

// For an even size, ONNX extends the window one channel further to the right than to the left; LRN is symmetric.
Value import_lrn(Builder& layer) {
  Value x = layer.input(0);
  auto size = layer.get<int64_t>("size");
  if (size < 1 || size > INT32_MAX) fail("expected a positive 'size', got ", size);
  double alpha = layer.get<float>("alpha", 1e-4f), beta = layer.get<float>("beta", 0.75f),
         bias = layer.get<float>("bias", 1);
  if (size % 2 == 1)
    return layer.op("LRN", {x, layer.ints({1})}, {{"alpha", alpha}, {"beta", beta}, {"bias", bias}, {"size", size}});
  Shape s = x.shape();
  if (!s.ranked() || !s[1].known()) needs_shape("the number of channels is unknown, but this conversion requires it");
  Value squares = layer.op("Reshape", {x * x, layer.ints({0, 1, s[1].value(), -1})}, {{"special_zero", true}});
  Value mean = layer.op("AvgPool", {squares},
                        {{"kernel", std::vector<int64_t>{size, 1}},
                         {"pads_begin", std::vector<int64_t>{(size - 1) / 2, 0}},
                         {"pads_end", std::vector<int64_t>{size / 2, 0}},
                         {"exclude-pad", false}});
  mean = layer.op("Reshape", {mean, shape_of(x)}, {{"special_zero", false}});
  return x / layer.op("Power", {mean * alpha + bias, like(x, beta)});
}

}  // namespace

Definitions define_onnx_normalization() {
  auto openvino = [](std::string_view type) { return onnx(type).domain("org.openvinotoolkit"); };
  return {
      onnx("BatchNormalization").rank(0, 2).expand(import_batch_norm),
      onnx("InstanceNormalization").rank(0, 3).expand(import_instance_norm),
      onnx("MeanVarianceNormalization").expand(import_mean_variance_norm),
      onnx("LayerNormalization").expand(import_layer_norm),
      onnx("RMSNormalization").expand(import_rms_norm),
      onnx("GroupNormalization").expand(import_group_norm),
      onnx("LRN").expand(import_lrn),
      openvino("GroupNorm").expand(import_openvino_group_norm),
      openvino("ExperimentalDetectronGroupNorm").expand(import_openvino_group_norm),
      openvino("Normalize").expand(import_openvino_normalize),
  };
}

}  // namespace graft
