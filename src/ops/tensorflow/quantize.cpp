// Quantized numbers and fake quantization.
#include <graft/numeric.hpp>
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

// The numbers of a quantized type: those of its integers.
struct TfIntegers {
  double lowest, highest;
  bool is_signed() const { return lowest < 0; }
  double steps() const { return highest - lowest; }
};
TfIntegers tf_integers(DType type) {
  if (!is_integer(type)) fail("expected a quantized (integer) type, got ", type);
  double highest = std::ldexp(1.0, bits_of(type) - is_signed_integer(type)) - 1;
  return {lowest_of(type), highest};
}
// The limit of a range, as it broadcasts to the data: one number, or one for each slice along an axis.
Value tf_range_limit(Builder& layer, size_t input, const Value& x, int64_t axis) {
  Value limit = layer.input(input);
  if (axis == -1) return tf::as_scalar(limit);
  std::vector<int64_t> dims(x.rank() - normalize_axis(axis, x.rank()), 1);
  dims[0] = -1;
  return reshape(limit, dims);
}
// Dividing the integer by a limit of the range: that many steps per unit, if the range extends to that side.
Value tf_scale_of_side(double integer, const Value& limit) {
  Value extends = limit.in().op(integer < 0 ? "Less" : "Greater", {limit, like(limit, 0)});
  Value safe = build::select(extends, limit, like(limit, 1));
  return build::select(extends, integer / safe, like(limit, -lowest_of(limit.type())));
}
Value tf_clipped(const Value& x, const Value& low, const Value& high) {
  Builder& layer = x.in();
  return layer.op("Maximum", {layer.op("Minimum", {x, high}), low});
}
Value tf_rounded(const Value& x, std::string_view mode) {
  return x.in().op("Round", {x}, {{"mode", std::string(mode)}});
}

// Inputs x, min, max: the range that the integers represent.
Value tf_dequantize(Builder& layer) {
  auto mode = layer.get<std::string>("mode", "MIN_COMBINED");
  bool narrow = layer.get<bool>("narrow_range", false);
  int64_t axis = layer.get<int64_t>("axis", -1);
  Value x = layer.input(0), low = tf_range_limit(layer, 1, x, axis), high = tf_range_limit(layer, 2, x, axis);
  TfIntegers integers = tf_integers(x.type());
  Value data = convert(x, DType::f32), scale = (high - low) / integers.steps();
  auto result = [&](const Value& y) { return convert(y, layer.get<DType>("dtype", DType::f32)); };
  if (mode == "MIN_COMBINED")
    return result((integers.is_signed() ? data + (integers.steps() + 1) / 2 : data) * scale + low);
  if (mode == "MIN_FIRST")  // the minimum moves to a multiple of the step
    return result((data - integers.lowest) * scale + tf_rounded(low / scale, "half_away_from_zero") * scale);
  if (mode != "SCALED") fail("expected mode MIN_COMBINED, MIN_FIRST or SCALED, got '", mode, "'");
  Value step = high / integers.highest;
  if (integers.is_signed()) step = layer.op("Maximum", {step, low / (integers.lowest + (narrow ? 1 : 0))});
  return result(data * step);
}

// The limits of the range are moved so that it holds 0 and is not too small. Outputs: integers, and what range they
// represent.
std::vector<Value> tf_quantize(Builder& layer) {
  auto mode = layer.get<std::string>("mode", "MIN_COMBINED"),
       rounding = layer.get<std::string>("round_mode", "HALF_AWAY_FROM_ZERO");
  if (rounding != "HALF_AWAY_FROM_ZERO" && rounding != "HALF_TO_EVEN")
    fail("expected round_mode HALF_AWAY_FROM_ZERO or HALF_TO_EVEN, got '", rounding, "'");
  if (rounding == "HALF_TO_EVEN" && mode != "SCALED")
    fail("round_mode HALF_TO_EVEN requires mode SCALED, got '", mode, "'");
  bool narrow = layer.get<bool>("narrow_range", false);
  int64_t axis = layer.get<int64_t>("axis", -1);
  auto least = layer.get<float>("ensure_minimum_range", 0.01f);
  DType type = layer.get<DType>("T");
  TfIntegers integers = tf_integers(type);
  Value x = layer.input(0), low = tf_range_limit(layer, 1, x, axis), high = tf_range_limit(layer, 2, x, axis);
  auto larger = [&](const Value& a, const Value& b) { return layer.op("Maximum", {a, b}); };
  Value zero = like(low, 0), extent = larger(larger(layer.op("Abs", {low}), layer.op("Abs", {high})), like(low, 1));
  low = layer.op("Minimum", {low, zero});
  high = larger(larger(high, low + extent * least), zero);
  Value y;
  if (mode == "MIN_COMBINED") {
    y = (tf_clipped(x, low, high) - low) * (integers.steps() / (high - low));
    if (integers.is_signed()) y = tf_rounded(y - (integers.steps() + 1) / 2, "half_away_from_zero");
    else y = layer.op("Floor", {y + 0.5});
  } else if (mode == "MIN_FIRST") {
    Value scale = integers.steps() / (high - low);
    auto in_steps = [&](const Value& v) { return tf_rounded(v * scale, "half_away_from_zero"); };
    // TensorFlow has a kernel of its own for u8, which rounds the distance from the minimum instead.
    y = type == DType::u8 ? layer.op("Floor", {(x - low) * scale + 0.5})
                          : in_steps(x) - in_steps(low) + integers.lowest;
    y = tf_clipped(y, like(y, integers.lowest), like(y, integers.highest));
  } else if (mode == "SCALED") {
    double lowest = integers.lowest + (narrow ? 1 : 0);
    Value scale = tf_scale_of_side(integers.highest, high);
    if (integers.is_signed()) scale = layer.op("Minimum", {scale, tf_scale_of_side(lowest, low)});
    low = lowest / scale, high = integers.highest / scale;
    y = tf_rounded(tf_clipped(x, low, high) * scale,
                   rounding == "HALF_TO_EVEN" ? "half_to_even" : "half_away_from_zero");
  } else {
    fail("expected mode MIN_COMBINED, MIN_FIRST or SCALED, got '", mode, "'");
  }
  auto limit = [&](const Value& v) { return axis == -1 ? v : reshape(v, {-1}); };
  return {convert(y, type), limit(low), limit(high)};
}

