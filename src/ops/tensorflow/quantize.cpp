// Quantized numbers and fake quantization.
#include <graft/op.hpp>

#include "layout.hpp"

namespace graft {
namespace {

// Like TensorFlow, adjusts the range so that 0 is exactly representable.
Value tf_fake_quantize(Builder& layer, Value low, Value high) {
  auto bits = layer.get<int64_t>("num_bits", 8);
  bool narrow = layer.get<bool>("narrow_range", false);
  if (bits < 2 || bits > 16) fail("expected 'num_bits' of 2 to 16, got ", bits);
  int64_t levels = (int64_t{1} << bits) - (narrow ? 1 : 0);
  auto steps = static_cast<double>(levels - 1);
  Value step = (high - low) / steps;
  Value first = layer.op("Round", {low / step}, {{"mode", "half_away_from_zero"}});
  Value moved = layer.op("Clamp", {first}, {{"min", -steps}, {"max", 0.0}}) * step;
  Value top = moved + (high - low);
  return layer.op("FakeQuantize", {layer.input(0), moved, top, moved, top}, {{"levels", levels}});
}
Value tf_fake_quant_args(Builder& layer) {
  return tf_fake_quantize(layer, layer.scalar(layer.get<float>("min", -6), DType::f32),
                          layer.scalar(layer.get<float>("max", 6), DType::f32));
}
Value tf_fake_quant_vars(Builder& layer) { return tf_fake_quantize(layer, layer.input(1), layer.input(2)); }

// Inputs x, min, max: the range that the integers represent.
Value tf_dequantize(Builder& layer) {
  auto mode = layer.get<std::string>("mode", "MIN_COMBINED");
  layer.get<bool>("narrow_range", false);
  if (layer.get<int64_t>("axis", -1) != -1) unsupported("per-channel quantization is not supported");
  Value x = layer.input(0), low = layer.input(1), high = layer.input(2);
  DType type = x.type();
  if (!is_integer(type)) fail("expected quantized (integer) data, got ", type);
  int bits = bits_of(type);
  bool is_signed = type == DType::i8 || type == DType::i16 || type == DType::i32;
  double smallest = is_signed ? -std::ldexp(1.0, bits - 1) : 0, steps = std::ldexp(1.0, bits) - 1;
  Value data = convert(x, DType::f32);
  if (mode == "MIN_COMBINED") {
    Value scale = (high - low) / steps;
    return (is_signed ? data + std::ldexp(1.0, bits - 1) : data) * scale + low;
  }
  if (mode == "MIN_FIRST") {
    Value scale = (high - low) / steps;
    // Snap the minimum to a multiple of the step.
    Value start = layer.op("Round", {low / scale}, {{"mode", "half_away_from_zero"}}) * scale;
    return (data - smallest) * scale + start;
  }
  if (mode == "SCALED") {
    double top = is_signed ? std::ldexp(1.0, bits - 1) - 1 : steps;
    Value scale = high / top;
    if (is_signed) scale = layer.op("Maximum", {scale, low / -std::ldexp(1.0, bits - 1)});
    return data * scale;
  }
  fail("expected mode MIN_COMBINED, MIN_FIRST or SCALED, got '", mode, "'");
}

}  // namespace

Definitions define_tensorflow_quantize() {
  return {
      tensorflow("Dequantize").expand(tf_dequantize),
      tensorflow("FakeQuantWithMinMaxArgs").expand(tf_fake_quant_args),
      tensorflow("FakeQuantWithMinMaxVars").expand(tf_fake_quant_vars),
      tensorflow("FakeQuantWithMinMaxVarsPerChannel").expand(tf_fake_quant_vars),
  };
}

}  // namespace graft
