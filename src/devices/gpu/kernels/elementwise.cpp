// Element-wise operations with broadcasting, from a table of formulas.
//
// In a formula a, b, c, ... are the inputs in the type that they are computed with. `whole` is the formula for
// integers, where it differs; "=" means that integers are converted to floating-point numbers and back.
#include "cl_kernel.hpp"

namespace graft {
namespace {

struct Formula {
  const char* op;
  size_t inputs;
  const char* real;
  const char* whole = nullptr;
};

constexpr Formula formulas[] = {
    {"Abs", 1, "fabs(a)", "a < 0 ? -a : a"},
    {"Acos", 1, "acos(a)", "="},
    {"Acosh", 1, "acosh(a)", "="},
    {"Add", 2, "a + b"},
    {"Asin", 1, "asin(a)", "="},
    {"Asinh", 1, "asinh(a)", "="},
    {"Atan", 1, "atan(a)", "="},
    {"Atanh", 1, "atanh(a)", "="},
    {"BitwiseAnd", 2, nullptr, "a & b"},
    {"BitwiseNot", 1, nullptr, "~a"},
    {"BitwiseOr", 2, nullptr, "a | b"},
    {"BitwiseXor", 2, nullptr, "a ^ b"},
    {"BitwiseLeftShift", 2, nullptr, "b < 0 || b >= 64 ? 0 : a << b"},
    {"BitwiseRightShift", 2, nullptr, "b < 0 ? 0 : b >= 64 ? (a < 0 ? -1 : 0) : a >> b"},
    {"Ceiling", 1, "ceil(a)", "a"},
    {"Cos", 1, "cos(a)", "="},
    {"Cosh", 1, "cosh(a)", "="},
    {"Divide", 2, "a / b", "QUOTIENT(a, b)"},
    {"Erf", 1, "erf(a)", "="},
    {"Exp", 1, "exp(a)", "="},
    {"Floor", 1, "floor(a)", "a"},
    {"FloorMod", 2, "floored_mod(a, b)", "floored_mod(a, b)"},
    {"HSigmoid", 1, "within(a + 3, 0, 6) / 6", "="},
    {"HSwish", 1, "a * (within(a + 3, 0, 6) / 6)", "="},
    {"HardSigmoid", 3, "within(a * b + c, 0, 1)", "="},
    {"LogGamma", 1, "lgamma(a)", "="},
    {"Log", 1, "log(a)", "="},
    {"LogicalNot", 1, "a == 0", "a == 0"},
    {"Maximum", 2, "a != a || a > b ? a : b", "a > b ? a : b"},
    {"Minimum", 2, "a != a || a < b ? a : b", "a < b ? a : b"},
    {"Mish", 1, "a * tanh(softplus(a))", "="},
    {"Mod", 2, "fmod(a, b)", "b == 0 ? 0 : b == -1 ? 0 : a % b"},
    {"Multiply", 2, "a * b"},
    {"Negative", 1, "-a"},
    {"Power", 2, "pow(a, b)", "="},
    {"Relu", 1, "a < 0 ? 0 : a"},
    {"Select", 3, "a != 0 ? b : c", "a != 0 ? b : c"},
    {"Selu", 3, "c * (a > 0 ? a : b * expm1(a))", "="},
    {"Sigmoid", 1, "1 / (1 + exp(-a))", "="},
    {"Sign", 1, "a > 0 ? 1 : a < 0 ? -1 : a"},
    {"Sin", 1, "sin(a)", "="},
    {"Sinh", 1, "sinh(a)", "="},
    {"SoftPlus", 1, "softplus(a)", "="},
    {"SoftSign", 1, "a / (1 + fabs(a))", "="},
    {"Sqrt", 1, "sqrt(a)", "="},
    {"SquaredDifference", 2, "(a - b) * (a - b)"},
    {"Subtract", 2, "a - b"},
    {"Tan", 1, "tan(a)", "="},
    {"Tanh", 1, "tanh(a)", "="},
    {"IsFinite", 1, "isfinite(a)", "1"},
    {"IsNaN", 1, "isnan(a)", "0"},
    {"Equal", 2, "a == b"},
    {"NotEqual", 2, "a != b"},
    {"Greater", 2, "a > b"},
    {"GreaterEqual", 2, "a >= b"},
    {"Less", 2, "a < b"},
    {"LessEqual", 2, "a <= b"},
    {"LogicalAnd", 2, "a != 0 && b != 0"},
    {"LogicalOr", 2, "a != 0 || b != 0"},
    {"LogicalXor", 2, "(a != 0) != (b != 0)"},
    {"Xor", 2, "(a != 0) != (b != 0)"},
    {"Convert", 1, "a"},
    {"ConvertLike", 1, "a"},
};

constexpr std::string_view real_functions = R"(
REAL within(REAL x, REAL low, REAL high) { return x < low ? low : x > high ? high : x; }
REAL softplus(REAL x) { return x > 30 ? x : log1p(exp(x)); }
REAL floored_mod(REAL a, REAL b) {
  REAL r = fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
)";
constexpr std::string_view whole_functions = R"(
WHOLE truncated(WHOLE a, WHOLE b) { return b == 0 ? 0 : b == (WHOLE)-1 && (WHOLE)-1 < 0 ? -a : a / b; }
WHOLE floored_mod(WHOLE a, WHOLE b) {
  if (b == 0 || (b == (WHOLE)-1 && (WHOLE)-1 < 0)) return 0;
  WHOLE r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
WHOLE floored(WHOLE a, WHOLE b) {
  WHOLE q = truncated(a, b);
  return b != 0 && floored_mod(a, b) != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
)";

// The formula over inputs of these strides. `real`: its result is a floating-point number.
void emit_formula(Emit& ctx, ClKernel& k, const std::string& formula, bool real,
                  const std::vector<std::vector<int64_t>>& strides, DType cast) {
  static constexpr const char* names[] = {"a", "b", "c", "d", "e"};
  std::vector<int64_t> out = ctx.output(0).shape.values();
  for (size_t i = 0; i < strides.size(); ++i) k.input(i, std::string("in_") + names[i]);
  k.output(0, "y");
  std::string body = "  int i = get_global_id(0);\n" + ClWalk(out, strides).code(k);
  for (size_t i = 0; i < strides.size(); ++i) {
    std::string name = names[i], in = "in_" + name;
    std::string type = cast == DType::undefined ? "T_" + in : std::string(cl_compute(cast));
    body += "  " + type + " " + name + " = LOAD_" + in + "(at_" + std::to_string(i) + ");\n";
  }
  // A formula that yields fractions for integers rounds to the nearest even one.
  bool rounded = real && cast != DType::undefined && is_integer(ctx.output(0).type);
  body +=
      std::string("  STORE_") + (real ? "REAL_" : "") + "y(i, " + (rounded ? "rint(" + formula + ")" : formula) + ");";
  k.run(body, {cl_count(out)});
}

std::vector<std::vector<int64_t>> broadcast_inputs(Emit& ctx, size_t count) {
  if (ctx.inputs() > 0 && count > 1)
    if (auto rule = ctx.attr<std::optional<std::string>>("auto_broadcast"); rule == "pdpd")
      unsupported("expected numpy broadcasting, got pdpd");
  std::vector<int64_t> out = ctx.output(0).shape.values();
  std::vector<std::vector<int64_t>> strides;
  for (size_t i = 0; i < count; ++i) strides.push_back(cl_broadcast(ctx.shape(i).values(), out));
  return strides;
}

// Whether the operation computes with floating-point numbers and booleans only.
bool takes_formula(Emit& ctx, size_t inputs) {
  auto fits = [](DType t) { return t == DType::boolean || (is_real(t) && bits_of(t) >= 16); };
  bool all = fits(ctx.output(0).type);
  for (size_t i = 0; i < inputs; ++i) all = all && fits(ctx.type(i));
  return all;
}
// For the device to write the kernel, alone or with its neighbors.
void give_formula(Emit& ctx, const std::string& formula, std::vector<std::vector<int64_t>> strides) {
  static constexpr const char* names[] = {"a", "b", "c", "d", "e"};
  ElementFormula f;
  for (size_t i = 0; i < strides.size(); ++i)
    f.statements += std::string("const REAL ") + names[i] + " = x" + std::to_string(i) + ";\n";
  for (const char* function : {"within(", "softplus(", "floored_mod("})
    if (formula.find(function) != formula.npos) f.functions = real_functions;
  f.result = formula;
  f.inputs = strides.size();
  f.strides = std::move(strides);
  ctx.formula(f);
}

void emit_row(Emit& ctx, const Formula& row) {
  std::string_view op = row.op;
  if (row.real && takes_formula(ctx, row.inputs)) return give_formula(ctx, row.real, broadcast_inputs(ctx, row.inputs));
  // What decides between the formulas: the type of the numbers, not of the condition.
  DType type = op == "Select" ? ctx.type(1) : ctx.type(0);
  bool real = is_real(type), convert = op.starts_with("Convert");
  const char* formula = real ? row.real : row.whole ? row.whole : row.real;
  if (!formula) unsupported("expected integers, got ", type);
  ClKernel k(ctx, "elementwise");
  DType cast = DType::undefined;
  if (!real && std::string_view(formula) == "=") {
    formula = row.real, real = true, cast = DType::f64;
    k.define("REAL", "double").with(real_functions);
  } else if (real) {
    k.define("REAL", std::string(cl_compute(type))).with(real_functions);
  } else {
    k.define("WHOLE", std::string(cl_compute(type))).with(whole_functions);
  }
  if (op == "Divide" && !real) k.define("QUOTIENT", ctx.attr<bool>("m_pythondiv") ? "floored" : "truncated");
  bool real_result = real && (convert || is_real(ctx.output(0).type) || cast != DType::undefined);
  std::string text = formula;
  if (op == "BitwiseNot" && type == DType::boolean) text = "a == 0";
  if (convert && ctx.output(0).type == DType::boolean) real_result = false;
  emit_formula(ctx, k, text, real_result, broadcast_inputs(ctx, row.inputs), cast);
}

// ---- operations with attributes ----

std::string literal(double v) { return "(" + detail::number_text(v) + (std::isfinite(v) ? "f)" : ")"); }

void emit_attribute_formula(Emit& ctx, const std::string& formula) {
  DType type = ctx.type(0);
  if (takes_formula(ctx, 1)) return give_formula(ctx, formula, broadcast_inputs(ctx, 1));
  ClKernel k(ctx, "elementwise");
  k.define("REAL", std::string(cl_compute(is_real(type) ? type : DType::f64))).with(real_functions);
  emit_formula(ctx, k, formula, is_real(ctx.output(0).type) || is_integer(ctx.output(0).type), broadcast_inputs(ctx, 1),
               is_real(type) ? DType::undefined : DType::f64);
}

void emit_elu(Emit& ctx) {
  emit_attribute_formula(ctx, "a > 0 ? a : " + literal(ctx.attr<float>("alpha")) + " * expm1(a)");
}
// Without differences of nearly equal numbers: 1 + tanh(u) = 2 / (1 + e^-2u), 1 + erf(u) = erfc(-u).
void emit_gelu(Emit& ctx) {
  bool tanh = ctx.attr<std::optional<std::string>>("approximation_mode") == "TANH";
  emit_attribute_formula(ctx, tanh ? "a / (1 + exp((REAL)-1.59576912160573071176 * (a + (REAL)0.044715 * a * a * a)))"
                                   : "(REAL)0.5 * a * erfc(a * (REAL)-0.70710678118654752440)");
}
void emit_round(Emit& ctx) {
  if (!is_real(ctx.type(0))) return emit_row(ctx, {"Round", 1, "a", "a"});
  emit_attribute_formula(ctx, ctx.attr<std::string>("mode") == "half_to_even" ? "rint(a)" : "round(a)");
}
void emit_is_inf(Emit& ctx) {
  if (!is_real(ctx.type(0))) return emit_row(ctx, {"IsInf", 1, "0", "0"});
  std::string low = ctx.attr<bool>("detect_negative") ? "a < 0" : "0",
              high = ctx.attr<bool>("detect_positive") ? "a > 0" : "0";
  emit_attribute_formula(ctx, "isinf(a) && (" + low + " || " + high + ")");
}

// Integers saturate the bounds to what they can hold.
std::string whole_bound(double v, bool is_signed) {
  double least = is_signed ? -9223372036854775808.0 : 0,
         most = is_signed ? 9223372036854775807.0 : 18446744073709551615.0;
  if (!(v > least)) return is_signed ? "(-9223372036854775807L - 1)" : "0UL";
  if (v >= most) return is_signed ? "9223372036854775807L" : "18446744073709551615UL";
  return std::to_string(static_cast<int64_t>(v)) + (is_signed ? "L" : "UL");
}
void emit_clamp(Emit& ctx) {
  DType type = ctx.type(0);
  double low = ctx.attr<double>("min"), high = ctx.attr<double>("max");
  bool real = is_real(type), is_signed = is_signed_integer(type);
  std::string min = real ? "(REAL)(" + detail::number_text(low) + ")" : whole_bound(std::ceil(low), is_signed);
  std::string max = real ? "(REAL)(" + detail::number_text(high) + ")" : whole_bound(std::floor(high), is_signed);
  std::string raised = "(a < " + min + " ? " + min + " : a)",
              formula = raised + " > " + max + " ? " + max + " : " + raised;
  if (takes_formula(ctx, 1)) return give_formula(ctx, formula, broadcast_inputs(ctx, 1));
  ClKernel k(ctx, "elementwise");
  k.define(real ? "REAL" : "WHOLE", std::string(cl_compute(type)));
  emit_formula(ctx, k, formula, real, broadcast_inputs(ctx, 1), DType::undefined);
}

void emit_swish(Emit& ctx) {
  bool beta = ctx.has_input(1);
  if (!is_real(ctx.type(0))) unsupported("expected floating-point numbers, got ", ctx.type(0));
  emit_row(ctx, {"Swish", beta ? 2UL : 1UL, beta ? "a / (1 + exp(-a * b))" : "a / (1 + exp(-a))"});
}

// A slope of one dimension belongs to axis 1.
void emit_prelu(Emit& ctx) {
  std::vector<int64_t> out = ctx.output(0).shape.values(), slope = ctx.shape(1).values();
  std::vector<std::vector<int64_t>> strides{cl_strides(out), std::vector<int64_t>(out.size(), 0)};
  if (slope.size() == 1 && slope[0] != 1 && out.size() > 1 && slope[0] == out[1]) strides[1][1] = 1;
  else strides[1] = cl_broadcast(slope, out);
  constexpr const char* formula = "a < 0 ? a * b : a";
  if (takes_formula(ctx, 2)) return give_formula(ctx, formula, strides);
  ClKernel k(ctx, "elementwise");
  emit_formula(ctx, k, formula, is_real(ctx.type(0)), strides, DType::undefined);
}

// x is rounded to one of `levels` between two bounds.
void emit_fake_quantize(Emit& ctx) {
  DType type = ctx.type(0);
  if (!is_real(type)) unsupported("expected floating-point numbers, got ", type);
  std::string levels = std::to_string(ctx.attr<int64_t>("levels") - 1);
  give_formula(ctx,
               "a <= fmin(b, c) ? d : a > fmax(b, c) ? e : rint(((SUM)a - b) / ((SUM)c - b) * " + levels + ") / " +
                   levels + " * ((SUM)e - d) + d",
               broadcast_inputs(ctx, 5));
}

}  // namespace

Definitions gpu_elementwise() {
  Definitions all;
  for (const Formula& f : formulas)
    all += SourceKernel("GPU", "elementwise").of(f.op).emit([&f](Emit& ctx) { emit_row(ctx, f); });
  auto own = [&](const char* op, void (*f)(Emit&)) { all += SourceKernel("GPU", "elementwise").of(op).emit(f); };
  own("Clamp", emit_clamp);
  own("Elu", emit_elu);
  own("FakeQuantize", emit_fake_quantize);
  own("Gelu", emit_gelu);
  own("IsInf", emit_is_inf);
  own("PRelu", emit_prelu);
  own("Round", emit_round);
  own("Swish", emit_swish);
  return all;
}

}  // namespace graft
