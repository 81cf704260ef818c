// Element-wise operators of several tensors.
#include "pytorch/call.hpp"

namespace graft {
namespace {

using pt::Call, pt::Promotion;

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
constexpr PtBinary pt_binary_table[] = {{"aten::mul", "Multiply", false},
                                        {"aten::multiply", "Multiply", false},
                                        {"aten::_foreach_mul", "Multiply", false},
                                        {"aten::maximum", "Maximum", false},
                                        {"aten::minimum", "Minimum", false},
                                        {"aten::remainder", "FloorMod", false},
                                        {"aten::fmod", "Mod", false},
                                        {"aten::eq", "Equal", false},
                                        {"aten::ne", "NotEqual", false},
                                        {"aten::not_equal", "NotEqual", false},
                                        {"aten::lt", "Less", false},
                                        {"aten::less", "Less", false},
                                        {"aten::le", "LessEqual", false},
                                        {"aten::less_equal", "LessEqual", false},
                                        {"aten::gt", "Greater", false},
                                        {"aten::greater", "Greater", false},
                                        {"aten::ge", "GreaterEqual", false},
                                        {"aten::greater_equal", "GreaterEqual", false},
                                        {"aten::pow", "Power", false},
                                        {"aten::__pow__", "Power", false},
                                        {"aten::nextafter", "NextAfter", true},
                                        {"aten::igamma", "Igamma", true},
                                        {"aten::igammac", "Igammac", true},
                                        {"aten::special_gammainc", "Igamma", true},
                                        {"aten::special_gammaincc", "Igammac", true},
                                        {"aten::special_zeta", "Zeta", true},
                                        {"aten::__lshift__", "BitwiseLeftShift", false},
                                        {"aten::bitwise_left_shift", "BitwiseLeftShift", false},
                                        {"aten::__rshift__", "BitwiseRightShift", false},
                                        {"aten::bitwise_right_shift", "BitwiseRightShift", false}};

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
  Value down = pt::where(pt::less(y, 0), like(x, -pt::pi), like(x, pt::pi));
  Value turned = pt::where(pt::less(x, 0), at + down, at);
  Value up = pt::where(pt::greater(y, 0), like(x, pt::pi / 2), pt::where(pt::less(y, 0), like(x, -pt::pi / 2), zero));
  return pt::where(pt::equals(x, 0), up, turned);
}
Value pt_hypot(const Value& a, const Value& b) { return pt::unary_op("Sqrt", a * a + b * b); }
Value pt_log_add(const Value& a, const Value& b) {
  Value most = pt::binary_op("Maximum", a, b), finite = pt::unary_op("IsFinite", most);
  Value sum = most + pt::log1p_of(pt::unary_op("Exp", -pt::absolute(a - b)));
  return pt::where(finite, sum, most);
}
Value pt_log_add2(const Value& a, const Value& b) { return pt_log_add(a * pt::ln2, b * pt::ln2) * (1 / pt::ln2); }
Value pt_xlogy(const Value& a, const Value& b) {
  Value y = pt::where(pt::equals(a, 0), like(a, 0), a * pt::unary_op("Log", b));
  return pt::where(pt::unary_op("IsNaN", b), b, y);
}
Value pt_xlog1py(const Value& a, const Value& b) {
  Value y = pt::where(pt::equals(a, 0), like(a, 0), a * pt::log1p_of(b));
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
    Value zero = pt::equals(b, 0),
          next = pt::where(zero, like(b, 0), pt::binary_op("Mod", a, pt::where(zero, like(b, 1), b)));
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
  Value sum = like(x, static_cast<double>(p * (p - 1)) / 4 * std::log(pt::pi));
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

Definitions define_pytorch_operands() {
  Definitions out;
  for (const PtBinary& row : pt_binary_table)
    if (!row.type.starts_with("aten::_foreach")) out += pt::rule_of(row.type).expand(import_pt_binary);
  out += Definitions{
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
