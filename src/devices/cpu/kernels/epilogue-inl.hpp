// Vectors of which only some elements exist, and the bounds of an epilogue.
#include <graft/kit/epilogue.hpp>

#include "math-inl.hpp"

#if defined(GRAFT_CPU_EPILOGUE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_CPU_EPILOGUE_INL
#undef GRAFT_CPU_EPILOGUE_INL
#else
#define GRAFT_CPU_EPILOGUE_INL
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

// NaN stays.
template <class V>
HWY_INLINE V bounded(V x, V low, V high) {
  return at_most(at_least(x, low), high);
}

}  // namespace
}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
