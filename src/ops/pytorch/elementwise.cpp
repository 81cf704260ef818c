// Element-wise operators of ATen.
#include "pytorch/call.hpp"

namespace graft {
namespace {

using pt::Call, pt::Promotion;

// ---- one tensor ----

// Torch's name, our operation, and whether whole numbers become floats first.
struct PtUnary {
  std::string_view type, op;
  bool floating;
};
constexpr PtUnary pt_unary_table[] = {
    {"aten::abs", "Abs", false},         {"aten::absolute", "Abs", false},    {"aten::acos", "Acos", true},
    {"aten::arccos", "Acos", true},      {"aten::acosh", "Acosh", true},      {"aten::arccosh", "Acosh", true},
    {"aten::asin", "Asin", true},        {"aten::arcsin", "Asin", true},      {"aten::asinh", "Asinh", true},
    {"aten::arcsinh", "Asinh", true},    {"aten::atan", "Atan", true},        {"aten::arctan", "Atan", true},
    {"aten::atanh", "Atanh", true},      {"aten::arctanh", "Atanh", true},    {"aten::ceil", "Ceiling", false},
    {"aten::cos", "Cos", true},          {"aten::cosh", "Cosh", true},        {"aten::erf", "Erf", true},
    {"aten::special_erf", "Erf", true},  {"aten::erfinv", "ErfInv", true},    {"aten::special_erfinv", "ErfInv", true},
    {"aten::exp", "Exp", true},          {"aten::floor", "Floor", false},     {"aten::log", "Log", true},
    {"aten::neg", "Negative", false},    {"aten::negative", "Negative", false}, {"aten::relu", "Relu", false},
    {"aten::sigmoid", "Sigmoid", true},  {"aten::special_expit", "Sigmoid", true}, {"aten::sign", "Sign", false},
    {"aten::sgn", "Sign", false},        {"aten::sin", "Sin", true},          {"aten::sinh", "Sinh", true},
    {"aten::sqrt", "Sqrt", true},        {"aten::tan", "Tan", true},          {"aten::tanh", "Tanh", true},
    {"aten::lgamma", "LogGamma", true},  {"aten::special_gammaln", "LogGamma", true},
    {"aten::digamma", "Digamma", true},  {"aten::special_digamma", "Digamma", true},
    {"aten::special_psi", "Digamma", true}, {"aten::i0", "BesselI0", true},   {"aten::special_i0", "BesselI0", true},
    {"aten::special_i0e", "BesselI0e", true}, {"aten::special_i1", "BesselI1", true},
    {"aten::special_i1e", "BesselI1e", true}, {"aten::special_modified_bessel_i0", "BesselI0", true},
    {"aten::special_modified_bessel_i1", "BesselI1", true}, {"aten::silu", "Swish", true},
    {"aten::mish", "Mish", true},        {"aten::hardswish", "HSwish", true}, {"aten::hardsigmoid", "HSigmoid", true},
    {"aten::logical_not", "LogicalNot", false}};

Value import_pt_unary(Builder& layer) {
  Call c(layer);
  for (const PtUnary& row : pt_unary_table) {
    if (row.type != layer.type()) continue;
    Value x = c["self"];
    if (row.op == "LogicalNot") return pt::sign_not(pt::truth_of(x));
    if (row.floating) x = pt::as_float(x);
    else if (x.type() == DType::boolean) {
      if (row.op == "Abs" || row.op == "Sign" || row.op == "Relu") return x;
    }
    bool round = row.op == "Ceiling" || row.op == "Floor";
    return round && !pt::is_float(x.type()) ? x : layer.op(row.op, {x});
  }
  fail("no operation for '", layer.type(), "'");
}

using PtFormula = Value (*)(const Value&);
template <PtFormula f>
Value import_pt_formula(Builder& layer) {
  Call c(layer);
  return f(pt::as_float(c["self"]));
}
constexpr double pt_ln2 = 0.69314718055994530942, pt_ln10 = 2.30258509299404568402, pt_pi = 3.14159265358979323846,
                 pt_sqrt_half = 0.70710678118654752440;
Value pt_power(const Value& x, double e) { return pt::binary_op("Power", x, like(x, e)); }
Value pt_exp2(const Value& x) { return pt::unary_op("Exp", x * pt_ln2); }
// In 64 bits: near zero the difference is small.
Value pt_wide(const Value& x, Value (*f)(const Value&)) { return convert(f(convert(x, DType::f64)), x.type()); }
Value pt_expm1(const Value& x) {
  return pt_wide(x, [](const Value& v) { return pt::unary_op("Exp", v) - 1.0; });
}
Value pt_log1p(const Value& x) {
  return pt_wide(x, [](const Value& v) { return pt::unary_op("Log", v + 1.0); });
}
Value pt_log2(const Value& x) { return pt::unary_op("Log", x) * (1 / pt_ln2); }
Value pt_log10(const Value& x) { return pt::unary_op("Log", x) * (1 / pt_ln10); }
Value pt_rsqrt(const Value& x) { return pt_power(x, -0.5); }
Value pt_reciprocal(const Value& x) { return 1.0 / x; }
Value pt_degrees(const Value& x) { return x * (180 / pt_pi); }
Value pt_radians(const Value& x) { return x * (pt_pi / 180); }
Value pt_erfc(const Value& x) {
  return pt_wide(x, [](const Value& v) { return 1.0 - pt::unary_op("Erf", v); });
}
// exp(x * x) * erfc(x); an asymptotic series where erfc is too small.
Value pt_scaled_erfc(const Value& v) {
  Value small = (1.0 - pt::unary_op("Erf", v)) * pt::unary_op("Exp", v * v);
  Value safe = pt::where(pt::greater(v, 1), v, like(v, 1)), t = like(v, -0.5) / (safe * safe), sum = like(v, 1);
  for (int k = 8; k > 0; --k) sum = sum * t * static_cast<double>(2 * k - 1) + 1.0;
  return pt::where(pt::greater(v, 4), sum / safe * (1 / std::sqrt(pt_pi)), small);
}
Value pt_erfcx(const Value& x) { return pt_wide(x, pt_scaled_erfc); }
Value pt_sinc(const Value& x) {
  Value y = x * pt_pi, zero = pt::equals(x, 0);
  return pt::where(zero, like(x, 1), pt::unary_op("Sin", y) / pt::where(zero, like(x, 1), y));
}
Value pt_ndtr(const Value& x) { return (pt::unary_op("Erf", x * pt_sqrt_half) + 1.0) * 0.5; }
Value pt_log_ndtr(const Value& x) {
  return pt_wide(x, [](const Value& v) {
    Value far = pt::unary_op("Log", pt_scaled_erfc(v * -pt_sqrt_half) * 0.5) - v * v * 0.5;
    return pt::where(pt::less(v, -1), far, pt::unary_op("Log", (1.0 - pt::unary_op("Erf", v * -pt_sqrt_half)) * 0.5));
  });
}
Value pt_ndtri(const Value& x) { return pt::unary_op("ErfInv", x * 2.0 - 1.0) * (1 / pt_sqrt_half); }
Value pt_entropy(const Value& x) {
  Value positive = pt::greater(x, 0), safe = pt::where(positive, x, like(x, 1));
  constexpr double least = -std::numeric_limits<double>::infinity();
  return pt::where(pt::equals(x, 0), like(x, 0),
                   pt::where(pt::less(x, 0), like(x, least), -(safe * pt::unary_op("Log", safe))));
}
Value pt_relu6(const Value& x) { return x.in().op("Clamp", {x}, {{"min", 0.0}, {"max", 6.0}}); }
Value pt_selu(const Value& x) {
  return x.in().op("Selu", {x, like(x, 1.6732632423543772848), like(x, 1.0507009873554804934)});
}
Value pt_log_sigmoid(const Value& x) { return -x.in().op("SoftPlus", {-x}); }
Value pt_is_real(const Value& x) { return pt::filled_like(x, 1, DType::boolean); }

Value import_pt_square(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  return x * x;
}
Value import_pt_bitwise_not(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  return x.type() == DType::boolean ? pt::sign_not(x) : layer.op("BitwiseNot", {x});
}
Value import_pt_trunc(Builder& layer) {
  Call c(layer);
  return pt::truncated(c["self"]);
}
Value import_pt_frac(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  return x - pt::truncated(x);
}
Value import_pt_round(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  auto decimals = c.given("decimals") ? c.integer("decimals") : 0;
  if (!pt::is_float(x.type())) return x;
  double scale = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  if (decimals == 0) return layer.op("Round", {x});
  return decimals > 0 ? layer.op("Round", {x * scale}) / scale : layer.op("Round", {x / scale}) * scale;
}
Value import_pt_signbit(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  if (x.type() == DType::boolean) return pt::filled_like(x, 0, DType::boolean);
  // 1 / -0 is negative, too.
  Value negative = pt::less(x, 0);
  return pt::is_float(x.type()) ? layer.op("LogicalOr", {negative, pt::less(1.0 / x, 0)}) : negative;
}
template <const char* const& operation>
Value import_pt_test(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  if (!pt::is_float(x.type())) return pt::filled_like(x, operation == std::string_view("IsFinite"), DType::boolean);
  return layer.op(operation, {x});
}
constexpr const char *pt_is_nan = "IsNaN", *pt_is_inf = "IsInf", *pt_is_finite = "IsFinite";
template <bool positive>
Value import_pt_signed_infinity(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  if (!pt::is_float(x.type())) return pt::filled_like(x, 0, DType::boolean);
  return pt::equals(x, positive ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity());
}
Value import_pt_nan_to_num(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  if (!pt::is_float(x.type())) return x;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double most = x.type() == DType::f64    ? std::numeric_limits<double>::max()
                : x.type() == DType::f16  ? 65504
                : x.type() == DType::bf16 ? 3.3895313892515355e38
                                          : std::numeric_limits<float>::max();
  Value y = pt::where(layer.op("IsNaN", {x}), like(x, c.real("nan")), x);
  y = pt::where(pt::equals(x, infinity), like(x, c.given("posinf") ? c.real("posinf") : most), y);
  return pt::where(pt::equals(x, -infinity), like(x, c.given("neginf") ? c.real("neginf") : -most), y);
}
Value import_pt_angle(Builder& layer) {
  Call c(layer);
  Value x = pt::as_float(c["self"]);
  Value y = pt::where(pt::less(x, 0), like(x, pt_pi), like(x, 0));
  return pt::where(layer.op("IsNaN", {x}), x, y);
}
Value import_pt_logit(Builder& layer) {
  Call c(layer);
  Value x = pt::as_float(c["self"]);
  if (c.given("eps")) {
    double eps = c.real("eps");
    x = layer.op("Clamp", {x}, {{"min", eps}, {"max", 1 - eps}});
  }
  return layer.op("Log", {x / (1.0 - x)});
}
std::vector<Value> import_pt_frexp(Builder& layer) {
  Call c(layer);
  Value x = c["self"], size = convert(pt::absolute(x), DType::f64), zero = pt::equals(size, 0);
  Value safe = pt::where(zero, like(size, 1), size);
  Value e = layer.op("Floor", {layer.op("Log", {safe}) * (1 / pt_ln2)}) + 1.0;
  // The logarithm is rounded: correct by one where the mantissa leaves [0.5, 1).
  Value m = safe / layer.op("Power", {like(e, 2), e});
  e = e + convert(layer.op("GreaterEqual", {m, like(m, 1)}), DType::f64) - convert(pt::less(m, 0.5), DType::f64);
  e = pt::where(zero, like(e, 0), e);
  Value mantissa = convert(convert(x, DType::f64) / layer.op("Power", {like(e, 2), e}), x.type());
  return {mantissa, convert(e, DType::i32)};
}

// ---- activations with parameters ----

Value import_pt_gelu(Builder& layer) {
  Call c(layer);
  return layer.op("Gelu", {c["self"]}, {{"approximation_mode", c.word("approximate") == "tanh" ? "TANH" : "ERF"}});
}
Value import_pt_leaky_relu(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  return layer.op("PRelu", {x, layer.typed({c.real("negative_slope")}, {1}, x.type())});
}
Value import_pt_elu(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  double alpha = c.real("alpha"), scale = c.real("scale"), input_scale = c.real("input_scale");
  Value y = pt::where(pt::greater(x, 0), x, pt_expm1(x * input_scale) * alpha);
  return scale == 1 && input_scale == 1 && alpha >= 0 ? layer.op("Elu", {x}, {{"alpha", alpha}}) : y * scale;
}
Value import_pt_celu(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  double alpha = c.real("alpha");
  return pt::where(pt::greater(x, 0), x, pt_expm1(x / alpha) * alpha);
}
Value import_pt_hardtanh(Builder& layer) {
  Call c(layer);
  return layer.op("Clamp", {c["self"]}, {{"min", c.real("min_val")}, {"max", c.real("max_val")}});
}
Value import_pt_softplus(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  double beta = c.real("beta"), threshold = c.real("threshold");
  Value y = layer.op("SoftPlus", {x * beta}) / beta;
  return pt::where(pt::greater(x * beta, threshold), x, y);
}
Value import_pt_threshold(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  return pt::where(layer.op("LessEqual", {x, like(x, c.real("threshold"))}), like(x, c.real("value")), x);
}
Value import_pt_hardshrink(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  return pt::where(layer.op("LessEqual", {pt::absolute(x), like(x, c.real("lambd"))}), like(x, 0), x);
}
Value import_pt_softshrink(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  double l = c.real("lambd");
  return pt::where(pt::greater(x, l), x - l, pt::where(pt::less(x, -l), x + l, like(x, 0)));
}
Value import_pt_rrelu(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  if (c.flag("training")) unsupported("rrelu in training mode is not supported: its slopes are random");
  return layer.op("PRelu", {x, layer.typed({(c.real("lower") + c.real("upper")) / 2}, {1}, x.type())});
}
Value import_pt_prelu(Builder& layer) {
  Call c(layer);
  Value x = c["self"], w = c["weight"];
  if (x.rank() < 2) return pt::where(pt::greater(x, 0), x, x * as_scalar(w));
  return layer.op("PRelu", {x, w.rank() == 0 ? reshape(w, {1}) : w});
}
Value import_pt_glu(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  std::vector<Value> halves = build::split(x, pt::axis_of(c.integer("dim"), x.rank()), 2);
  return halves[0] * layer.op("Sigmoid", {halves[1]});
}
Value import_pt_clamp(Builder& layer) {
  Call c(layer);
  Value x = c["self"];
  DType type = Promotion().add(x).add(c, "min").add(c, "max").type();
  x = convert(x, type);
  if (c.given("min")) {
    Value low = c.number("min", type);
    x = layer.op("Maximum", {x, low});
  }
  if (c.given("max")) x = layer.op("Minimum", {x, c.number("max", type)});
  return x;
}

// ---- two operands ----

struct PtPair {
  Value a, b;
  DType type;
};
PtPair pt_pair(Call& c, std::string_view first = "self", std::string_view second = "other", bool floating = false) {
  DType type = Promotion().add(c, first).add(c, second).type();
  if (floating && !pt::is_float(type)) type = DType::f32;
  return {c.number(first, type), c.number(second, type), type};
}

struct PtBinary {
  std::string_view type, op;
  bool floating;
};
constexpr PtBinary pt_binary_table[] = {
    {"aten::mul", "Multiply", false},        {"aten::multiply", "Multiply", false},
    {"aten::_foreach_mul", "Multiply", false}, {"aten::maximum", "Maximum", false},
    {"aten::minimum", "Minimum", false},     {"aten::remainder", "FloorMod", false},
    {"aten::fmod", "Mod", false},            {"aten::eq", "Equal", false},
    {"aten::ne", "NotEqual", false},         {"aten::not_equal", "NotEqual", false},
    {"aten::lt", "Less", false},             {"aten::less", "Less", false},
    {"aten::le", "LessEqual", false},        {"aten::less_equal", "LessEqual", false},
    {"aten::gt", "Greater", false},          {"aten::greater", "Greater", false},
    {"aten::ge", "GreaterEqual", false},     {"aten::greater_equal", "GreaterEqual", false},
    {"aten::pow", "Power", false},           {"aten::__pow__", "Power", false},
    {"aten::nextafter", "NextAfter", true},  {"aten::igamma", "Igamma", true},
    {"aten::igammac", "Igammac", true},      {"aten::special_gammainc", "Igamma", true},
    {"aten::special_gammaincc", "Igammac", true}, {"aten::special_zeta", "Zeta", true},
    {"aten::__lshift__", "BitwiseLeftShift", false}, {"aten::bitwise_left_shift", "BitwiseLeftShift", false},
    {"aten::__rshift__", "BitwiseRightShift", false}, {"aten::bitwise_right_shift", "BitwiseRightShift", false}};

Value import_pt_binary(Builder& layer) {
  Call c(layer);
  for (const PtBinary& row : pt_binary_table) {
    if (row.type != layer.type()) continue;
    std::string_view second = c.given("exponent") ? "exponent" : "other";
    PtPair p = pt_pair(c, "self", second, row.floating);
    if (p.type == DType::boolean && row.op == "Multiply") return layer.op("LogicalAnd", {p.a, p.b});
    if (p.type == DType::boolean && row.op == "Maximum") return layer.op("LogicalOr", {p.a, p.b});
    if (p.type == DType::boolean && row.op == "Minimum") return layer.op("LogicalAnd", {p.a, p.b});
    if (row.op == "Power" && second == "exponent" && layer.has("exponent") && layer.get<double>("exponent") == 2)
      return p.a * p.a;
    return layer.op(row.op, {p.a, p.b});
  }
  fail("no operation for '", layer.type(), "'");
}
Value pt_scaled(Call& c, const Value& v) {
  if (!c.given("alpha")) return v;
  if (v.type() == DType::boolean) return v;
  return v * c.number("alpha", v.type());
}
Value import_pt_add(Builder& layer) {
  Call c(layer);
  PtPair p = pt_pair(c);
  if (p.type == DType::boolean) return layer.op("LogicalOr", {p.a, p.b});
  return layer.op("Add", {p.a, pt_scaled(c, p.b)});
}
Value import_pt_sub(Builder& layer) {
  Call c(layer);
  PtPair p = pt_pair(c);
  return layer.op("Subtract", {p.a, pt_scaled(c, p.b)});
}
Value import_pt_rsub(Builder& layer) {
  Call c(layer);
  PtPair p = pt_pair(c);
  return layer.op("Subtract", {p.b, pt_scaled(c, p.a)});
}
Value pt_floor_quotient(const PtPair& p) {
  Value q = p.a / p.b;  // of whole numbers it is rounded down
  if (!pt::is_float(p.type)) return q;
  // Exact where the rounded quotient is a whole number that the real one does not reach.
  Value rest = pt::binary_op("FloorMod", p.a, p.b);
  return pt::where(pt::unary_op("IsFinite", q), pt::unary_op("Round", (p.a - rest) / p.b), q);
}
Value pt_truncated_quotient(const PtPair& p) {
  if (pt::is_float(p.type)) return pt::truncated(p.a / p.b);
  return p.a.in().op("Divide", {p.a, p.b}, {{"m_pythondiv", false}});
}
Value import_pt_div(Builder& layer) {
  Call c(layer);
  std::string mode = c.word("rounding_mode");
  PtPair p = pt_pair(c, "self", "other", mode.empty());
  if (mode == "floor") return pt_floor_quotient(p);
  if (mode == "trunc") return pt_truncated_quotient(p);
  if (!mode.empty()) fail("expected rounding_mode floor or trunc, got '", mode, "'");
  return p.a / p.b;
}
Value import_pt_floor_divide(Builder& layer) {
  Call c(layer);
  return pt_floor_quotient(pt_pair(c));
}
Value import_pt_float_power(Builder& layer) {
  Call c(layer);
  return layer.op("Power", {c.number("self", DType::f64), c.number("exponent", DType::f64)});
}
template <const char* const& logical, const char* const& bitwise>
Value import_pt_bitwise(Builder& layer) {
  Call c(layer);
  PtPair p = pt_pair(c);
  return layer.op(p.type == DType::boolean ? logical : bitwise, {p.a, p.b});
}
template <const char* const& logical>
Value import_pt_logical(Builder& layer) {
  Call c(layer);
  return layer.op(logical, {pt::truth_of(c["self"]), pt::truth_of(c["other"])});
}
constexpr const char *pt_and = "LogicalAnd", *pt_or = "LogicalOr", *pt_xor = "LogicalXor", *pt_bit_and = "BitwiseAnd",
                     *pt_bit_or = "BitwiseOr", *pt_bit_xor = "BitwiseXor";

using PtTwo = Value (*)(const Value&, const Value&);
template <PtTwo f>
Value import_pt_two(Builder& layer) {
  Call c(layer);
  PtPair p = pt_pair(c, "self", "other", true);
  return f(p.a, p.b);
}
Value pt_atan2(const Value& y, const Value& x) {
  Value at = pt::unary_op("Atan", y / x), zero = like(x, 0);
  Value down = pt::where(pt::less(y, 0), like(x, -pt_pi), like(x, pt_pi));
  Value turned = pt::where(pt::less(x, 0), at + down, at);
  Value up = pt::where(pt::greater(y, 0), like(x, pt_pi / 2), pt::where(pt::less(y, 0), like(x, -pt_pi / 2), zero));
  return pt::where(pt::equals(x, 0), up, turned);
}
Value pt_hypot(const Value& a, const Value& b) { return pt::unary_op("Sqrt", a * a + b * b); }
Value pt_log_add(const Value& a, const Value& b) {
  Value most = pt::binary_op("Maximum", a, b), finite = pt::unary_op("IsFinite", most);
  Value sum = most + pt_log1p(pt::unary_op("Exp", -pt::absolute(a - b)));
  return pt::where(finite, sum, most);
}
Value pt_log_add2(const Value& a, const Value& b) { return pt_log_add(a * pt_ln2, b * pt_ln2) * (1 / pt_ln2); }
Value pt_xlogy(const Value& a, const Value& b) {
  Value y = pt::where(pt::equals(a, 0), like(a, 0), a * pt::unary_op("Log", b));
  return pt::where(pt::unary_op("IsNaN", b), b, y);
}
Value pt_xlog1py(const Value& a, const Value& b) {
  Value y = pt::where(pt::equals(a, 0), like(a, 0), a * pt_log1p(b));
  return pt::where(pt::unary_op("IsNaN", b), b, y);
}
Value pt_copysign(const Value& a, const Value& b) {
  Value size = pt::absolute(a);
  Value negative = b.in().op("LogicalOr", {pt::less(b, 0), pt::less(1.0 / b, 0)});
  return pt::where(negative, -size, size);
}
template <bool largest>
Value import_pt_fmax(Builder& layer) {
  Call c(layer);
  PtPair p = pt_pair(c);
  Value m = layer.op(largest ? "Maximum" : "Minimum", {p.a, p.b});
  if (!pt::is_float(p.type)) return m;
  Value m_or_b = pt::where(layer.op("IsNaN", {p.a}), p.b, m);
  return pt::where(layer.op("IsNaN", {p.b}), p.a, m_or_b);
}
Value import_pt_heaviside(Builder& layer) {
  Call c(layer);
  Value x = c["self"], at_zero = convert(c["values"], x.type());
  Value y = convert(pt::greater(x, 0), x.type());
  return pt::where(pt::equals(x, 0), at_zero, y);
}
Value import_pt_ldexp(Builder& layer) {
  Call c(layer);
  Value x = pt::as_float(c["self"]);
  return x * layer.op("Power", {like(x, 2), convert(c["other"], x.type())});
}
// Greatest common divisors by Euclid's algorithm, for numbers of up to 64 bits: 92 steps at most.
Value pt_gcd(const Value& x, const Value& y) {
  Value a = pt::absolute(x), b = pt::absolute(y);
  for (int i = 0; i < 92; ++i) {
    Value zero = pt::equals(b, 0), next = pt::where(zero, like(b, 0), pt::binary_op("Mod", a, pt::where(zero, like(b, 1), b)));
    a = pt::where(zero, a, b), b = next;
  }
  return a;
}
Value import_pt_gcd(Builder& layer) {
  Call c(layer);
  PtPair p = pt_pair(c);
  return pt_gcd(p.a, p.b);
}
Value import_pt_lcm(Builder& layer) {
  Call c(layer);
  PtPair p = pt_pair(c);
  Value g = pt_gcd(p.a, p.b), zero = pt::equals(g, 0);
  return pt::where(zero, like(g, 0), pt::absolute(p.a / pt::where(zero, like(g, 1), g) * p.b));
}
Value import_pt_isclose(Builder& layer) {
  Call c(layer);
  PtPair p = pt_pair(c);
  Value a = convert(p.a, DType::f64), b = convert(p.b, DType::f64);
  Value near = layer.op("LessEqual", {pt::absolute(a - b), pt::absolute(b) * c.real("rtol") + c.real("atol")});
  near = layer.op("LogicalAnd", {near, layer.op("IsFinite", {a - b})});
  Value y = layer.op("LogicalOr", {layer.op("Equal", {a, b}), near});
  if (!c.flag("equal_nan")) return y;
  return layer.op("LogicalOr", {y, layer.op("LogicalAnd", {layer.op("IsNaN", {a}), layer.op("IsNaN", {b})})});
}
Value import_pt_polygamma(Builder& layer) {
  Call c(layer);
  Value x = pt::as_float(c["self"]);
  return layer.op("Polygamma", {like(x, c.real("n")), x});
}
Value import_pt_mvlgamma(Builder& layer) {
  Call c(layer);
  Value x = pt::as_float(c["self"]);
  auto p = c.integer("p");
  if (p < 1 || p > 1000) fail("expected p of 1 to 1000, got ", p);
  Value sum = like(x, static_cast<double>(p * (p - 1)) / 4 * std::log(pt_pi));
  for (int64_t i = 0; i < p; ++i) sum = sum + layer.op("LogGamma", {x - static_cast<double>(i) / 2});
  return sum;
}

// ---- three operands ----

Value import_pt_where(Builder& layer) {
  Call c(layer);
  PtPair p = pt_pair(c);
  return pt::where(pt::truth_of(c["condition"]), p.a, p.b);
}
Value import_pt_lerp(Builder& layer) {
  Call c(layer);
  Value a = c["self"], b = c["end"];
  return a + c.number("weight", a.type()) * (b - a);
}
Value import_pt_addcmul(Builder& layer) {
  Call c(layer);
  DType type = Promotion().add(c["self"]).add(c["tensor1"]).add(c["tensor2"]).type();
  Value product = convert(c["tensor1"], type) * convert(c["tensor2"], type);
  if (c.given("value")) product = product * c.number("value", type);
  return convert(c["self"], type) + product;
}
Value import_pt_addcdiv(Builder& layer) {
  Call c(layer);
  DType type = Promotion().add(c["self"]).add(c["tensor1"]).add(c["tensor2"]).type();
  if (!pt::is_float(type)) type = DType::f32;
  Value a = convert(c["tensor1"], type);
  if (c.given("value")) a = a * c.number("value", type);
  return convert(c["self"], type) + a / convert(c["tensor2"], type);
}

// ---- lists ----

template <const char* const& operation>
std::vector<Value> import_pt_foreach(Builder& layer) {
  Call c(layer);
  std::vector<Value> out = c.tensors("self"), others = c.list("other");
  if (others.empty()) others = c.list("scalars");
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i]) fail("expected a tensor as item ", i);
    Promotion p;
    p.add(out[i]);
    Value other;
    if (i < others.size() && others[i]) other = others[i], p.add(other);
    else p.add(c, c.given("scalar") ? "scalar" : "other");
    DType type = p.type();
    other = other ? convert(other, type) : c.number(c.given("scalar") ? "scalar" : "other", type);
    out[i] = layer.op(operation, {convert(out[i], type), pt_scaled(c, other)});
  }
  return out;
}
constexpr const char *pt_foreach_add = "Add", *pt_foreach_sub = "Subtract", *pt_foreach_mul = "Multiply",
                     *pt_foreach_div = "Divide";

}  // namespace

