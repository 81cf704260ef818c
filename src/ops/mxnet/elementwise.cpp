// Element-wise operators of one and two tensors, and of a tensor and a number.
#include "mxnet/building.hpp"

namespace graft {
namespace {

// ---- two operands ----

// What an operator computes from two values; comparisons give 0 and 1 of the type of the operands.
using MxnetBinary = Value (*)(const Value&, const Value&);

template <const char* const& operation>
Value mxnet_arithmetic(const Value& a, const Value& b) {
  return a.in().op(operation, {a, b});
}
template <const char* const& operation>
Value mxnet_comparison(const Value& a, const Value& b) {
  return convert(a.in().op(operation, {a, b}), a.type());
}
Value mxnet_truth(const Value& v) { return v.type() == DType::boolean ? v : v.in().op("NotEqual", {v, like(v, 0)}); }
template <const char* const& operation>
Value mxnet_logic(const Value& a, const Value& b) {
  return convert(a.in().op(operation, {mxnet_truth(a), mxnet_truth(b)}), a.type());
}
Value mxnet_hypotenuse(const Value& a, const Value& b) { return a.in().op("Sqrt", {a * a + b * b}); }

constexpr const char *op_add = "Add", *op_subtract = "Subtract", *op_multiply = "Multiply", *op_divide = "Divide",
                     *op_maximum = "Maximum", *op_minimum = "Minimum", *op_power = "Power", *op_mod = "FloorMod",
                     *op_equal = "Equal", *op_not_equal = "NotEqual", *op_greater = "Greater",
                     *op_greater_equal = "GreaterEqual", *op_less = "Less", *op_less_equal = "LessEqual",
                     *op_and = "LogicalAnd", *op_or = "LogicalOr", *op_xor = "LogicalXor";

template <MxnetBinary f>
Value import_mxnet_binary(Builder& layer) {
  return f(layer.input(0), layer.input(1));
}
// The number takes the type of the tensor.
template <MxnetBinary f>
Value import_mxnet_with_scalar(Builder& layer) {
  Value x = layer.input(0);
  return f(x, like(x, layer.get<double>("scalar", 0)));
}
template <MxnetBinary f>
Value import_mxnet_scalar_first(Builder& layer) {
  Value x = layer.input(0);
  return f(like(x, layer.get<double>("scalar", 0)), x);
}

template <MxnetBinary f>
Definitions mxnet_binary(std::initializer_list<std::string_view> tensors,
                         std::initializer_list<std::string_view> numbers,
                         std::initializer_list<std::string_view> reversed = {}) {
  return {mx::rules(tensors, import_mxnet_binary<f>), mx::rules(numbers, import_mxnet_with_scalar<f>, {"is_int"}),
          mx::rules(reversed, import_mxnet_scalar_first<f>, {"is_int"})};
}

Value import_mxnet_sum_of_all(Builder& layer) {
  std::vector<Value> parts = mx::all_inputs(layer);
  Value sum = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) sum = sum + parts[i];
  return sum;
}

// ---- one operand ----

template <const char* const& operation>
Value import_mxnet_unary(Builder& layer) {
  return layer.op(operation, {layer.input(0)});
}
template <const char* const& operation>
Definitions mxnet_unary(std::initializer_list<std::string_view> names) {
  return mx::rules(names, import_mxnet_unary<operation>);
}
constexpr const char *op_abs = "Abs", *op_acos = "Acos", *op_acosh = "Acosh", *op_asin = "Asin", *op_asinh = "Asinh",
                     *op_atan = "Atan", *op_atanh = "Atanh", *op_ceiling = "Ceiling", *op_cos = "Cos",
                     *op_cosh = "Cosh", *op_erf = "Erf", *op_erf_inv = "ErfInv", *op_exp = "Exp", *op_floor = "Floor",
                     *op_log = "Log", *op_negative = "Negative", *op_relu = "Relu", *op_sigmoid = "Sigmoid",
                     *op_sign = "Sign", *op_sin = "Sin", *op_sinh = "Sinh", *op_soft_sign = "SoftSign",
                     *op_sqrt = "Sqrt", *op_tan = "Tan", *op_tanh = "Tanh";

using MxnetUnary = Value (*)(Builder&, const Value&);
template <MxnetUnary f>
Value import_mxnet_formula(Builder& layer) {
  return f(layer, layer.input(0));
}
template <MxnetUnary f>
Definitions mxnet_formula(std::initializer_list<std::string_view> names) {
  return mx::rules(names, import_mxnet_formula<f>);
}

Value mxnet_raised(Builder& layer, const Value& x, double exponent) {
  return layer.op("Power", {x, like(x, exponent)});
}
Value mxnet_square(Builder&, const Value& x) { return x * x; }
Value mxnet_rsqrt(Builder& layer, const Value& x) { return mxnet_raised(layer, x, -0.5); }
Value mxnet_reciprocal(Builder&, const Value& x) { return 1.0 / x; }
Value mxnet_cbrt(Builder& layer, const Value& x) {
  return layer.op("Sign", {x}) * mxnet_raised(layer, layer.op("Abs", {x}), 1.0 / 3);
}
Value mxnet_rcbrt(Builder& layer, const Value& x) { return 1.0 / mxnet_cbrt(layer, x); }
Value mxnet_expm1(Builder& layer, const Value& x) { return layer.op("Exp", {x}) - 1.0; }
Value mxnet_log1p(Builder& layer, const Value& x) { return layer.op("Log", {x + 1.0}); }
Value mxnet_log2(Builder& layer, const Value& x) { return layer.op("Log", {x}) * (1 / std::log(2.0)); }
Value mxnet_log10(Builder& layer, const Value& x) { return layer.op("Log", {x}) * (1 / std::log(10.0)); }
Value mxnet_degrees(Builder&, const Value& x) { return x * (180 / 3.14159265358979323846); }
Value mxnet_radians(Builder&, const Value& x) { return x * (3.14159265358979323846 / 180); }
Value mxnet_round(Builder& layer, const Value& x) { return layer.op("Round", {x}, {{"mode", "half_away_from_zero"}}); }
Value mxnet_rint(Builder& layer, const Value& x) { return layer.op("Ceiling", {x - 0.5}); }  // ties go down
Value mxnet_fix(Builder& layer, const Value& x) {
  return layer.op("Sign", {x}) * layer.op("Floor", {layer.op("Abs", {x})});
}
Value mxnet_logical_not(Builder& layer, const Value& x) {
  return convert(layer.op("LogicalNot", {mxnet_truth(x)}), x.type());
}

Value import_mxnet_clip(Builder& layer) {
  constexpr double most = std::numeric_limits<double>::infinity();
  double low = mx::is_none(layer, "a_min") ? -most : layer.get<double>("a_min"),
         high = mx::is_none(layer, "a_max") ? most : layer.get<double>("a_max");
  return mx::clamp(layer.input(0), low, high);
}
Value import_mxnet_cast(Builder& layer) {
  return convert(layer.input(0), mx::element_type(layer, "dtype", layer.input(0).type()));
}
// Quadratic near zero, linear elsewhere.
Value import_mxnet_smooth_l1(Builder& layer) {
  Value x = layer.input(0);
  double s = layer.get<double>("scalar", 1), s2 = s * s;
  Value size = layer.op("Abs", {x});
  return build::select(layer.op("Less", {size, like(x, 1 / s2)}), x * x * (0.5 * s2), size - 0.5 / s2);
}

}  // namespace

