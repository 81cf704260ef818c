// Activations over vectors.
#include "finish.hpp"
#include "math-inl.hpp"

#if defined(GRAFT_CPU_FINISH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_CPU_FINISH_INL
#undef GRAFT_CPU_FINISH_INL
#else
#define GRAFT_CPU_FINISH_INL
#endif

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {

// The first n elements; the others are zero, and their memory is not touched.
template <class D>
HWY_INLINE hn::Vec<D> load_first(D d, const float* from, size_t n) {
  return hn::MaskedLoad(hn::FirstN(d, n), d, from);
}
template <class D, class V>
HWY_INLINE void store_first(V v, D d, float* to, size_t n) {
  hn::BlendedStore(v, hn::FirstN(d, n), d, to);
}

template <class D, class V>
HWY_INLINE V finish(D d, V x, const Finish& f) {
  auto hsigmoid = [&](V v) {
    const V shifted = at_least(hn::Add(v, hn::Set(d, 3.0f)), hn::Zero(d));
    return hn::Mul(at_most(shifted, hn::Set(d, 6.0f)), hn::Set(d, 1.0f / 6));
  };
  switch (f.kind) {
    case ActivationKind::none: return x;
    case ActivationKind::relu: return at_least(x, hn::Zero(d));
    case ActivationKind::clamp: return at_most(at_least(x, hn::Set(d, f.a)), hn::Set(d, f.b));
    case ActivationKind::leaky_relu: return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, hn::Set(d, f.a)), x);
    case ActivationKind::sigmoid: return sigmoid(d, x);
    case ActivationKind::tanh: return hn::Tanh(d, x);
    case ActivationKind::swish: return hn::Mul(x, sigmoid(d, hn::Mul(x, hn::Set(d, f.a))));
    case ActivationKind::hswish: return hn::Mul(x, hsigmoid(x));
    case ActivationKind::hsigmoid: return hsigmoid(x);
    case ActivationKind::gelu: return gelu_by_erf(d, x);
    case ActivationKind::gelu_tanh: return gelu_by_tanh(d, x);
  }
  return x;
}

}  // namespace
}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