Definitions define_pytorch_elementwise() {
  Definitions out;
  for (const PtUnary& row : pt_unary_table) out += pt::rule_of(row.type).expand(import_pt_unary);
  for (const PtBinary& row : pt_binary_table)
    if (!row.type.starts_with("aten::_foreach")) out += pt::rule_of(row.type).expand(import_pt_binary);
  out += Definitions{
      pt::rules({"aten::exp2", "aten::special_exp2"}, import_pt_formula<pt_exp2>),
      pt::rules({"aten::expm1", "aten::special_expm1"}, import_pt_formula<pt_expm1>),
      pt::rules({"aten::log1p", "aten::special_log1p"}, import_pt_formula<pt_log1p>),
      pt::rules({"aten::log2"}, import_pt_formula<pt_log2>),
      pt::rules({"aten::log10"}, import_pt_formula<pt_log10>),
      pt::rules({"aten::rsqrt"}, import_pt_formula<pt_rsqrt>),
      pt::rules({"aten::reciprocal"}, import_pt_formula<pt_reciprocal>),
      pt::rules({"aten::rad2deg"}, import_pt_formula<pt_degrees>),
      pt::rules({"aten::deg2rad"}, import_pt_formula<pt_radians>),
      pt::rules({"aten::erfc", "aten::special_erfc"}, import_pt_formula<pt_erfc>),
      pt::rules({"aten::special_erfcx"}, import_pt_formula<pt_erfcx>),
      pt::rules({"aten::sinc", "aten::special_sinc"}, import_pt_formula<pt_sinc>),
      pt::rules({"aten::special_ndtr"}, import_pt_formula<pt_ndtr>),
      pt::rules({"aten::special_log_ndtr"}, import_pt_formula<pt_log_ndtr>),
      pt::rules({"aten::special_ndtri"}, import_pt_formula<pt_ndtri>),
      pt::rules({"aten::special_entr"}, import_pt_formula<pt_entropy>),
      pt::rules({"aten::relu6"}, import_pt_formula<pt_relu6>),
      pt::rules({"aten::selu"}, import_pt_formula<pt_selu>),
      pt::rules({"aten::log_sigmoid", "aten::log_sigmoid_forward"}, import_pt_formula<pt_log_sigmoid>),
      pt::rules({"aten::isreal"}, import_pt_formula<pt_is_real>),
      pt::rules({"aten::square"}, import_pt_square),
      pt::rules({"aten::bitwise_not"}, import_pt_bitwise_not),
      pt::rules({"aten::trunc", "aten::fix"}, import_pt_trunc),
      pt::rules({"aten::frac"}, import_pt_frac),
      pt::rules({"aten::round"}, import_pt_round),
      pt::rules({"aten::signbit"}, import_pt_signbit),
      pt::rules({"aten::isnan"}, import_pt_test<pt_is_nan>),
      pt::rules({"aten::isinf"}, import_pt_test<pt_is_inf>),
      pt::rules({"aten::isfinite"}, import_pt_test<pt_is_finite>),
      pt::rules({"aten::isposinf"}, import_pt_signed_infinity<true>),
      pt::rules({"aten::isneginf"}, import_pt_signed_infinity<false>),
      pt::rules({"aten::nan_to_num"}, import_pt_nan_to_num),
      pt::rules({"aten::angle"}, import_pt_angle),
      pt::rules({"aten::logit", "aten::special_logit"}, import_pt_logit),
      pt::rules({"aten::frexp"}, import_pt_frexp),
      pt::rules({"aten::gelu"}, import_pt_gelu),
      pt::rules({"aten::leaky_relu"}, import_pt_leaky_relu),
      pt::rules({"aten::elu"}, import_pt_elu),
      pt::rules({"aten::celu"}, import_pt_celu),
      pt::rules({"aten::hardtanh"}, import_pt_hardtanh),
      pt::rules({"aten::softplus"}, import_pt_softplus),
      pt::rules({"aten::threshold"}, import_pt_threshold),
      pt::rules({"aten::hardshrink"}, import_pt_hardshrink),
      pt::rules({"aten::softshrink"}, import_pt_softshrink),
      pt::rules({"aten::rrelu"}, import_pt_rrelu),
      pt::rules({"aten::prelu", "aten::_prelu_kernel"}, import_pt_prelu),
      pt::rules({"aten::glu"}, import_pt_glu),
      pt::rules({"aten::clamp", "aten::clip", "aten::clamp_min", "aten::clamp_max"}, import_pt_clamp),
      pt::rules({"aten::add"}, import_pt_add),
      pt::rules({"aten::sub", "aten::subtract"}, import_pt_sub),
      pt::rules({"aten::rsub"}, import_pt_rsub),
      pt::rules({"aten::div", "aten::divide", "aten::true_divide"}, import_pt_div),
      pt::rules({"aten::floor_divide"}, import_pt_floor_divide),
      pt::rules({"aten::float_power"}, import_pt_float_power),
      pt::rules({"aten::__and__", "aten::bitwise_and"}, import_pt_bitwise<pt_and, pt_bit_and>),
      pt::rules({"aten::__or__", "aten::bitwise_or"}, import_pt_bitwise<pt_or, pt_bit_or>),
      pt::rules({"aten::__xor__", "aten::bitwise_xor"}, import_pt_bitwise<pt_xor, pt_bit_xor>),
      pt::rules({"aten::logical_and"}, import_pt_logical<pt_and>),
      pt::rules({"aten::logical_or"}, import_pt_logical<pt_or>),
      pt::rules({"aten::logical_xor"}, import_pt_logical<pt_xor>),
      pt::rules({"aten::atan2", "aten::arctan2"}, import_pt_two<pt_atan2>),
      pt::rules({"aten::hypot"}, import_pt_two<pt_hypot>),
      pt::rules({"aten::logaddexp"}, import_pt_two<pt_log_add>),
      pt::rules({"aten::logaddexp2"}, import_pt_two<pt_log_add2>),
      pt::rules({"aten::xlogy", "aten::special_xlogy"}, import_pt_two<pt_xlogy>),
      pt::rules({"aten::special_xlog1py"}, import_pt_two<pt_xlog1py>),
      pt::rules({"aten::copysign"}, import_pt_two<pt_copysign>),
      pt::rules({"aten::fmax"}, import_pt_fmax<true>),
      pt::rules({"aten::fmin"}, import_pt_fmax<false>),
      pt::rules({"aten::heaviside"}, import_pt_heaviside),
      pt::rules({"aten::ldexp"}, import_pt_ldexp),
      pt::rules({"aten::gcd"}, import_pt_gcd),
      pt::rules({"aten::lcm"}, import_pt_lcm),
      pt::rules({"aten::isclose"}, import_pt_isclose),
      pt::rules({"aten::polygamma", "aten::special_polygamma"}, import_pt_polygamma),
      pt::rules({"aten::mvlgamma", "aten::special_multigammaln"}, import_pt_mvlgamma),
      pt::rules({"aten::where.self", "aten::where.ScalarOther", "aten::where.ScalarSelf", "aten::where.Scalar",
                 "aten::where.self_out"},
                import_pt_where),
      pt::rules({"aten::lerp"}, import_pt_lerp),
      pt::rules({"aten::addcmul"}, import_pt_addcmul),
      pt::rules({"aten::addcdiv"}, import_pt_addcdiv),
      pt::rules({"aten::_foreach_add"}, import_pt_foreach<pt_foreach_add>),
      pt::rules({"aten::_foreach_sub"}, import_pt_foreach<pt_foreach_sub>),
      pt::rules({"aten::_foreach_mul"}, import_pt_foreach<pt_foreach_mul>),
      pt::rules({"aten::_foreach_div"}, import_pt_foreach<pt_foreach_div>),
  };
  return out;
}

}  // namespace graft
