// Layers of ONNX Runtime that dequantize each input, compute in floating point and quantize the result.
#include <graft/op.hpp>

#include "onnx/quantize.hpp"
#include "onnx/windows.hpp"

namespace graft {
namespace {

// Dequantizes input i by inputs i + 1 (scale) and i + 2 (zero point).
Value real_input(Builder& layer, size_t i) {
  Value zero = optional_input(layer, i + 2);
  return dequantize(layer.input(i), flat_scalar(layer.input(i + 1)), zero ? flat_scalar(zero) : zero);
}
// Quantizes by inputs i (scale) and i + 1 (zero point).
Value quantized_result(Builder& layer, Value y, size_t i, DType fallback) {
  Value scale = convert(flat_scalar(layer.input(i)), DType::f32), zero = optional_input(layer, i + 1);
  return quantize(y / scale, zero ? flat_scalar(zero) : zero, zero ? zero.type() : fallback);
}
// f of the only data input; scale and zero point of the result follow it.
template <class F>
Value quantized_unary(Builder& layer, F f) {
  return quantized_result(layer, f(real_input(layer, 0)), 3, layer.input(0).type());
}

Value import_qlinear_add(Builder& layer) {
  return quantized_result(layer, real_input(layer, 0) + real_input(layer, 3), 6, layer.input(0).type());
}
Value import_qlinear_mul(Builder& layer) {
  return quantized_result(layer, real_input(layer, 0) * real_input(layer, 3), 6, layer.input(0).type());
}
// Condition, both values, the scale and zero point of the result.
Value import_qlinear_where(Builder& layer) {
  return quantized_result(layer, layer.op("Select", {layer.input(0), real_input(layer, 1), real_input(layer, 4)}), 7,
                          layer.input(1).type());
}
Value import_qlinear_sigmoid(Builder& layer) {
  return quantized_unary(layer, [&](Value x) { return layer.op("Sigmoid", {x}); });
}
Value import_qlinear_leaky_relu(Builder& layer) {
  auto slope = layer.get<float>("alpha", 0.01f);
  return quantized_unary(layer, [&](Value x) { return layer.op("PRelu", {x, layer.typed({slope}, {1}, x.type())}); });
}

// Before opset 13, everything from the axis on is one row.
Value softmax_rows(Builder& layer, Value x) {
  bool rows = layer.get<int64_t>("opset", 13) < 13;
  auto rank = static_cast<int64_t>(x.rank()), axis = layer.get<int64_t>("axis", rows ? 1 : -1);
  axis = static_cast<int64_t>(normalize_axis(axis, static_cast<size_t>(rank)));
  if (!rows || axis == rank - 1) return layer.op("Softmax@8", {x}, {{"axis", axis}});
  std::vector<int64_t> keep(static_cast<size_t>(axis), 0);
  keep.push_back(-1);
  Value flat = layer.op("Reshape", {x, layer.ints(keep)}, {{"special_zero", true}});
  Value y = layer.op("Softmax@8", {flat}, {{"axis", axis}});
  return layer.op("Reshape", {y, shape_of(x)}, {{"special_zero", false}});
}
// Probabilities are multiples of a whole number of steps: ONNX Runtime truncates 1 / scale.
Value import_qlinear_softmax(Builder& layer) {
  Value scale = convert(flat_scalar(layer.input(3)), DType::f32), zero = optional_input(layer, 4);
  Value steps = layer.op("Floor", {1 / scale});
  return quantize(softmax_rows(layer, real_input(layer, 0)) * steps, zero ? flat_scalar(zero) : zero,
                  zero ? zero.type() : layer.input(0).type());
}

Value import_qlinear_average_pool(Builder& layer) {
  return quantized_unary(layer, [&](Value x) {
    return with_channels_second(x, layer.get<bool>("channels_last", false),
                                [&](Value v) { return layer_average_pool(layer, v); });
  });
}
Value import_qlinear_global_average_pool(Builder& layer) {
  return quantized_unary(layer, [&](Value x) {
    bool last = layer.get<bool>("channels_last", false);
    std::vector<int64_t> axes;
    for (size_t i = last ? 1 : 2; i < x.rank() - (last ? 1 : 0); ++i) axes.push_back(static_cast<int64_t>(i));
    return layer.op("ReduceMean", {x, layer.ints(axes)}, {{"keep_dims", true}});
  });
}
Value import_qlinear_reduce_mean(Builder& layer) {
  return quantized_unary(layer, [&](Value x) {
    auto axes = layer.get<std::vector<int64_t>>("axes", {});
    for (size_t i = 0; i < x.rank() && !layer.has("axes"); ++i) axes.push_back(static_cast<int64_t>(i));
    return layer.op("ReduceMean", {x, layer.ints(axes)}, {{"keep_dims", layer.get<bool>("keepdims", true)}});
  });
}

// The scale and zero point of the result come first, then each input with its own.
Value import_qlinear_concat(Builder& layer) {
  std::vector<Value> parts;
  for (size_t i = 2; i + 1 < layer.inputs(); i += 3) parts.push_back(real_input(layer, i));
  Value y = layer.op("Concat", parts, {{"axis", layer.get<int64_t>("axis")}});
  return quantized_result(layer, y, 0, layer.input(2).type());
}

}  // namespace

Definitions define_onnx_quantized_layers() {
  auto microsoft = [](std::string_view type, Value (*f)(Builder&)) {
    return onnx(type).domain("com.microsoft").expand(f);
  };
  return {
      microsoft("QLinearAdd", import_qlinear_add),
      microsoft("QLinearMul", import_qlinear_mul),
      microsoft("QLinearWhere", import_qlinear_where),
      microsoft("QLinearSigmoid", import_qlinear_sigmoid),
      microsoft("QLinearLeakyRelu", import_qlinear_leaky_relu),
      microsoft("QLinearSoftmax", import_qlinear_softmax),
      microsoft("QLinearAveragePool", import_qlinear_average_pool).rank(0, 3),
      microsoft("QLinearGlobalAveragePool", import_qlinear_global_average_pool).rank(0, 3),
      microsoft("QLinearReduceMean", import_qlinear_reduce_mean),
      microsoft("QLinearConcat", import_qlinear_concat),
  };
}

}  // namespace graft
