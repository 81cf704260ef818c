// A number that records what is done to it, and the functions that can be recorded with their form in OpenCL C.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "../error.hpp"
#include "../simd.hpp"
#include "../source_kernel.hpp"

namespace [[gnu::visibility("hidden")]] graft {
namespace trace {
struct Traced;
}
}  // namespace graft
// A formula that asks what kind of number x is gets the answers for a float.
namespace std {
template <>
class numeric_limits<graft::trace::Traced> : public numeric_limits<float> {};
template <>
struct is_floating_point<graft::trace::Traced> : true_type {};
template <>
inline constexpr bool is_floating_point_v<graft::trace::Traced> = true;
}  // namespace std

namespace [[gnu::visibility("hidden")]] graft {
namespace trace {

using simd::Number;

// $0, $1 and $2 stand for the operands; booleans are 0 and 1. The names are those of NumPy.
struct Function {
  std::string_view name;
  size_t operands;
  std::string_view text;
};
inline constexpr Function functions[] = {
    {"add", 2, "$0 + $1"},
    {"subtract", 2, "$0 - $1"},
    {"multiply", 2, "$0 * $1"},
    {"divide", 2, "$0 / $1"},
    {"floor_divide", 2, "floor($0 / $1)"},
    {"power", 2, "pow($0, $1)"},
    {"fmod", 2, "fmod($0, $1)"},
    {"hypot", 2, "hypot($0, $1)"},
    {"copysign", 2, "copysign($0, $1)"},
    {"arctan2", 2, "atan2($0, $1)"},
    {"maximum", 2, "isnan($0) || $0 >= $1 ? $0 : $1"},
    {"minimum", 2, "isnan($0) || $0 <= $1 ? $0 : $1"},
    {"fmax", 2, "fmax($0, $1)"},
    {"fmin", 2, "fmin($0, $1)"},
    {"max", 2, "$0 < $1 ? $1 : $0"},
    {"min", 2, "$1 < $0 ? $1 : $0"},
    {"greater", 2, "$0 > $1"},
    {"greater_equal", 2, "$0 >= $1"},
    {"less", 2, "$0 < $1"},
    {"less_equal", 2, "$0 <= $1"},
    {"equal", 2, "$0 == $1"},
    {"not_equal", 2, "$0 != $1"},
    {"logical_and", 2, "$0 != 0 && $1 != 0"},
    {"logical_or", 2, "$0 != 0 || $1 != 0"},
    {"logical_xor", 2, "($0 != 0) != ($1 != 0)"},
    {"logical_not", 1, "$0 == 0"},
    {"where", 3, "$0 != 0 ? $1 : $2"},
    {"fma", 3, "fma($0, $1, $2)"},
    {"negative", 1, "-$0"},
    {"absolute", 1, "fabs($0)"},
    {"square", 1, "$0 * $0"},
    {"reciprocal", 1, "1 / $0"},
    {"sign", 1, "isnan($0) ? $0 : (REAL)(($0 > 0) - ($0 < 0))"},
    {"sqrt", 1, "sqrt($0)"},
    {"cbrt", 1, "cbrt($0)"},
    {"exp", 1, "exp($0)"},
    {"exp2", 1, "exp2($0)"},
    {"expm1", 1, "expm1($0)"},
    {"log", 1, "log($0)"},
    {"log2", 1, "log2($0)"},
    {"log10", 1, "log10($0)"},
    {"log1p", 1, "log1p($0)"},
    {"sin", 1, "sin($0)"},
    {"cos", 1, "cos($0)"},
    {"tan", 1, "tan($0)"},
    {"arcsin", 1, "asin($0)"},
    {"arccos", 1, "acos($0)"},
    {"arctan", 1, "atan($0)"},
    {"sinh", 1, "sinh($0)"},
    {"cosh", 1, "cosh($0)"},
    {"tanh", 1, "tanh($0)"},
    {"arcsinh", 1, "asinh($0)"},
    {"arccosh", 1, "acosh($0)"},
    {"arctanh", 1, "atanh($0)"},
    {"erf", 1, "erf($0)"},
    {"erfc", 1, "erfc($0)"},
    {"lgamma", 1, "lgamma($0)"},
    {"tgamma", 1, "tgamma($0)"},
    {"floor", 1, "floor($0)"},
    {"ceil", 1, "ceil($0)"},
    {"trunc", 1, "trunc($0)"},
    {"rint", 1, "rint($0)"},
    {"round", 1, "round($0)"},
    {"isnan", 1, "isnan($0)"},
    {"isinf", 1, "isinf($0)"},
    {"isfinite", 1, "isfinite($0)"},
    {"signbit", 1, "signbit($0)"},
};
constexpr const Function* function_named(std::string_view name) {
  for (const Function& f : functions)
    if (f.name == name) return &f;
  return nullptr;
}
inline std::string function_text(const Function& f, const std::string operands[3]) {
  std::string out;
  for (size_t i = 0; i < f.text.size(); ++i)
    if (f.text[i] == '$') out += operands[f.text[++i] - '0'];
    else out += f.text[i];
  return out;
}
// A constant of type REAL; `wide`: which is double.
inline std::string literal(double v, bool wide) {
  double rounded = wide ? v : static_cast<double>(static_cast<float>(v));
  return "(" + detail::number_text(rounded, wide) + (wide || !std::isfinite(rounded) ? ")" : "f)");
}

// The result of a step, or a constant.
struct Operand {
  int step = -1;
  double number = 0;
};
struct Step {
  const Function* function;  // null: an input
  Operand operands[3];
};

// One call of a formula. Conditions follow `path`, and are true beyond its end; without a path, the values decide.
struct Recorder {
  bool wide = false;  // computed in double
  std::vector<Step> steps;
  std::vector<double> values;                    // of the steps
  std::vector<std::pair<size_t, int>> branches;  // the number of steps before a condition, and the step that it is
  const std::vector<bool>* path = nullptr;

