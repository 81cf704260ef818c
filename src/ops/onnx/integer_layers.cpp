// Integer convolutions and matrix products: ConvInteger, MatMulInteger, QLinearConv, QLinearMatMul, and those of ONNX
// Runtime: QGemm, MatMulIntegerToFloat, DynamicQuantizeMatMul.
#include <graft/op.hpp>

#include "onnx/quantize.hpp"
#include "onnx/windows.hpp"

namespace graft {

Value integer_matmul(Builder& layer, Value a, Value a_zero, Value b, Value b_zero, bool transpose_a, bool transpose_b) {
  return layer.op("MatMul", {centred(a, by_row(a_zero)), centred(b, b_zero ? flat_scalar(b_zero) : b_zero)},
                  {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
}

namespace {

// Zero points of weights [O, I, ...] may be per output channel.
Value integer_convolution(Builder& layer, Value x, Value x_zero, Value w, Value w_zero) {
  if (x_zero) x_zero = flat_scalar(x_zero);
  if (w_zero) w_zero = along_axis(w_zero, 0, w.rank());
  return layer_convolution(layer, centred(x, x_zero), centred(w, w_zero));
}

Value import_conv_integer(Builder& layer) {
  return integer_convolution(layer, layer.input(0), optional_input(layer, 2), layer.input(1), optional_input(layer, 3));
}
Value import_matmul_integer(Builder& layer) {
  return integer_matmul(layer, layer.input(0), optional_input(layer, 2), layer.input(1), optional_input(layer, 3));
}

// Rescales sums of products, whose scale is the product of the input scales, to the output scale.
Value requantize(Value sum, Value scale_a, Value scale_b, Value scale_y, Value zero_y, DType type) {
  Value factor = convert(scale_a * scale_b / scale_y, DType::f32);
  return quantize(convert(sum, DType::f32) * factor, zero_y, type);
}

Value qlinear_convolution(Builder& layer, Value x) {
  Value w = layer.input(3), y_zero = optional_input(layer, 7);
  Value y = integer_convolution(layer, x, optional_input(layer, 2), w, optional_input(layer, 5));
  size_t axes = y.rank() - 2;
  if (layer.has_input(8)) y = y + by_channel(convert(layer.input(8), DType::i32), axes);
  return requantize(y, flat_scalar(layer.input(1)), along_axis(layer.input(4), 1, axes + 2),
                    flat_scalar(layer.input(6)), y_zero ? flat_scalar(y_zero) : y_zero,
                    y_zero ? y_zero.type() : x.type());
}

Value import_qlinear_conv(Builder& layer) { return qlinear_convolution(layer, layer.input(0)); }
Value import_ms_qlinear_conv(Builder& layer) {
  return with_channels_second(layer.input(0), layer.get<bool>("channels_last", false),
                              [&](Value x) { return qlinear_convolution(layer, x); });
}

Value import_qlinear_matmul(Builder& layer) {
  Value a = layer.input(0), b = layer.input(3), y_zero = optional_input(layer, 7);
  Value y = integer_matmul(layer, a, optional_input(layer, 2), b, optional_input(layer, 5));
  return requantize(y, by_row(layer.input(1)), flat_scalar(layer.input(4)), by_row(layer.input(6)), by_row(y_zero),
                    y_zero ? y_zero.type() : a.type());
}

Value import_qgemm(Builder& layer) {
  Value a = layer.input(0), b = layer.input(3);
  bool transpose_b = layer.get<bool>("transB", false);
  // Columns of the product are rows of a transposed `b`.
  auto by_column = [&](Value v) { return transpose_b ? by_row(v) : v; };
  Value y = integer_matmul(layer, a, optional_input(layer, 2), b, by_column(optional_input(layer, 5)),
                           layer.get<bool>("transA", false), transpose_b);
  if (layer.has_input(6)) y = y + layer.input(6);
  Value scale_a = flat_scalar(layer.input(1)) * layer.get<double>("alpha", 1), scale_b = flat_scalar(layer.input(4));
  if (!layer.has_input(7)) return convert(y, DType::f32) * scale_a * scale_b;
  Value y_zero = optional_input(layer, 8);
  return requantize(y, scale_a, scale_b, flat_scalar(layer.input(7)), y_zero ? flat_scalar(y_zero) : y_zero,
                    y_zero ? y_zero.type() : a.type());
}

Value scaled_matmul(Builder& layer, Value a, Value scale_a, Value a_zero, Value b, Value scale_b, Value b_zero,
                    Value bias) {
  Shape rows = a.shape(), scales = scale_a.shape();
  if (rows.ranked() && rows.rank() >= 2 && scales.ranked() && scales.rank() == 1 && scales[0].known()) {
    // Scales per column of `a` cannot be factored out of the sums.
    size_t last = rows.rank() - 1;
    if (rows[last].same(scales[0]) && !rows[last - 1].same(scales[0]) && scales[0].value() != 1) {
      Value y = layer.op("MatMul", {dequantize(a, scale_a, a_zero), dequantize(b, scale_b, b_zero)});
      return bias ? y + bias : y;
    }
  }
  Value sum = integer_matmul(layer, a, a_zero, b, b_zero);
  Value y = convert(sum, scale_a.type()) * (by_row(scale_a) * flat_scalar(scale_b));
  return bias ? y + bias : y;
}
Value import_matmul_integer_to_float(Builder& layer) {
  return scaled_matmul(layer, layer.input(0), layer.input(2), optional_input(layer, 4), layer.input(1), layer.input(3),
                       optional_input(layer, 5), optional_input(layer, 6));
}
Value import_dynamic_quantize_matmul(Builder& layer) {
  DynamicallyQuantized a = dynamically_quantized(layer, layer.input(0));
  return scaled_matmul(layer, a.values, a.scale, a.zero_point, layer.input(1), layer.input(2), optional_input(layer, 3),
                       optional_input(layer, 4));
}

}  // namespace

Definitions define_onnx_integer_layers() {
  auto microsoft = [](std::string_view type) { return onnx(type).domain("com.microsoft"); };
  return {
      onnx("ConvInteger").rank(0, 3).rank(1, 3).expand(import_conv_integer),
      onnx("MatMulInteger").expand(import_matmul_integer),
      onnx("QLinearConv").rank(0, 3).rank(3, 3).expand(import_qlinear_conv),
      onnx("QLinearMatMul").expand(import_qlinear_matmul),
      microsoft("QLinearConv").rank(0, 3).rank(3, 3).expand(import_ms_qlinear_conv),
      microsoft("QGemm").expand(import_qgemm),
      microsoft("MatMulIntegerToFloat").expand(import_matmul_integer_to_float),
      microsoft("DynamicQuantizeMatMul").expand(import_dynamic_quantize_matmul),
  };
}

}  // namespace graft
