// Element-wise operations of one f32 input and numbers, written by hand: y[i] = f(x[i]) over pieces distributed among
// the threads. All others are computed from their formulas (graft/elementwise.hpp), which are as fast.
//
// Requires dense memory of any shape; works in place.
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
// Up to two further inputs.
struct UnaryNumbers {
  float a = 0, b = 0;
};
using UnaryFunction = void (*)(const float* x, float* y, int64_t n, UnaryNumbers numbers);
struct UnaryRow {
  std::string_view type, opset;
  UnaryFunction f;
  UnaryNumbers absent = {};  // what stands for inputs that are absent
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

HWY_INLINE V hard_sigmoid(V x, UnaryNumbers n) {
  return at_least(at_most(hn::MulAdd(x, number(n.a), number(n.b)), number(1.0f)), hn::Zero(d));
}
HWY_INLINE V log(V x, UnaryNumbers) { return logarithm_of(d, x); }
HWY_INLINE V sigmoid_of(V x, UnaryNumbers) { return sigmoid(d, x); }
HWY_INLINE V softplus(V x, UnaryNumbers) {
  const V y = hn::Log1p(d, exponential(d, at_most(x, number(30.0f))));
  return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Gt(x, number(30.0f))), x, y);
}
HWY_INLINE V swish(V x, UnaryNumbers n) { return hn::Mul(x, sigmoid(d, hn::Mul(x, number(n.a)))); }

}  // namespace

// The operations implemented here, with their functions. A row stays if the formula takes at least 5 % longer; the
// factor is for 65536 elements, one thread, AVX-512. HardSigmoid and Swish have no formula, since their numbers are
// inputs. tests/unit/vector_functions.cpp and element_rows.cpp compare all of them with the reference.
std::span<const UnaryRow> unary_rows() {
  static constexpr UnaryRow rows[] = {
      {"HardSigmoid", "opset1", map<hard_sigmoid>},
      {"Log", "opset1", map<log>},             // 1.17
      {"Sigmoid", "opset1", map<sigmoid_of>},  // 1.07
      {"SoftPlus", "opset4", map<softplus>},   // 1.65
      {"Swish", "opset4", map<swish>, {1, 0}},
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

UnaryState unary_prepare(Prepare& ctx) {
  std::string_view type = ctx.op_type();
  for (const UnaryRow& row : HWY_DYNAMIC_DISPATCH(unary_rows)())
    if (row.type == type) return {row.f, row.absent, ctx.inputs()};
  unsupported("no vector function for ", type);
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
  for (const UnaryRow& row : HWY_DYNAMIC_DISPATCH(unary_rows)())
    ops += Kernel("CPU", "simd_f32")
               .of(row.type, row.opset)
               .accept(unary_accept)
               .run(unary_prepare, unary_run)
               .rows(unary_apply);
  return ops;
}

}  // namespace graft
#endif
