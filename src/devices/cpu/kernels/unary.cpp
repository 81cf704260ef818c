// Element-wise operations of one f32 input, in vectors: y[i] = f(x[i]) over pieces that the threads share.
//
// Wants plain memory, any shape; in place is fine. Fast because the formulas are polynomials over whole vectors instead
// of one library call per element.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unary.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/highway.h>

#include <graft/op.hpp>

#include "math-inl.hpp"

#ifndef GRAFT_CPU_UNARY_ONCE
#define GRAFT_CPU_UNARY_ONCE
namespace graft {
// Up to two numbers that the operation's attributes or further inputs give.
struct UnaryNumbers {
  float a = 0, b = 0;
};
using UnaryFunction = void (*)(const float* x, float* y, int64_t n, UnaryNumbers numbers);
}  // namespace graft
#endif

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr D d;

// Applies `f` to whole vectors; the rest goes through a vector of its own.
template <V (*f)(V, UnaryNumbers)>
void map(const float* x, float* y, int64_t n, UnaryNumbers numbers) {
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + step <= n; i += step) hn::StoreU(f(hn::LoadU(d, x + i), numbers), d, y + i);
  if (i == n) return;
  HWY_ALIGN float rest[HWY_MAX_BYTES / sizeof(float)] = {};
  for (int64_t k = i; k < n; ++k) rest[k - i] = x[k];
  hn::Store(f(hn::Load(d, rest), numbers), d, rest);
  for (int64_t k = i; k < n; ++k) y[k] = rest[k - i];
}

HWY_INLINE V number(float v) { return hn::Set(d, v); }
// Comparisons that what is not a number passes through.
HWY_INLINE V at_least(V x, V low) { return hn::IfThenElse(hn::Lt(x, low), low, x); }
HWY_INLINE V at_most(V x, V high) { return hn::IfThenElse(hn::Gt(x, high), high, x); }

HWY_INLINE V abs(V x, UnaryNumbers) { return hn::Abs(x); }
HWY_INLINE V ceiling(V x, UnaryNumbers) { return hn::Ceil(x); }
HWY_INLINE V clamp(V x, UnaryNumbers n) { return at_most(at_least(x, number(n.a)), number(n.b)); }
HWY_INLINE V elu(V x, UnaryNumbers n) {
  const V below = hn::Mul(number(n.a), hn::Expm1(d, hn::Min(x, hn::Zero(d))));
  return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Gt(x, hn::Zero(d))), x, below);
}
HWY_INLINE V erf(V x, UnaryNumbers) { return error_function(d, x); }
HWY_INLINE V exp(V x, UnaryNumbers) { return exponential(d, x); }
HWY_INLINE V floor(V x, UnaryNumbers) { return hn::Floor(x); }
HWY_INLINE V gelu(V x, UnaryNumbers) {
  const V half = hn::Mul(x, number(0.5f));
  return hn::MulAdd(half, error_function(d, hn::Mul(x, number(0.70710678f))), half);
}
HWY_INLINE V gelu_tanh(V x, UnaryNumbers) {
  const V half = hn::Mul(x, number(0.5f)), square = hn::Mul(x, x);
  const V inner = hn::Mul(hn::Mul(x, number(0.79788456f)), hn::MulAdd(square, number(0.044715f), number(1.0f)));
  return hn::MulAdd(half, hn::Tanh(d, inner), half);
}
HWY_INLINE V hard_sigmoid(V x, UnaryNumbers n) {
  return at_least(at_most(hn::MulAdd(x, number(n.a), number(n.b)), number(1.0f)), hn::Zero(d));
}
HWY_INLINE V hsigmoid(V x, UnaryNumbers) {
  return hn::Div(at_most(at_least(hn::Add(x, number(3.0f)), hn::Zero(d)), number(6.0f)), number(6.0f));
}
HWY_INLINE V hswish(V x, UnaryNumbers n) { return hn::Mul(x, hsigmoid(x, n)); }
HWY_INLINE V log(V x, UnaryNumbers) { return logarithm_of(d, x); }
// tanh(ln(1 + e)) is (e^2 + 2e) / (e^2 + 2e + 2).
HWY_INLINE V mish(V x, UnaryNumbers) {
  const V e = exponential(d, at_most(x, number(20.0f))), p = hn::Mul(e, hn::Add(e, number(2.0f)));
  const V y = hn::Mul(x, hn::Div(p, hn::Add(p, number(2.0f))));
  return hn::IfThenElse(hn::Gt(x, number(20.0f)), x, y);
}
HWY_INLINE V negative(V x, UnaryNumbers) { return hn::Neg(x); }
HWY_INLINE V relu(V x, UnaryNumbers) { return at_least(x, hn::Zero(d)); }
HWY_INLINE V sigmoid_of(V x, UnaryNumbers) { return sigmoid(d, x); }
HWY_INLINE V softplus(V x, UnaryNumbers) {
  const V y = hn::Log1p(d, exponential(d, at_most(x, number(30.0f))));
  return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Gt(x, number(30.0f))), x, y);
}
HWY_INLINE V softsign(V x, UnaryNumbers) { return hn::Div(x, hn::Add(number(1.0f), hn::Abs(x))); }
HWY_INLINE V sqrt(V x, UnaryNumbers) { return hn::Sqrt(x); }
HWY_INLINE V swish(V x, UnaryNumbers n) { return hn::Mul(x, sigmoid(d, hn::Mul(x, number(n.a)))); }
HWY_INLINE V tanh(V x, UnaryNumbers) { return hn::Tanh(d, x); }

}  // namespace

