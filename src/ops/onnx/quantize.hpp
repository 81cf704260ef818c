// Quantization and dequantization steps shared by several ONNX layers. Integers are accumulated in i32; halves are
// rounded to even.
#pragma once

#include <graft/op.hpp>

#include "cast.hpp"

namespace graft {

// Reshapes a single element to a scalar, and returns anything else unchanged.
inline Value flat_scalar(Value v) {
  Shape s = v.shape();
  bool one = s.ranked() && s.rank() > 0 && s.elements().known() && s.elements().value() == 1;
  return one ? reshape(v, {}) : v;
}
// Reshapes values along `axis` to broadcast against a tensor of this rank; scalars stay scalars.
inline Value along_axis(Value v, size_t axis, size_t rank) {
  v = flat_scalar(v);
  if (v.rank() != 1) return v;
  std::vector<int64_t> dims(rank, 1);
  dims[axis] = -1;
  return reshape(v, dims);
}

// Integers minus their zero point, in i32.
inline Value centred(Value x, Value zero_point) {
  x = convert(x, DType::i32);
  return zero_point ? x - convert(zero_point, DType::i32) : x;
}

// (x - zero point) * scale, in f32.
inline Value dequantize(Value x, Value scale, Value zero_point) {
  Value wide = convert(x, DType::f32);
  if (zero_point && is_integer(x.type())) {
    // Wide integers may not be exact in f32 before the subtraction.
    if (bits_of(x.type()) > 16) wide = convert(centred(x, zero_point), DType::f32);
    else wide = wide - convert(zero_point, DType::f32);
  }
  return wide * convert(scale, DType::f32);
}

inline std::pair<double, double> quantized_range(DType type) {
  double steps = std::ldexp(1.0, bits_of(type));
  return is_signed_integer(type) ? std::pair(-steps / 2, steps / 2 - 1) : std::pair(0.0, steps - 1);
}

// round(x) + zero point, saturated to the type; `x` is divided by the scale already.
inline Value quantize(Value x, Value zero_point, DType type, bool saturate = true) {
  Builder& in = x.in();
  if (is_real(type)) return cast(in, x, type, saturate);
  Value y = convert(in.op("Round", {x}, {{"mode", "half_to_even"}}), DType::f32);
  if (zero_point) y = y + convert(zero_point, DType::f32);
  auto [low, high] = quantized_range(type);
  return convert(in.op("Clamp", {y}, {{"min", low}, {"max", high}}), type);
}

// Bytes that cover the range of `x` and zero, with their scale and zero point.
struct DynamicallyQuantized {
  Value values, scale, zero_point;
};
DynamicallyQuantized dynamically_quantized(Builder& layer, Value x);

// (a - its zero point) * (b - its zero point), accumulated in i32. Zero points of `a` may be per row, those of `b` per
// column.
Value integer_matmul(Builder& layer, Value a, Value a_zero, Value b, Value b_zero, bool transpose_a = false,
                     bool transpose_b = false);
// Scales or zero points per row, reshaped to broadcast against the matrix.
inline Value by_row(Value v) {
  if (!v) return v;
  v = flat_scalar(v);
  return v.rank() == 1 ? unsqueeze(v, {1}) : v;
}

// An input of the layer, or an empty value.
inline Value optional_input(Builder& layer, size_t i) { return layer.has_input(i) ? layer.input(i) : Value(); }

}  // namespace graft
