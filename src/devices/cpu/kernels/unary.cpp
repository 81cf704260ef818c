// Vectorized element-wise operations of one f32 input: y[i] = f(x[i]) over pieces distributed among the threads.
//
// Requires dense memory of any shape; works in place. Fast because the formulas are polynomials over whole vectors
// instead of one library call per element.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unary.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

#include <graft/op.hpp>

#include "math-inl.hpp"

#ifndef GRAFT_CPU_UNARY_ONCE
#define GRAFT_CPU_UNARY_ONCE
namespace graft {
// Up to two parameters from attributes or additional inputs.
struct UnaryNumbers {
  float a = 0, b = 0;
};
using UnaryFunction = void (*)(const float* x, float* y, int64_t n, UnaryNumbers numbers);
struct UnaryRow {
  std::string_view type, opset;
  UnaryFunction f;
  std::string_view mode;  // attribute approximation_mode, for operations that have it
};
}  // namespace graft
#endif

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr D d;

// Applies `f` to whole vectors; the remainder goes through a padded vector.
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

// Zeros keep the sign of x, which Highway's scalar code drops.
HWY_INLINE V ceiling(V x, UnaryNumbers) { return hn::CopySign(hn::Ceil(x), x); }
HWY_INLINE V clamp(V x, UnaryNumbers n) { return at_most(at_least(x, number(n.a)), number(n.b)); }
HWY_INLINE V elu(V x, UnaryNumbers n) {
  const V below = hn::Mul(number(n.a), hn::Expm1(d, hn::Min(x, hn::Zero(d))));
  return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Ge(x, hn::Zero(d))), x, below);
}
HWY_INLINE V erf(V x, UnaryNumbers) { return error_function(d, x); }
HWY_INLINE V exp(V x, UnaryNumbers) { return exponential(d, x); }
HWY_INLINE V floor(V x, UnaryNumbers) { return hn::CopySign(hn::Floor(x), x); }
HWY_INLINE V gelu(V x, UnaryNumbers) { return gelu_by_erf(d, x); }
HWY_INLINE V gelu_tanh(V x, UnaryNumbers) { return gelu_by_tanh(d, x); }
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
HWY_INLINE V round_even(V x, UnaryNumbers) { return hn::CopySign(hn::Round(x), x); }
HWY_INLINE V sigmoid_of(V x, UnaryNumbers) { return sigmoid(d, x); }
HWY_INLINE V softplus(V x, UnaryNumbers) {
  const V y = hn::Log1p(d, exponential(d, at_most(x, number(30.0f))));
  return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Gt(x, number(30.0f))), x, y);
}
HWY_INLINE V swish(V x, UnaryNumbers n) { return hn::Mul(x, sigmoid(d, hn::Mul(x, number(n.a)))); }
HWY_INLINE V tanh(V x, UnaryNumbers) { return hn::Tanh(d, x); }

}  // namespace

// The operations implemented here, with their functions. The comment says how many times as long the formula takes
// (65536 elements, one thread, AVX-512). Where it is as fast, the row stays for epilogues: on rows as short as a panel
// of output channels a formula takes longer. tests/unit/vector_functions.cpp and element_rows.cpp compare all of them.
std::span<const UnaryRow> unary_rows() {
  static constexpr UnaryRow rows[] = {
      {"Ceiling", "opset1", map<ceiling>, {}},     // 1.02
      {"Clamp", "opset1", map<clamp>, {}},         // 1.04
      {"Elu", "opset1", map<elu>, {}},             // 0.69
      {"Erf", "opset1", map<erf>, {}},             // 0.76
      {"Exp", "opset1", map<exp>, {}},             // 0.77
      {"Floor", "opset1", map<floor>, {}},         // 1.02
      {"Gelu", "opset2", map<gelu>, {}},           // 0.97
      {"Gelu", "opset7", map<gelu>, "ERF"},        // 0.97
      {"Gelu", "opset7", map<gelu_tanh>, "TANH"},  // 0.92
      {"HardSigmoid", "opset1", map<hard_sigmoid>, {}},
      {"HSigmoid", "opset5", map<hsigmoid>, {}},  // 1.03
      {"HSwish", "opset4", map<hswish>, {}},      // 1.00
      {"Log", "opset1", map<log>, {}},            // 1.17
      {"Mish", "opset4", map<mish>, {}},          // 0.98
      {"Round", "opset5", map<round_even>, "half_to_even"},
      {"Sigmoid", "opset1", map<sigmoid_of>, {}},  // 1.07
      {"SoftPlus", "opset4", map<softplus>, {}},   // 1.65
      {"Swish", "opset4", map<swish>, {}},         // no formula
      {"Tanh", "opset1", map<tanh>, {}},           // 0.83
  };
  return rows;
}

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(unary_rows);

struct UnaryState {
  UnaryFunction f = nullptr;
  UnaryNumbers numbers;
  size_t inputs = 1;
};

void unary_accept(Accept& ctx) {
  if (ctx.type(0) != DType::f32) unsupported("expected f32, got ", ctx.type(0));
}

UnaryFunction unary_function(std::string_view type, std::string_view mode) {
  for (const UnaryRow& row : HWY_DYNAMIC_DISPATCH(unary_rows)())
    if (row.type == type && row.mode == mode) return row.f;
  unsupported("no vector function for ", type, " ", mode);
}

UnaryState unary_prepare(Prepare& ctx) {
  std::string_view type = ctx.op_type();
  auto mode = ctx.attr<std::optional<std::string>>(type == "Round" ? "mode" : "approximation_mode");
  UnaryState s{unary_function(type, mode ? std::string_view(*mode) : std::string_view()), {}};
  if (type == "Clamp")
    s.numbers = {static_cast<float>(ctx.attr<double>("min")), static_cast<float>(ctx.attr<double>("max"))};
  if (type == "Elu") s.numbers.a = static_cast<float>(ctx.attr<double>("alpha"));
  if (type == "Swish") s.numbers.a = 1;
  s.inputs = ctx.inputs();
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

void unary_apply(const UnaryState& s, const float* more, float* y, int64_t rows, int64_t step, int64_t length) {
  UnaryNumbers numbers = s.numbers;
  if (s.inputs > 1) numbers.a = more[0];
  if (s.inputs > 2) numbers.b = more[1];
  if (step == length) length *= rows, rows = 1;
  for (; rows > 0; --rows, y += step) s.f(y, y, length, numbers);
}

}  // namespace

Definitions cpu_unary() {
  Definitions ops;
  const UnaryRow* before = nullptr;
  for (const UnaryRow& row : HWY_DYNAMIC_DISPATCH(unary_rows)()) {
    bool another_mode = before && before->type == row.type && before->opset == row.opset;
    if (!another_mode)
      ops += Kernel("CPU", "simd_f32")
                 .of(row.type, row.opset)
                 .accept(unary_accept)
                 .run(unary_prepare, unary_run)
                 .rows(unary_apply);
    before = &row;
  }
  return ops;
}

}  // namespace graft
#endif
