// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear.
#include <graft/op.hpp>

#include "onnx/quantize.hpp"

namespace graft {
namespace {

// Scale or zero point broadcast to `x`: per tensor, per element of the axis, or per block of it.
Value spread_over(Builder& layer, Value v, Value x) {
  if (!v) return v;
  v = flat_scalar(v);
  if (v.rank() == 0) return v;
  size_t axis = normalize_axis(layer.get<int64_t>("axis", 1), x.rank());
  auto block = layer.get<int64_t>("block_size", 0);
  if (block == 0) return along_axis(v, axis, x.rank());
  if (block < 0) fail("expected a non-negative 'block_size', got ", block);
  auto at = static_cast<int64_t>(axis);
  Value count = layer.op("Gather", {shape_of(x), layer.scalar(at), layer.scalar(int64_t{0})});
  Value places =
      layer.op("Range", {layer.scalar(int64_t{0}), count, layer.scalar(int64_t{1})}, {{"output_type", DType::i64}});
  return layer.op("Gather", {v, places / static_cast<double>(block), layer.scalar(at)});
}

Value import_quantize(Builder& layer) {
  Value x = layer.input(0), scale = spread_over(layer, layer.input(1), x), zero = optional_input(layer, 2);
  DType type = DType::u8;
  if (layer.get<int64_t>("output_dtype", 0) != 0) type = onnx_element_type(layer.get<int64_t>("output_dtype"));
  if (zero) type = zero.type();
  if (!is_integer(type) && !is_real(type)) fail("quantizing to ", type, " is not supported");
  DType precision = is_real(x.type()) ? x.type() : scale.type();
  if (layer.get<int64_t>("precision", 0) != 0) precision = onnx_element_type(layer.get<int64_t>("precision"));
  else if (is_real(scale.type()) && bits_of(scale.type()) > bits_of(precision)) precision = scale.type();
  Value y = convert(x, precision) / convert(scale, precision);
  return quantize(y, is_integer(type) ? spread_over(layer, zero, x) : Value(), type, layer.get<bool>("saturate", true));
}

Value import_dequantize(Builder& layer) {
  Value x = layer.input(0), scale = layer.input(1);
  DType type = scale.type();
  if (layer.get<int64_t>("output_dtype", 0) != 0) type = onnx_element_type(layer.get<int64_t>("output_dtype"));
  Value zero = spread_over(layer, optional_input(layer, 2), x);
  return convert(dequantize(x, spread_over(layer, scale, x), zero), type);
}

}  // namespace

DynamicallyQuantized dynamically_quantized(Builder& layer, Value x) {
  Value all = reshape(x, {-1}), first = layer.ints({0});
  auto reduced = [&](std::string_view how, std::string_view limit) {
    return layer.op(limit, {layer.op(how, {all, first}, {{"keep_dims", false}}), like(x, 0)});
  };
  Value high = reduced("ReduceMax", "Maximum"), low = reduced("ReduceMin", "Minimum");
  Value range = (high - low) / 255, none = layer.op("Equal", {range, like(x, 0)});
  Value scale = layer.op("Select", {none, like(x, 1), range});
  Value zero = quantize(-low / scale, Value(), DType::u8);
  return {quantize(x / scale, zero, DType::u8), scale, zero};
}

namespace {

std::vector<Value> import_dynamic_quantize(Builder& layer) {
  DynamicallyQuantized q = dynamically_quantized(layer, layer.input(0));
  return {q.values, q.scale, q.zero_point};
}

}  // namespace

Definitions define_onnx_quantize_linear() {
  return {
      onnx("QuantizeLinear").expand(import_quantize),
      onnx("DequantizeLinear").expand(import_dequantize),
      onnx("QuantizeLinear").domain("com.microsoft").expand(import_quantize),
      onnx("DequantizeLinear").domain("com.microsoft").expand(import_dequantize),
      onnx("DynamicQuantizeLinear").expand(import_dynamic_quantize),
  };
}

}  // namespace graft