Definitions define_mxnet_elementwise() {
  return {
      mxnet_binary<mxnet_arithmetic<op_add>>(
          {"elemwise_add", "_Plus", "_plus", "_add", "_grad_add", "broadcast_add", "broadcast_plus", "_npi_add"},
          {"_plus_scalar", "_PlusScalar", "_npi_add_scalar"}),
      mxnet_binary<mxnet_arithmetic<op_subtract>>(
          {"elemwise_sub", "_Minus", "_minus", "_sub", "broadcast_sub", "broadcast_minus", "_npi_subtract"},
          {"_minus_scalar", "_MinusScalar", "_npi_subtract_scalar"},
          {"_rminus_scalar", "_RMinusScalar", "_npi_rsubtract_scalar"}),
      mxnet_binary<mxnet_arithmetic<op_multiply>>({"elemwise_mul", "_Mul", "_mul", "broadcast_mul", "_npi_multiply"},
                                                  {"_mul_scalar", "_MulScalar", "_npi_multiply_scalar"}),
      mxnet_binary<mxnet_arithmetic<op_divide>>({"elemwise_div", "_Div", "_div", "broadcast_div", "_npi_true_divide"},
                                                {"_div_scalar", "_DivScalar", "_npi_true_divide_scalar"},
                                                {"_rdiv_scalar", "_RDivScalar", "_npi_rtrue_divide_scalar"}),
      mxnet_binary<mxnet_arithmetic<op_mod>>({"_mod", "_Mod", "broadcast_mod", "_npi_mod"},
                                             {"_mod_scalar", "_ModScalar", "_npi_mod_scalar"},
                                             {"_rmod_scalar", "_RModScalar", "_npi_rmod_scalar"}),
      mxnet_binary<mxnet_arithmetic<op_maximum>>({"_maximum", "_Maximum", "broadcast_maximum", "_npi_maximum"},
                                                 {"_maximum_scalar", "_MaximumScalar", "_npi_maximum_scalar"}),
      mxnet_binary<mxnet_arithmetic<op_minimum>>({"_minimum", "_Minimum", "broadcast_minimum", "_npi_minimum"},
                                                 {"_minimum_scalar", "_MinimumScalar", "_npi_minimum_scalar"}),
      mxnet_binary<mxnet_arithmetic<op_power>>({"_power", "_Power", "broadcast_power", "_npi_power", "pow"},
                                               {"_power_scalar", "_PowerScalar", "_npi_power_scalar"},
                                               {"_rpower_scalar", "_RPowerScalar", "_npi_rpower_scalar"}),
      mxnet_binary<mxnet_hypotenuse>({"_hypot", "broadcast_hypot"}, {"_hypot_scalar", "_HypotScalar"}),
      mxnet_binary<mxnet_comparison<op_equal>>({"_equal", "_Equal", "broadcast_equal"},
                                               {"_equal_scalar", "_EqualScalar"}),
      mxnet_binary<mxnet_comparison<op_not_equal>>({"_not_equal", "_Not_Equal", "broadcast_not_equal"},
                                                   {"_not_equal_scalar", "_NotEqualScalar"}),
      mxnet_binary<mxnet_comparison<op_greater>>({"_greater", "_Greater", "broadcast_greater"},
                                                 {"_greater_scalar", "_GreaterScalar"}),
      mxnet_binary<mxnet_comparison<op_greater_equal>>({"_greater_equal", "_Greater_Equal", "broadcast_greater_equal"},
                                                       {"_greater_equal_scalar", "_GreaterEqualScalar"}),
      mxnet_binary<mxnet_comparison<op_less>>({"_lesser", "_Lesser", "broadcast_lesser"},
                                              {"_lesser_scalar", "_LesserScalar"}),
      mxnet_binary<mxnet_comparison<op_less_equal>>({"_lesser_equal", "_Lesser_Equal", "broadcast_lesser_equal"},
                                                    {"_lesser_equal_scalar", "_LesserEqualScalar"}),
      mxnet_binary<mxnet_logic<op_and>>({"_logical_and", "_Logical_And", "broadcast_logical_and"},
                                        {"_logical_and_scalar", "_LogicalAndScalar"}),
      mxnet_binary<mxnet_logic<op_or>>({"_logical_or", "_Logical_Or", "broadcast_logical_or"},
                                       {"_logical_or_scalar", "_LogicalOrScalar"}),
      mxnet_binary<mxnet_logic<op_xor>>({"_logical_xor", "_Logical_Xor", "broadcast_logical_xor"},
                                        {"_logical_xor_scalar", "_LogicalXorScalar"}),
      mx::rules({"add_n", "ElementWiseSum", "_ElementWiseSum", "elemwise_sum"}, import_mxnet_sum_of_all, {"num_args"}),

      mxnet_unary<op_abs>({"abs", "_np_absolute", "_npi_absolute"}),
      mxnet_unary<op_acos>({"arccos", "_npi_arccos"}),
      mxnet_unary<op_acosh>({"arccosh", "_npi_arccosh"}),
      mxnet_unary<op_asin>({"arcsin", "_npi_arcsin"}),
      mxnet_unary<op_asinh>({"arcsinh", "_npi_arcsinh"}),
      mxnet_unary<op_atan>({"arctan", "_npi_arctan"}),
      mxnet_unary<op_atanh>({"arctanh", "_npi_arctanh"}),
      mxnet_unary<op_ceiling>({"ceil", "_npi_ceil"}),
      mxnet_unary<op_cos>({"cos", "_npi_cos"}),
      mxnet_unary<op_cosh>({"cosh", "_npi_cosh"}),
      mxnet_unary<op_erf>({"erf"}),
      mxnet_unary<op_erf_inv>({"erfinv"}),
      mxnet_unary<op_exp>({"exp", "_npi_exp"}),
      mxnet_unary<op_floor>({"floor", "_npi_floor"}),
      mxnet_unary<op_log>({"log", "_npi_log"}),
      mxnet_unary<op_negative>({"negative", "_np_negative", "_npi_negative"}),
      mxnet_unary<op_relu>({"relu", "_npx_relu"}),
      mxnet_unary<op_sigmoid>({"sigmoid", "_npx_sigmoid"}),
      mxnet_unary<op_sign>({"sign", "_npi_sign"}),
      mxnet_unary<op_sin>({"sin", "_npi_sin"}),
      mxnet_unary<op_sinh>({"sinh", "_npi_sinh"}),
      mxnet_unary<op_soft_sign>({"softsign"}),
      mxnet_unary<op_sqrt>({"sqrt", "_npi_sqrt"}),
      mxnet_unary<op_tan>({"tan", "_npi_tan"}),
      mxnet_unary<op_tanh>({"tanh", "_npi_tanh"}),
      mxnet_formula<mxnet_square>({"square", "_npi_square"}),
      mxnet_formula<mxnet_rsqrt>({"rsqrt"}),
      mxnet_formula<mxnet_reciprocal>({"reciprocal", "_npi_reciprocal"}),
      mxnet_formula<mxnet_cbrt>({"cbrt", "_npi_cbrt"}),
      mxnet_formula<mxnet_rcbrt>({"rcbrt"}),
      mxnet_formula<mxnet_expm1>({"expm1", "_npi_expm1"}),
      mxnet_formula<mxnet_log1p>({"log1p", "_npi_log1p"}),
      mxnet_formula<mxnet_log2>({"log2", "_npi_log2"}),
      mxnet_formula<mxnet_log10>({"log10", "_npi_log10"}),
      mxnet_formula<mxnet_degrees>({"degrees", "_npi_degrees"}),
      mxnet_formula<mxnet_radians>({"radians", "_npi_radians"}),
      mxnet_formula<mxnet_round>({"round"}),
      mxnet_formula<mxnet_rint>({"rint"}),
      mxnet_formula<mxnet_fix>({"fix", "trunc", "_npi_fix", "_npi_trunc"}),
      mxnet_formula<mxnet_logical_not>({"logical_not"}),
      mx::rules({"clip", "_npi_clip"}, import_mxnet_clip),
      mx::rules({"Cast", "cast", "amp_cast"}, import_mxnet_cast),
      mx::rules({"smooth_l1"}, import_mxnet_smooth_l1, {"is_int"}),
  };
}

}  // namespace graft
