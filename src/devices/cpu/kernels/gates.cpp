// Gates of recurrent cells over vectors; see gates.hpp. Each step is a pass over rows that stay in the L1 cache.
#include "gates.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gates.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

#include "math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr D d;

HWY_INLINE V number(double v) { return hn::Set(d, static_cast<float>(v)); }
HWY_INLINE int64_t vector_length() { return static_cast<int64_t>(hn::Lanes(d)); }

template <class F>
HWY_INLINE void gate_map(float* x, int64_t n, F f) {
  for (int64_t i = 0; i < n; i += vector_length()) hn::StoreU(f(hn::LoadU(d, x + i)), d, x + i);
}

void apply(const GateFunction& f, float* x, int64_t n) {
  const V zero = hn::Zero(d), one = number(1), a = number(f.alpha), b = number(f.beta);
  switch (f.kind) {
    case GateKind::sigmoid: return gate_map(x, n, [&](V v) { return sigmoid(d, v); });
    case GateKind::tanh: return gate_map(x, n, [&](V v) { return hn::Tanh(d, v); });
    case GateKind::relu: return gate_map(x, n, [&](V v) { return at_least(v, zero); });
    case GateKind::hard_sigmoid:
      return gate_map(x, n, [&](V v) { return at_most(at_least(hn::MulAdd(a, v, b), zero), one); });
    case GateKind::affine: return gate_map(x, n, [&](V v) { return hn::MulAdd(a, v, b); });
    case GateKind::leaky_relu:
      return gate_map(x, n, [&](V v) { return hn::IfThenElse(hn::Lt(v, zero), hn::Mul(a, v), v); });
    case GateKind::thresholded_relu: return gate_map(x, n, [&](V v) { return hn::IfThenElseZero(hn::Gt(v, a), v); });
    case GateKind::scaled_tanh: return gate_map(x, n, [&](V v) { return hn::Mul(a, hn::Tanh(d, hn::Mul(b, v))); });
    case GateKind::elu:
      return gate_map(
          x, n, [&](V v) { return hn::IfThenElse(hn::Lt(v, zero), hn::Mul(a, hn::Expm1(d, hn::Min(v, zero))), v); });
    case GateKind::softsign: return gate_map(x, n, [&](V v) { return hn::Div(v, hn::Add(one, hn::Abs(v))); });
    case GateKind::softplus:
      return gate_map(x, n, [&](V v) {
        const V y = hn::Log1p(d, exponential(d, at_most(v, number(30))));
        return hn::IfThenElse(hn::Or(hn::IsNaN(v), hn::Gt(v, number(30))), v, y);
      });
  }
}

// The sum of gate `g` replaces its product with the state; `peephole` may be null.
void add_up(const GateRules& rules, const GateRow& row, int64_t g, const float* peephole) {
  const float* x = row.x + g * row.step;
  const float* bias = row.bias + g * row.step;
  float* r = row.r + g * row.step;
  const V low = number(-rules.clip), high = number(rules.clip);
  for (int64_t i = 0; i < row.n; i += vector_length()) {
    V sum = hn::Add(hn::Add(hn::LoadU(d, x + i), hn::LoadU(d, r + i)), hn::LoadU(d, bias + i));
    if (peephole) sum = hn::MulAdd(hn::LoadU(d, peephole + i), hn::LoadU(d, row.c + i), sum);
    if (rules.clip > 0) sum = at_most(at_least(sum, low), high);
    hn::StoreU(sum, d, r + i);
  }
}

void rnn(const GateRules& rules, const GateRow& row) {
  add_up(rules, row, 0, nullptr);
  apply(rules.f, row.r, row.n);
  std::copy(row.r, row.r + row.n, row.to);
}

void lstm(const GateRules& rules, const GateRow& row) {
  float *forget = row.r, *in = row.r + row.step, *candidate = in + row.step, *out = candidate + row.step;
  auto peephole = [&](int64_t which) { return row.peephole ? row.peephole + which * row.step : nullptr; };
  const V one = number(1);
  auto complement = [&](const float* of, float* to) {
    for (int64_t i = 0; i < row.n; i += vector_length()) hn::StoreU(hn::Sub(one, hn::LoadU(d, of + i)), d, to + i);
  };
  add_up(rules, row, 0, peephole(0));
  add_up(rules, row, 1, peephole(1));
  add_up(rules, row, 2, nullptr);
  if (rules.coupling != GateRules::forget_from_input) apply(rules.f, forget, row.n);
  if (rules.coupling != GateRules::input_from_forget) apply(rules.f, in, row.n);
  if (rules.coupling == GateRules::input_from_forget) complement(forget, in);
  if (rules.coupling == GateRules::forget_from_input) complement(in, forget);
  apply(rules.g, candidate, row.n);
  for (int64_t i = 0; i < row.n; i += vector_length()) {
    const V kept = hn::Mul(hn::LoadU(d, forget + i), hn::LoadU(d, row.c + i));
    const V c = hn::MulAdd(hn::LoadU(d, in + i), hn::LoadU(d, candidate + i), kept);
    hn::StoreU(c, d, row.c + i);
    hn::StoreU(c, d, candidate + i);
  }
  add_up(rules, row, 3, peephole(2));
  apply(rules.f, out, row.n);
  apply(rules.h, candidate, row.n);
  for (int64_t i = 0; i < row.n; i += vector_length())
    hn::StoreU(hn::Mul(hn::LoadU(d, out + i), hn::LoadU(d, candidate + i)), d, row.to + i);
}

void gru_gates(const GateRules& rules, const GateRow& row) {
  float* reset = row.r + row.step;
  for (int64_t g : {0, 1}) {
    add_up(rules, row, g, nullptr);
    apply(rules.f, row.r + g * row.step, row.n);
  }
  if (rules.linear_before_reset) return;
  for (int64_t i = 0; i < row.n; i += vector_length())
    hn::StoreU(hn::Mul(hn::LoadU(d, reset + i), hn::LoadU(d, row.h + i)), d, row.to + i);
}

void gru_state(const GateRules& rules, const GateRow& row) {
  const float *update = row.r, *reset = row.r + row.step, *more = row.bias + 3 * row.step;
  float* candidate = row.r + 2 * row.step;
  if (rules.linear_before_reset)
    for (int64_t i = 0; i < row.n; i += vector_length()) {
      const V product = hn::Add(hn::LoadU(d, candidate + i), hn::LoadU(d, more + i));
      hn::StoreU(hn::Mul(hn::LoadU(d, reset + i), product), d, candidate + i);
    }
  add_up(rules, row, 2, nullptr);
  apply(rules.g, candidate, row.n);
  const V one = number(1);
  for (int64_t i = 0; i < row.n; i += vector_length()) {
    const V z = hn::LoadU(d, update + i), kept = hn::Mul(z, hn::LoadU(d, row.h + i));
    hn::StoreU(hn::MulAdd(hn::Sub(one, z), hn::LoadU(d, candidate + i), kept), d, row.to + i);
  }
}

}  // namespace
Gates gate_table() { return {vector_length(), rnn, lstm, gru_gates, gru_state}; }

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {

HWY_EXPORT(gate_table);

const Gates& gates() {
  static const Gates chosen = HWY_DYNAMIC_DISPATCH(gate_table)();
  return chosen;
}

}  // namespace graft
#endif