// The nearest of the numbers that `bits` bits represent in the range, which is given or that of the data.
Value tf_quantize_and_dequantize(Builder& layer, int64_t bits) {
  bool is_signed = layer.get<bool>("signed_input", true), narrow = layer.get<bool>("narrow_range", false);
  bool given = layer.get<bool>("range_given", layer.type() == "QuantizeAndDequantizeV3");
  auto rounding = layer.get<std::string>("round_mode", "HALF_TO_EVEN");
  if (rounding != "HALF_TO_EVEN" && rounding != "HALF_UP")
    fail("expected round_mode HALF_TO_EVEN or HALF_UP, got '", rounding, "'");
  int64_t axis = layer.get<int64_t>("axis", -1), most = is_signed ? 62 : 63;
  if (bits < (is_signed ? 2 : 1) || bits > most) fail("expected num_bits of at most ", most, ", got ", bits);
  Value x = layer.input(0), low, high;
  if (given) {
    low = tf_range_limit(layer, 1, x, axis), high = tf_range_limit(layer, 2, x, axis);
  } else {
    std::vector<int64_t> axes;
    for (size_t i = 0, rank = x.rank(); i < rank; ++i)
      if (axis == -1 || i != normalize_axis(axis, rank)) axes.push_back(static_cast<int64_t>(i));
    auto extreme = [&](std::string_view op) {
      return layer.op(op, {x, layer.ints(axes)}, {{"keep_dims", axis != -1}});
    };
    low = extreme("ReduceMin"), high = extreme("ReduceMax");
  }
  double highest = std::ldexp(1.0, static_cast<int>(bits) - (is_signed ? 1 : 0)) - 1;
  double lowest = !is_signed ? 0 : -highest - (narrow ? 0 : 1);
  Value scale = tf_scale_of_side(highest, high), step = high / highest;
  if (is_signed) {
    Value of_low = tf_scale_of_side(lowest, low), lower = layer.op("Less", {of_low, scale});
    scale = layer.op("Minimum", {of_low, scale}), step = build::select(lower, low / lowest, step);
  }
  if (given) x = tf_clipped(x, step * lowest, step * highest);
  Value y = x * scale;
  return (rounding == "HALF_UP" ? layer.op("Floor", {y + 0.5}) : tf_rounded(y, "half_to_even")) * step;
}
Value tf_quantize_and_dequantize_v2(Builder& layer) {
  return tf_quantize_and_dequantize(layer, layer.get<int64_t>("num_bits", 8));
}
Value tf_quantize_and_dequantize_v3(Builder& layer) {
  return tf_quantize_and_dequantize(layer, tf::constant_int(layer.input(3), "num_bits"));
}

}  // namespace

Definitions define_tensorflow_quantize() {
  return {
      tensorflow("Dequantize").expand(tf_dequantize),
      tensorflow("FakeQuantWithMinMaxArgs").expand(tf_fake_quant_args),
      tensorflow("FakeQuantWithMinMaxVars").expand(tf_fake_quant_vars),
      tensorflow("FakeQuantWithMinMaxVarsPerChannel").expand(tf_fake_quant_vars),
      tensorflow("QuantizeAndDequantizeV2").expand(tf_quantize_and_dequantize_v2),
      tensorflow("QuantizeAndDequantizeV3").expand(tf_quantize_and_dequantize_v3),
      tensorflow("QuantizeAndDequantizeV4").expand(tf_quantize_and_dequantize_v2),
      tensorflow("QuantizeV2").expand(tf_quantize),
  };
}

}  // namespace graft
