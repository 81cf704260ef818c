// Element-wise operators.
#include "building.hpp"

namespace graft {
namespace {

using tfl::real, tfl::result;

Value tfl_unary(Builder& layer, Value (*f)(const Value&)) { return result(layer, f(real(layer, 0))); }

template <size_t i>
Value tfl_same_unary(Builder& layer);

struct SameUnary {
  std::string_view type, op;
};
constexpr SameUnary same_unary[] = {
    {"CEIL", "Ceiling"},      {"COS", "Cos"}, {"ELU", "Elu"},          {"EXP", "Exp"},      {"FLOOR", "Floor"},
    {"HARD_SWISH", "HSwish"}, {"LOG", "Log"}, {"LOGISTIC", "Sigmoid"}, {"NEG", "Negative"}, {"ROUND", "Round"},
    {"SIGN", "Sign"},         {"SIN", "Sin"}, {"TANH", "Tanh"}};
template <size_t i>
Value tfl_same_unary(Builder& layer) {
  return result(layer, layer.op(same_unary[i].op, {real(layer, 0)}));
}
template <size_t... i>
void add_same_unary(Definitions& to, std::index_sequence<i...>) {
  (void(to += tfl::rule(same_unary[i].type, tfl_same_unary<i>)), ...);
}

Value tfl_bounded(Builder& layer, double low, double high) {
  return result(layer, layer.op("Clamp", {real(layer, 0)}, {{"min", low}, {"max", high}}));
}
// Both sides with their own factor.
struct Sides {
  tfl::Steps from, to;
};
std::optional<Sides> tfl_sides(Builder& layer) {
  auto from = tfl::input_steps(layer, 0), to = tfl::output_steps(layer);
  if (!tfl::is_plain(from) || !tfl::is_plain(to) || bits_of(layer.input(0).type()) > 16) return std::nullopt;
  return Sides{*from, *to};
}
template <size_t which>
Value tfl_relu(Builder& layer) {
  constexpr std::string_view names[] = {"RELU", "RELU6", "RELU_N1_TO_1"};
  if (auto s = tfl_sides(layer))
    return tfl::in_steps(layer, tfl::rescaled(tfl::centred(layer.input(0), s->from), s->from.scale[0] / s->to.scale[0]),
                         s->to, tfl::output_type(layer), names[which]);
  if constexpr (which == 0) return result(layer, layer.op("Relu", {real(layer, 0)}));
  else return tfl_bounded(layer, which == 1 ? 0 : -1, which == 1 ? 6 : 1);
}
Value tfl_abs(Builder& layer) {
  if (auto s = tfl_sides(layer)) {
    Value x = layer.op("Abs", {tfl::centred(layer.input(0), s->from)});
    return tfl::in_steps(layer, tfl::rescaled(x, s->from.scale[0] / s->to.scale[0]), s->to, tfl::output_type(layer));
  }
  return result(layer, layer.op("Abs", {real(layer, 0)}));
}
// The root of bytes is cut off, not rounded.
Value tfl_sqrt(Builder& layer) {
  Value y = layer.op("Sqrt", {real(layer, 0)});
  if (auto s = tfl_sides(layer))
    return tfl::in_steps(layer, layer.op("Floor", {y / s->to.scale[0]}), s->to, tfl::output_type(layer));
  return result(layer, y);
}
Value tfl_leaky_relu(Builder& layer) {
  double slope = layer.get<float>("alpha");
  if (auto s = tfl_sides(layer); s && slope > 0) {
    Value x = tfl::centred(layer.input(0), s->from);
    double factor = s->from.scale[0] / s->to.scale[0];
    Value y =
        build::select(layer.op("Less", {x, like(x, 0)}), tfl::rescaled(x, factor * slope), tfl::rescaled(x, factor));
    return tfl::in_steps(layer, y, s->to, tfl::output_type(layer));
  }
  Value x = real(layer, 0);
  return result(layer, layer.op("PRelu", {x, layer.typed({layer.get<float>("alpha")}, {1}, x.type())}));
}
// The slope broadcasts like any operand, from the last axis.
Value tfl_prelu(Builder& layer) {
  auto slopes = tfl::input_steps(layer, 1);
  if (auto s = tfl_sides(layer); s && tfl::is_plain(slopes)) {
    Value q = tfl::centred(layer.input(0), s->from), by = tfl::centred(layer.input(1), *slopes);
    double factor = s->from.scale[0] / s->to.scale[0];
    Value y = build::select(layer.op("Less", {q, like(q, 0)}), tfl::rescaled(q * by, factor * slopes->scale[0]),
                            tfl::rescaled(q, factor));
    return tfl::in_steps(layer, y, s->to, tfl::output_type(layer));
  }
  Value x = real(layer, 0), slope = real(layer, 1), zero = like(x, 0);
  return result(layer, build::select(layer.op("Less", {x, zero}), x * slope, x));
}
Value tfl_gelu(Builder& layer) {
  return result(layer, layer.op("Gelu@7", {real(layer, 0)},
                                {{"approximation_mode", layer.get<bool>("approximate") ? "tanh" : "erf"}}));
}

template <size_t i>
Value tfl_arithmetic(Builder& layer) {
  constexpr std::string_view ops[] = {"Add", "Subtract", "Multiply"};
  return result(layer, tfl::activated(layer, layer.op(ops[i], {real(layer, 0), real(layer, 1)})));
}
Value tfl_multiply(Builder& layer) {
  auto a = tfl::input_steps(layer, 0), b = tfl::input_steps(layer, 1), to = tfl::output_steps(layer);
  auto activation = layer.get<std::string>("fused_activation_function", "NONE");
  bool bytes = tfl::is_plain(a) && tfl::is_plain(b) && tfl::is_plain(to) && bits_of(layer.input(0).type()) == 8 &&
               activation != "TANH";
  if (!bytes) return tfl_arithmetic<2>(layer);
  Value y = tfl::centred(layer.input(0), *a) * tfl::centred(layer.input(1), *b);
  return tfl::in_steps(layer, tfl::rescaled(y, a->scale[0] * b->scale[0] / to->scale[0]), *to, tfl::output_type(layer),
                       activation);
}
// Integers are truncated toward zero.
Value tfl_divide(Builder& layer) {
  return result(layer,
                tfl::activated(layer, layer.op("Divide", {real(layer, 0), real(layer, 1)}, {{"m_pythondiv", false}})));
}
Value tfl_floor_divide(Builder& layer) {
  Value y = layer.op("Divide", {layer.input(0), layer.input(1)}, {{"m_pythondiv", true}});
  return is_real(y.type()) ? layer.op("Floor", {y}) : y;
}
Value tfl_add_n(Builder& layer) {
  Value sum = real(layer, 0);
  for (size_t i = 1; i < layer.inputs(); ++i) sum = sum + real(layer, i);
  return result(layer, sum);
}

// Operators of two inputs with an operation of the same meaning, whose results are numbers or truths.
struct SameBinary {
  std::string_view type, op;
};
constexpr SameBinary same_binary[] = {{"MAXIMUM", "Maximum"},
                                      {"MINIMUM", "Minimum"},
                                      {"POW", "Power"},
                                      {"FLOOR_MOD", "FloorMod"},
                                      {"SQUARED_DIFFERENCE", "SquaredDifference"},
                                      {"EQUAL", "Equal"},
                                      {"NOT_EQUAL", "NotEqual"},
                                      {"LESS", "Less"},
                                      {"LESS_EQUAL", "LessEqual"},
                                      {"GREATER", "Greater"},
                                      {"GREATER_EQUAL", "GreaterEqual"}};
template <size_t i>
Value tfl_same_binary(Builder& layer) {
  // The same steps on all sides: the integers can be compared.
  auto a = tfl::input_steps(layer, 0), b = tfl::input_steps(layer, 1);
  bool plain = a && b && *a == *b && a->scale.size() == 1 && i != 2 && i != 3 && i != 4;
  if (plain && i < 2) plain = tfl::output_steps(layer) == a;
  if (plain) return layer.op(same_binary[i].op, {layer.input(0), layer.input(1)});
  return result(layer, layer.op(same_binary[i].op, {real(layer, 0), real(layer, 1)}));
}
template <size_t... i>
void add_same_binary(Definitions& to, std::index_sequence<i...>) {
  (void(to += tfl::rule(same_binary[i].type, tfl_same_binary<i>)), ...);
}

// The condition of SELECT may be a vector that selects rows.
Value tfl_select(Builder& layer) {
  Value condition = layer.input(0), yes = layer.input(1);
  Shape c = condition.shape(), y = yes.shape();
  if (layer.type() == "SELECT" && c.ranked() && y.ranked() && c.rank() == 1 && y.rank() > 1) {
    std::vector<int64_t> axes;
    for (size_t i = 1; i < y.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
    condition = unsqueeze(condition, axes);
  }
  auto a = tfl::input_steps(layer, 1), b = tfl::input_steps(layer, 2), to = tfl::output_steps(layer);
  if (a == b && b == to) return build::select(condition, yes, layer.input(2));
  return result(layer, build::select(condition, real(layer, 1), real(layer, 2)));
}

Value tfl_cast(Builder& layer) {
  layer.has("in_data_type");
  DType type = tfl::output_type(layer);
  if (type == DType::undefined) type = layer.get<DType>("out_data_type");
  return convert(layer.input(0), type);
}
Value tfl_quantize(Builder& layer) {
  auto to = tfl::output_steps(layer);
  if (!to) fail("expected an integer output with a scale");
  if (auto s = tfl_sides(layer))
    return tfl::in_steps(layer, tfl::rescaled(tfl::centred(layer.input(0), s->from), s->from.scale[0] / s->to.scale[0]),
                         s->to, tfl::output_type(layer));
  return tfl::quantized(real(layer, 0), *to, tfl::output_type(layer), tfl::Halves::away);
}
Value tfl_dequantize(Builder& layer) { return convert(real(layer, 0), DType::f32); }

Value tfl_fake_quant(Builder& layer) {
  Value x = layer.input(0);
  auto bits = layer.get<int64_t>("num_bits");
  double low = layer.get<float>("min"), high = layer.get<float>("max");
  if (bits < 2 || bits > 16) fail("expected 'num_bits' of 2 to 16, got ", bits);
  if (!(low <= 0) || !(high >= 0) || !(low < high)) fail("expected a range around zero, got ", low, " to ", high);
  double first = layer.get<bool>("narrow_range") ? 1 : 0, last = std::ldexp(1.0, static_cast<int>(bits)) - 1;
  // The range is moved so that zero is a level.
  double scale = (high - low) / (last - first);
  double zero = std::round(std::clamp(first - low / scale, first, last));
  Value a = like(x, (first - zero) * scale), b = like(x, (last - zero) * scale);
  return layer.op("FakeQuantize", {x, a, b, a, b}, {{"levels", static_cast<int64_t>(last - first) + 1}});
}

}  // namespace

Definitions define_tflite_elementwise() {
  Definitions ops;
  add_same_unary(ops, std::make_index_sequence<std::size(same_unary)>());
  add_same_binary(ops, std::make_index_sequence<std::size(same_binary)>());
  ops += Definitions{
      tfl::rule("ABS", tfl_abs),
      tfl::rule("ADD", tfl_arithmetic<0>),
      tfl::rule("ADD_N", tfl_add_n),
      tfl::rule("ATAN2", [](Builder& layer) { return tf::arc_tangent(layer.input(0), layer.input(1)); }),
      tfl::rule("BITCAST",
                [](Builder& layer) {
                  return layer.op("Bitcast@graft", {layer.input(0)}, {{"type", tfl::output_type(layer)}});
                }),
      tfl::rule("BITWISE_XOR",
                [](Builder& layer) {
                  return layer.op("BitwiseXor", {layer.input(0), layer.input(1)});
                }),
      tfl::rule("CAST", tfl_cast),
      tfl::rule("DEQUANTIZE", tfl_dequantize),
      tfl::rule("DIV", tfl_divide),
      tfl::rule("FAKE_QUANT", tfl_fake_quant),
      tfl::rule("FLOOR_DIV", tfl_floor_divide),
      tfl::rule("GELU", tfl_gelu),
      tfl::rule("LEAKY_RELU", tfl_leaky_relu),
      tfl::rule("LOGICAL_AND",
                [](Builder& layer) {
                  return layer.op("LogicalAnd", {layer.input(0), layer.input(1)});
                }),
      tfl::rule("LOGICAL_NOT", [](Builder& layer) { return layer.op("LogicalNot", {layer.input(0)}); }),
      tfl::rule("LOGICAL_OR",
                [](Builder& layer) {
                  return layer.op("LogicalOr", {layer.input(0), layer.input(1)});
                }),
      tfl::rule("MUL", tfl_multiply),
      tfl::rule("PRELU", tfl_prelu),
      tfl::rule("QUANTIZE", tfl_quantize),
      tfl::rule("RELU", tfl_relu<0>),
      tfl::rule("RELU6", tfl_relu<1>),
      tfl::rule("RELU_0_TO_1", [](Builder& layer) { return tfl_bounded(layer, 0, 1); }),
      tfl::rule("RELU_N1_TO_1", tfl_relu<2>),
      tfl::rule("RIGHT_SHIFT",
                [](Builder& layer) {
                  return layer.op("BitwiseRightShift", {layer.input(0), layer.input(1)});
                }),
      tfl::rule("RSQRT",
                [](Builder& layer) {
                  return tfl_unary(layer, [](const Value& x) { return x.in().op("Power", {x, like(x, -0.5)}); });
                }),
      tfl::rule("SELECT", tfl_select),
      tfl::rule("SELECT_V2", tfl_select),
      tfl::rule("SQRT", tfl_sqrt),
      tfl::rule("SQUARE", [](Builder& layer) { return tfl_unary(layer, [](const Value& x) { return x * x; }); }),
      tfl::rule("STABLEHLO_ADD", tfl_arithmetic<0>),
      tfl::rule("STABLEHLO_MAXIMUM", tfl_same_binary<0>),
      tfl::rule("STABLEHLO_MINIMUM", tfl_same_binary<1>),
      tfl::rule("STABLEHLO_MULTIPLY", tfl_arithmetic<2>),
      tfl::rule("SUB", tfl_arithmetic<1>),
  };
  return ops;
}

}  // namespace graft
