// Quantized tensors, fused activations and paddings of TensorFlow Lite's operators.
//
// The reader gives the steps of quantized tensors as fields: "quantization.input0.scale", ".zero_point", ".axis". An
// operator on them computes with the numbers that the integers stand for and quantizes the result, so that the graph
// has integers between operators and numbers inside of them.
#pragma once

#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>

#include "tensorflow/layout.hpp"

namespace graft::tfl {

struct Steps {
  std::vector<double> scale, zero;
  int64_t axis = 0;
  bool operator==(const Steps&) const = default;
};

inline std::optional<Steps> steps_at(Builder& layer, std::string_view side, size_t i) {
  std::string path = text("quantization.", side, i, '.');
  if (!layer.has(path + "scale")) return std::nullopt;
  Steps s;
  s.scale = layer.get<std::vector<double>>(path + "scale");
  for (int64_t z : layer.get<std::vector<int64_t>>(path + "zero_point", {})) s.zero.push_back(static_cast<double>(z));
  s.axis = layer.get<int64_t>(path + "axis", 0);
  return s;
}
// Of an input that is an integer; a number may have steps as well, which mean nothing.
inline std::optional<Steps> input_steps(Builder& layer, size_t i) {
  if (!layer.has_input(i) || !is_integer(layer.input(i).type())) return std::nullopt;
  return steps_at(layer, "input", i);
}
inline DType output_type(Builder& layer, size_t i = 0) {
  return layer.get<DType>(text("types.output", i), DType::undefined);
}
inline std::optional<Steps> output_steps(Builder& layer, size_t i = 0) {
  if (!is_integer(output_type(layer, i))) return std::nullopt;
  return steps_at(layer, "output", i);
}

// Values of the steps against a tensor of this rank.
inline Value spread(Builder& layer, const std::vector<double>& values, int64_t axis, size_t rank) {
  if (values.size() == 1) return layer.scalar(values[0], DType::f32);
  std::vector<int64_t> dims(rank, 1);
  dims.at(static_cast<size_t>(axis)) = static_cast<int64_t>(values.size());
  return layer.typed(values, dims, DType::f32);
}
// The numbers that integers stand for: (q - zero) * scale.
inline Value dequantized(const Value& q, const Steps& s) {
  Builder& layer = q.in();
  size_t rank = s.scale.size() > 1 ? q.rank() : 0;
  Value x = convert(q, DType::f32);
  if (std::any_of(s.zero.begin(), s.zero.end(), [](double z) { return z != 0; })) {
    // Wide integers may not be exact in f32 before the subtraction.
    if (bits_of(q.type()) > 16) unsupported("a zero point of a tensor of ", q.type(), " is not supported");
    x = x - spread(layer, s.zero, s.axis, rank);
  }
  return x * spread(layer, s.scale, s.axis, rank);
}
// The integers of this type nearest to numbers in steps.
enum class Halves { to_even, away };
inline Value rounded(Value steps, DType type, double zero = 0, Halves halves = Halves::to_even) {
  Builder& layer = steps.in();
  double levels = std::ldexp(1.0, bits_of(type)), low = is_signed_integer(type) ? -levels / 2 : 0;
  Value y = layer.op("Round", {steps}, {{"mode", halves == Halves::away ? "half_away_from_zero" : "half_to_even"}});
  return convert(layer.op("Clamp", {y + zero}, {{"min", low}, {"max", low + levels - 1}}), type);
}
inline Value quantized(Value x, const Steps& s, DType type, Halves halves = Halves::to_even) {
  Builder& layer = x.in();
  if (s.scale.size() != 1) {
    // Along an axis: with the zero points added after the rounding.
    size_t rank = x.rank();
    Value y = layer.op("Round", {x / spread(layer, s.scale, s.axis, rank)}, {{"mode", "half_to_even"}});
    if (!s.zero.empty()) y = y + spread(layer, s.zero, s.axis, rank);
    return rounded(y, type);
  }
  if (bits_of(type) > 16) return convert(layer.op("Round", {x / s.scale[0]}, {{"mode", "half_to_even"}}), type);
  // Always divided, also by 1: devices know the form.
  Value steps = layer.op("Divide", {x, like(x, s.scale[0])});
  return rounded(steps, type, s.zero.empty() ? 0 : s.zero[0], halves);
}

// Integers times a number, as whole numbers: the interpreter multiplies by a fraction of 31 bits and rounds twice, the
// product to multiples of 2^-`bits`, halves up, and those to whole numbers, halves away from zero.
inline int exponent_of(double factor) {
  int e = 0;
  std::frexp(factor, &e);
  return e;
}
inline Value rescaled(const Value& integers, double factor, int bits) {
  Builder& layer = integers.in();
  bits = std::clamp(bits, 0, 62);
  Value y = layer.op("Floor", {integers * std::ldexp(factor, bits) + 0.5});
  if (bits == 0) return y;
  return layer.op("Round", {y * std::ldexp(1.0, -bits)}, {{"mode", "half_away_from_zero"}});
}
inline Value rescaled(const Value& integers, double factor) { return rescaled(integers, factor, -exponent_of(factor)); }
// Whole numbers in steps as integers, with the activation's bounds.
inline Value in_steps(Builder& layer, const Value& steps, const Steps& s, DType type,
                      std::string_view activation = "NONE") {
  double zero = s.zero.empty() ? 0 : s.zero[0], levels = std::ldexp(1.0, bits_of(type));
  double low = is_signed_integer(type) ? -levels / 2 : 0, high = low + levels - 1;
  auto level = [&](double v) { return std::round(v / s.scale[0]) + zero; };
  if (activation == "RELU" || activation == "RELU6") low = std::max(low, zero);
  if (activation == "RELU6") high = std::min(high, level(6));
  if (activation == "RELU_N1_TO_1") low = std::max(low, level(-1)), high = std::min(high, level(1));
  return convert(layer.op("Clamp", {steps + zero}, {{"min", low}, {"max", high}}), type);
}
// One scale for all elements, and positive.
inline bool is_plain(const std::optional<Steps>& s) { return s && s->scale.size() == 1 && s->scale[0] > 0; }
// Integers of at most 16 bits minus their zero, exact in f32.
inline Value centred(const Value& q, const Steps& s) {
  return convert(q, DType::f32) - (s.zero.empty() ? 0 : s.zero[0]);
}

// An input as numbers.
inline Value real(Builder& layer, size_t i) {
  Value x = layer.input(i);
  auto s = input_steps(layer, i);
  if (s) return dequantized(x, *s);
  return x;
}
inline Value real_or_none(Builder& layer, size_t i) { return layer.has_input(i) ? real(layer, i) : Value(); }
// Numbers as the output of the layer.
inline Value result(Builder& layer, const Value& y, size_t i = 0, Halves halves = Halves::to_even) {
  if (auto s = output_steps(layer, i); s && is_real(y.type())) return quantized(y, *s, output_type(layer, i), halves);
  return y;
}

// The function at the end of an operator.
inline Value activated(Builder& layer, Value y, std::string_view field = "fused_activation_function") {
  auto name = layer.get<std::string>(field, "NONE");
  auto clamp = [&](double low, double high) {
    if (is_real(y.type())) return layer.op("Clamp", {y}, {{"min", low}, {"max", high}});
    return layer.op("Minimum", {layer.op("Maximum", {y, like(y, low)}), like(y, high)});
  };
  if (name == "NONE") return y;
  if (name == "RELU") return layer.op("Relu", {y});
  if (name == "RELU6") return clamp(0, 6);
  if (name == "RELU_N1_TO_1") return clamp(-1, 1);
  if (name == "TANH") return layer.op("Tanh", {y});
  if (name == "SIGN_BIT") unsupported("the fused activation SIGN_BIT is not supported");
  fail("expected the name of an activation in '", field, "', got '", name, "'");
}

inline std::string auto_pad(Builder& layer) {
  return layer.get<std::string>("padding") == "SAME" ? "same_upper" : "valid";
}
// Options with the height first.
inline std::vector<int64_t> pair_of(Builder& layer, std::string_view height, std::string_view width) {
  std::vector<int64_t> v{layer.get<int64_t>(height), layer.get<int64_t>(width)};
  within_limits(height, v);
  return v;
}

// An operator that moves elements: integers stay, unless the result has other steps.
inline Value moved(Builder& layer, const Value& y, size_t input = 0, size_t output = 0) {
  auto from = input_steps(layer, input), to = output_steps(layer, output);
  if (!is_plain(from) || !is_plain(to) || *from == *to || bits_of(y.type()) > 16) return y;
  return in_steps(layer, rescaled(centred(y, *from), from->scale[0] / to->scale[0]), *to, output_type(layer, output));
}

// A rule for a builtin operator.
template <class F>
Rule rule(std::string_view type, F f) {
  return tflite(type)
      .ignore("quantization.*")
      .ignore("types.*")
      .ignore("asymmetric_quantize_inputs")
      .ignore("quantized_bias_type")
      .ignore("pot_scale_int16")
      .expand(+f);
}

}  // namespace graft::tfl