  double value(const Operand& o) const {
    if (o.step >= 0) return values[static_cast<size_t>(o.step)];
    return wide ? o.number : static_cast<double>(static_cast<float>(o.number));
  }
};
inline thread_local Recorder* recorder = nullptr;

// `compute` gets the values of the operands as floats or doubles.
template <class F>
inline Operand record(const Function* f, const F& compute, Operand a, Operand b = {}, Operand c = {}) {
  constexpr size_t most = 1024;
  if (recorder->steps.size() == most) unsupported("the formula has more than ", most, " steps");
  double x = recorder->value(a), y = recorder->value(b), z = recorder->value(c);
  auto narrow = [](double v) { return static_cast<float>(v); };
  recorder->values.push_back(recorder->wide ? static_cast<double>(compute(x, y, z))
                                            : narrow(static_cast<double>(compute(narrow(x), narrow(y), narrow(z)))));
  recorder->steps.push_back({f, {a, b, c}});
  return {static_cast<int>(recorder->steps.size()) - 1, 0};
}

// The result of a comparison. As a condition, it is one of the branches of the formula.
struct Mask {
  Operand at;
  explicit Mask(Operand o) : at(o) {}
  operator bool() const {
    constexpr size_t most = 16;
    if (!recorder->path) return recorder->value(at) != 0;
    size_t k = recorder->branches.size();
    if (k == most) unsupported("the formula has more than ", most, " conditions in a row");
    recorder->branches.emplace_back(recorder->steps.size(), at.step);
    return k >= recorder->path->size() || (*recorder->path)[k];
  }
};

// A float that stands for a step: a NaN with its number. Where it is only passed on, as in `x > 0 ? x : 0.0f`, the step
// is found again; where it is computed with, the comparison with floats fails.
inline float tagged(int step) { return std::bit_cast<float>(0x7fe00000u | static_cast<uint32_t>(step)); }
inline Operand untagged(double v) {
  uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(v));
  if ((bits & 0xffff0000u) == 0x7fe00000u && recorder && (bits & 0xffff) < recorder->steps.size())
    return {static_cast<int>(bits & 0xffff), 0};
  return {-1, v};
}

struct Traced {
  Operand at;
  Traced() = default;
  explicit Traced(Operand o) : at(o) {}
  template <Number N>
  explicit Traced(N n) : at(untagged(static_cast<double>(n))) {}
  template <Number N>
  Traced& operator=(N n) {
    return *this = Traced(n);
  }
  operator float() const { return at.step < 0 ? static_cast<float>(at.number) : tagged(at.step); }
  template <class T>
  Traced& operator+=(const T& o) {
    return *this = *this + o;
  }
  template <class T>
  Traced& operator-=(const T& o) {
    return *this = *this - o;
  }
  template <class T>
  Traced& operator*=(const T& o) {
    return *this = *this * o;
  }
  template <class T>
  Traced& operator/=(const T& o) {
    return *this = *this / o;
  }
};

// What a formula may compute with and return.
inline Operand operand(const Traced& x) { return x.at; }
inline Operand operand(const Mask& m) { return m.at; }
template <Number N>
inline Operand operand(N n) {
  return untagged(static_cast<double>(n));
}

template <class T>
concept Tracing = std::is_same_v<T, Traced> || std::is_same_v<T, Mask>;
template <class T>
concept Term = Tracing<T> || Number<T>;

// Functions of one and of two operands, of which `a` and `b` are the values.
#define GRAFT_TRACE_1(type, function, name, expression)           \
  inline type function(const Traced& x) {                         \
    constexpr const Function* f = function_named(name);           \
    static_assert(f->operands == 1);                              \
    return type(record(                                           \
        f, [](auto a, auto, auto) { return expression; }, x.at)); \
  }
#define GRAFT_TRACE_2(type, function, name, expression)                                                           \
  template <Term X, Term Y>                                                                                       \
  requires(std::is_same_v<X, Traced> || std::is_same_v<Y, Traced>) inline type function(const X& x, const Y& y) { \
    constexpr const Function* f = function_named(name);                                                           \
    static_assert(f->operands == 2);                                                                              \
    return type(record(                                                                                           \
        f, [](auto a, auto b, auto) { return expression; }, operand(x), operand(y)));                             \
  }                                                                                                               \
  inline type function(const Traced& x, const Traced& y) { /* before std::max<T> */                               \
    return function<Traced, Traced>(x, y);                                                                        \
  }
GRAFT_TRACE_2(Traced, operator+, "add", a + b)
GRAFT_TRACE_2(Traced, operator-, "subtract", a - b)
GRAFT_TRACE_2(Traced, operator*, "multiply", a* b)
GRAFT_TRACE_2(Traced, operator/, "divide", a / b)
GRAFT_TRACE_2(Mask, operator<, "less", a < b)
GRAFT_TRACE_2(Mask, operator<=, "less_equal", a <= b)
GRAFT_TRACE_2(Mask, operator>, "greater", a > b)
GRAFT_TRACE_2(Mask, operator>=, "greater_equal", a >= b)
GRAFT_TRACE_2(Mask, operator==, "equal", a == b)
GRAFT_TRACE_2(Mask, operator!=, "not_equal", a != b)
GRAFT_TRACE_2(Traced, pow, "power", std::pow(a, b))
GRAFT_TRACE_2(Traced, fmod, "fmod", std::fmod(a, b))
GRAFT_TRACE_2(Traced, hypot, "hypot", std::hypot(a, b))
GRAFT_TRACE_2(Traced, copysign, "copysign", std::copysign(a, b))
GRAFT_TRACE_2(Traced, atan2, "arctan2", std::atan2(a, b))
GRAFT_TRACE_2(Traced, fmax, "fmax", std::fmax(a, b))
GRAFT_TRACE_2(Traced, fmin, "fmin", std::fmin(a, b))
GRAFT_TRACE_2(Traced, max, "max", a < b ? b : a)
GRAFT_TRACE_2(Traced, min, "min", b < a ? b : a)
GRAFT_TRACE_1(Traced, operator-, "negative", -a)
GRAFT_TRACE_1(Traced, fabs, "absolute", std::fabs(a))
GRAFT_TRACE_1(Traced, abs, "absolute", std::fabs(a))
GRAFT_TRACE_1(Traced, sqrt, "sqrt", std::sqrt(a))
GRAFT_TRACE_1(Traced, cbrt, "cbrt", std::cbrt(a))
GRAFT_TRACE_1(Traced, exp, "exp", std::exp(a))
GRAFT_TRACE_1(Traced, exp2, "exp2", std::exp2(a))
GRAFT_TRACE_1(Traced, expm1, "expm1", std::expm1(a))
GRAFT_TRACE_1(Traced, log, "log", std::log(a))
GRAFT_TRACE_1(Traced, log2, "log2", std::log2(a))
GRAFT_TRACE_1(Traced, log10, "log10", std::log10(a))
GRAFT_TRACE_1(Traced, log1p, "log1p", std::log1p(a))
GRAFT_TRACE_1(Traced, sin, "sin", std::sin(a))
GRAFT_TRACE_1(Traced, cos, "cos", std::cos(a))
GRAFT_TRACE_1(Traced, tan, "tan", std::tan(a))
GRAFT_TRACE_1(Traced, asin, "arcsin", std::asin(a))
GRAFT_TRACE_1(Traced, acos, "arccos", std::acos(a))
GRAFT_TRACE_1(Traced, atan, "arctan", std::atan(a))
GRAFT_TRACE_1(Traced, sinh, "sinh", std::sinh(a))
GRAFT_TRACE_1(Traced, cosh, "cosh", std::cosh(a))
GRAFT_TRACE_1(Traced, tanh, "tanh", std::tanh(a))
GRAFT_TRACE_1(Traced, asinh, "arcsinh", std::asinh(a))
GRAFT_TRACE_1(Traced, acosh, "arccosh", std::acosh(a))
GRAFT_TRACE_1(Traced, atanh, "arctanh", std::atanh(a))
GRAFT_TRACE_1(Traced, erf, "erf", std::erf(a))
GRAFT_TRACE_1(Traced, erfc, "erfc", std::erfc(a))
GRAFT_TRACE_1(Traced, lgamma, "lgamma", std::lgamma(a))
GRAFT_TRACE_1(Traced, tgamma, "tgamma", std::tgamma(a))
GRAFT_TRACE_1(Traced, floor, "floor", std::floor(a))
GRAFT_TRACE_1(Traced, ceil, "ceil", std::ceil(a))
GRAFT_TRACE_1(Traced, trunc, "trunc", std::trunc(a))
GRAFT_TRACE_1(Traced, rint, "rint", std::nearbyint(a))
GRAFT_TRACE_1(Traced, nearbyint, "rint", std::nearbyint(a))
GRAFT_TRACE_1(Traced, round, "round", std::round(a))
GRAFT_TRACE_1(Mask, isnan, "isnan", std::isnan(a))
GRAFT_TRACE_1(Mask, isinf, "isinf", std::isinf(a))
GRAFT_TRACE_1(Mask, isfinite, "isfinite", std::isfinite(a))
GRAFT_TRACE_1(Mask, signbit, "signbit", std::signbit(a))
#undef GRAFT_TRACE_1
#undef GRAFT_TRACE_2
inline Traced operator+(const Traced& x) { return x; }
inline Mask operator&&(const Mask& x, const Mask& y) {
  return Mask(record(
      function_named("logical_and"), [](auto a, auto b, auto) { return a != 0 && b != 0; }, x.at, y.at));
}
inline Mask operator||(const Mask& x, const Mask& y) {
  return Mask(record(
      function_named("logical_or"), [](auto a, auto b, auto) { return a != 0 || b != 0; }, x.at, y.at));
}
inline Mask operator!(const Mask& x) {
  return Mask(record(
      function_named("logical_not"), [](auto a, auto, auto) { return a == 0; }, x.at));
}

template <Term X, Term Y>
inline Traced select(const Mask& c, const X& yes, const Y& no) {
  auto chosen = [](auto a, auto b, auto other) { return a != 0 ? b : other; };
  return Traced(record(function_named("where"), chosen, c.at, operand(yes), operand(no)));
}
// By a condition that does not depend on the elements, such as an attribute.
template <Term X, Term Y>
requires(Tracing<X> || Tracing<Y>) inline Traced select(bool c, const X& yes, const Y& no) {
  return Traced(c ? operand(yes) : operand(no));
}
inline Traced clamp(const Traced& x, const Traced& low, const Traced& high) { return min(max(x, low), high); }
inline Traced fma(const Traced& x, const Traced& y, const Traced& z) {
  return Traced(record(
      function_named("fma"), [](auto a, auto b, auto c) { return a * b + c; }, x.at, y.at, z.at));
}
// With plain numbers in between.
template <class... T>
concept MixedTerms = (Term<T> && ...) && (Tracing<T> || ...) && (Number<T> || ...);
template <class X, class Y, class Z>
requires MixedTerms<X, Y, Z>
inline Traced clamp(const X& x, const Y& low, const Z& high) {
  return clamp(Traced(operand(x)), Traced(operand(low)), Traced(operand(high)));
}
template <class X, class Y, class Z>
requires MixedTerms<X, Y, Z>
inline Traced fma(const X& x, const Y& y, const Z& z) {
  return fma(Traced(operand(x)), Traced(operand(y)), Traced(operand(z)));
}

}  // namespace trace

