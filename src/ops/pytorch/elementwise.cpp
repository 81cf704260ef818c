// Element-wise operators of one tensor.
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
constexpr PtUnary pt_unary_table[] = {{"aten::abs", "Abs", false},
                                      {"aten::absolute", "Abs", false},
                                      {"aten::acos", "Acos", true},
                                      {"aten::arccos", "Acos", true},
                                      {"aten::acosh", "Acosh", true},
                                      {"aten::arccosh", "Acosh", true},
                                      {"aten::asin", "Asin", true},
                                      {"aten::arcsin", "Asin", true},
                                      {"aten::asinh", "Asinh", true},
                                      {"aten::arcsinh", "Asinh", true},
                                      {"aten::atan", "Atan", true},
                                      {"aten::arctan", "Atan", true},
                                      {"aten::atanh", "Atanh", true},
                                      {"aten::arctanh", "Atanh", true},
                                      {"aten::ceil", "Ceiling", false},
                                      {"aten::cos", "Cos", true},
                                      {"aten::cosh", "Cosh", true},
                                      {"aten::erf", "Erf", true},
                                      {"aten::special_erf", "Erf", true},
                                      {"aten::erfinv", "ErfInv", true},
                                      {"aten::special_erfinv", "ErfInv", true},
                                      {"aten::exp", "Exp", true},
                                      {"aten::floor", "Floor", false},
                                      {"aten::log", "Log", true},
                                      {"aten::neg", "Negative", false},
                                      {"aten::negative", "Negative", false},
                                      {"aten::relu", "Relu", false},
                                      {"aten::sigmoid", "Sigmoid", true},
                                      {"aten::special_expit", "Sigmoid", true},
                                      {"aten::sign", "Sign", false},
                                      {"aten::sgn", "Sign", false},
                                      {"aten::sin", "Sin", true},
                                      {"aten::sinh", "Sinh", true},
                                      {"aten::sqrt", "Sqrt", true},
                                      {"aten::tan", "Tan", true},
                                      {"aten::tanh", "Tanh", true},
                                      {"aten::lgamma", "LogGamma", true},
                                      {"aten::special_gammaln", "LogGamma", true},
                                      {"aten::digamma", "Digamma", true},
                                      {"aten::special_digamma", "Digamma", true},
                                      {"aten::special_psi", "Digamma", true},
                                      {"aten::i0", "BesselI0", true},
                                      {"aten::special_i0", "BesselI0", true},
                                      {"aten::special_i0e", "BesselI0e", true},
                                      {"aten::special_i1", "BesselI1", true},
                                      {"aten::special_i1e", "BesselI1e", true},
                                      {"aten::special_modified_bessel_i0", "BesselI0", true},
                                      {"aten::special_modified_bessel_i1", "BesselI1", true},
                                      {"aten::silu", "Swish", true},
                                      {"aten::mish", "Mish", true},
                                      {"aten::hardswish", "HSwish", true},
                                      {"aten::hardsigmoid", "HSigmoid", true},
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
constexpr double pt_ln10 = 2.30258509299404568402, pt_sqrt_half = 0.70710678118654752440;
Value pt_power(const Value& x, double e) { return pt::binary_op("Power", x, like(x, e)); }
Value pt_exp2(const Value& x) { return pt::unary_op("Exp", x * pt::ln2); }
// In 64 bits: near zero the difference is small.
Value pt_wide(const Value& x, Value (*f)(const Value&)) { return convert(f(convert(x, DType::f64)), x.type()); }
Value pt_expm1(const Value& x) {
  return pt_wide(x, [](const Value& v) { return pt::unary_op("Exp", v) - 1.0; });
}
Value pt_log2(const Value& x) { return pt::unary_op("Log", x) * (1 / pt::ln2); }
Value pt_log10(const Value& x) { return pt::unary_op("Log", x) * (1 / pt_ln10); }
Value pt_rsqrt(const Value& x) { return pt_power(x, -0.5); }
Value pt_reciprocal(const Value& x) { return 1.0 / x; }
Value pt_degrees(const Value& x) { return x * (180 / pt::pi); }
Value pt_radians(const Value& x) { return x * (pt::pi / 180); }
Value pt_erfc(const Value& x) {
  return pt_wide(x, [](const Value& v) { return 1.0 - pt::unary_op("Erf", v); });
}
// exp(x * x) * erfc(x); an asymptotic series where erfc is too small.
Value pt_scaled_erfc(const Value& v) {
  Value small = (1.0 - pt::unary_op("Erf", v)) * pt::unary_op("Exp", v * v);
  Value safe = pt::where(pt::greater(v, 1), v, like(v, 1)), t = like(v, -0.5) / (safe * safe), sum = like(v, 1);
  for (int k = 8; k > 0; --k) sum = sum * t * static_cast<double>(2 * k - 1) + 1.0;
  return pt::where(pt::greater(v, 4), sum / safe * (1 / std::sqrt(pt::pi)), small);
}
Value pt_erfcx(const Value& x) { return pt_wide(x, pt_scaled_erfc); }
Value pt_sinc(const Value& x) {
  Value y = x * pt::pi, zero = pt::equals(x, 0);
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
  Value y = pt::where(pt::less(x, 0), like(x, pt::pi), like(x, 0));
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
  Value e = layer.op("Floor", {layer.op("Log", {safe}) * (1 / pt::ln2)}) + 1.0;
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

}  // namespace

Definitions define_pytorch_elementwise() {
  Definitions out;
  for (const PtUnary& row : pt_unary_table) out += pt::rule_of(row.type).expand(import_pt_unary);
  out += Definitions{
      pt::rules({"aten::exp2", "aten::special_exp2"}, import_pt_formula<pt_exp2>),
      pt::rules({"aten::expm1", "aten::special_expm1"}, import_pt_formula<pt_expm1>),
      pt::rules({"aten::log1p", "aten::special_log1p"}, import_pt_formula<pt::log1p_of>),
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
  };
  return out;
}

}  // namespace graft