UnaryFunction unary_function(std::string_view type) {
  if (type == "Abs") return map<abs>;
  if (type == "Ceiling") return map<ceiling>;
  if (type == "Clamp") return map<clamp>;
  if (type == "Elu") return map<elu>;
  if (type == "Erf") return map<erf>;
  if (type == "Exp") return map<exp>;
  if (type == "Floor") return map<floor>;
  if (type == "Gelu") return map<gelu>;
  if (type == "GeluTanh") return map<gelu_tanh>;
  if (type == "HardSigmoid") return map<hard_sigmoid>;
  if (type == "HSigmoid") return map<hsigmoid>;
  if (type == "HSwish") return map<hswish>;
  if (type == "Log") return map<log>;
  if (type == "Mish") return map<mish>;
  if (type == "Negative") return map<negative>;
  if (type == "Relu") return map<relu>;
  if (type == "Sigmoid") return map<sigmoid_of>;
  if (type == "SoftPlus") return map<softplus>;
  if (type == "SoftSign") return map<softsign>;
  if (type == "Sqrt") return map<sqrt>;
  if (type == "Swish") return map<swish>;
  return map<tanh>;
}

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(unary_function);

struct UnaryState {
  UnaryFunction f = nullptr;
  UnaryNumbers numbers;
};

void unary_accept(Accept& ctx) {
  if (ctx.type(0) != DType::f32) unsupported("takes f32, not ", ctx.type(0));
}

UnaryState unary_prepare(Prepare& ctx) {
  std::string_view type = ctx.op_type();
  if (type == "Gelu" && ctx.attr<std::optional<std::string>>("approximation_mode") == "TANH") type = "GeluTanh";
  UnaryState s{HWY_DYNAMIC_DISPATCH(unary_function)(type), {}};
  if (type == "Clamp")
    s.numbers = {static_cast<float>(ctx.attr<double>("min")), static_cast<float>(ctx.attr<double>("max"))};
  if (type == "Elu") s.numbers.a = static_cast<float>(ctx.attr<double>("alpha"));
  if (type == "Swish") s.numbers.a = 1;
  return s;
}

void unary_run(Run& ctx, const UnaryState& s) {
  const float* x = ctx.input(0).data<const float>();
  float* y = ctx.output(0).data<float>();
  UnaryNumbers numbers = s.numbers;
  if (ctx.has_input(1)) numbers.a = ctx.input(1).data<const float>()[0];
  if (ctx.has_input(2)) numbers.b = ctx.input(2).data<const float>()[0];
  ctx.parallel_for(ctx.output(0).size(), 16384,
                   [&](int64_t begin, int64_t end) { s.f(x + begin, y + begin, end - begin, numbers); });
}

}  // namespace

Ops cpu_unary() {
  constexpr std::pair<std::string_view, std::string_view> types[] = {
      {"Abs", "opset1"},     {"Ceiling", "opset1"},     {"Clamp", "opset1"},    {"Elu", "opset1"},
      {"Erf", "opset1"},     {"Exp", "opset1"},         {"Floor", "opset1"},    {"Gelu", "opset2"},
      {"Gelu", "opset7"},    {"HardSigmoid", "opset1"}, {"HSigmoid", "opset5"}, {"HSwish", "opset4"},
      {"Log", "opset1"},     {"Mish", "opset4"},        {"Negative", "opset1"}, {"Relu", "opset1"},
      {"Sigmoid", "opset1"}, {"SoftPlus", "opset4"},    {"SoftSign", "opset9"}, {"Sqrt", "opset1"},
      {"Swish", "opset4"},   {"Tanh", "opset1"}};
  Ops ops;
  for (auto [type, opset] : types)
    ops += Kernel("CPU", "simd_f32").of(type, opset).accept(unary_accept).run(unary_prepare, unary_run);
  return ops;
}

}  // namespace graft
#endif