using trace::select;

}  // namespace graft

// For formulas that write std::cosh(x).
namespace std {
#define GRAFT_TRACE_NAME(name) using graft::trace::name;
GRAFT_TRACE_NAME(abs)
GRAFT_TRACE_NAME(fabs)
GRAFT_TRACE_NAME(acos)
GRAFT_TRACE_NAME(acosh)
GRAFT_TRACE_NAME(asin)
GRAFT_TRACE_NAME(asinh)
GRAFT_TRACE_NAME(atan)
GRAFT_TRACE_NAME(atan2)
GRAFT_TRACE_NAME(atanh)
GRAFT_TRACE_NAME(cbrt)
GRAFT_TRACE_NAME(ceil)
GRAFT_TRACE_NAME(clamp)
GRAFT_TRACE_NAME(copysign)
GRAFT_TRACE_NAME(cos)
GRAFT_TRACE_NAME(cosh)
GRAFT_TRACE_NAME(erf)
GRAFT_TRACE_NAME(erfc)
GRAFT_TRACE_NAME(exp)
GRAFT_TRACE_NAME(exp2)
GRAFT_TRACE_NAME(expm1)
GRAFT_TRACE_NAME(floor)
GRAFT_TRACE_NAME(fma)
GRAFT_TRACE_NAME(fmax)
GRAFT_TRACE_NAME(fmin)
GRAFT_TRACE_NAME(fmod)
GRAFT_TRACE_NAME(hypot)
GRAFT_TRACE_NAME(isfinite)
GRAFT_TRACE_NAME(isinf)
GRAFT_TRACE_NAME(isnan)
GRAFT_TRACE_NAME(lgamma)
GRAFT_TRACE_NAME(log)
GRAFT_TRACE_NAME(log10)
GRAFT_TRACE_NAME(log1p)
GRAFT_TRACE_NAME(log2)
GRAFT_TRACE_NAME(max)
GRAFT_TRACE_NAME(min)
GRAFT_TRACE_NAME(nearbyint)
GRAFT_TRACE_NAME(pow)
GRAFT_TRACE_NAME(rint)
GRAFT_TRACE_NAME(round)
GRAFT_TRACE_NAME(signbit)
GRAFT_TRACE_NAME(sin)
GRAFT_TRACE_NAME(sinh)
GRAFT_TRACE_NAME(sqrt)
GRAFT_TRACE_NAME(tan)
GRAFT_TRACE_NAME(tanh)
GRAFT_TRACE_NAME(tgamma)
GRAFT_TRACE_NAME(trunc)
#undef GRAFT_TRACE_NAME
}  // namespace std
