// Element-wise operations of one f32 input, in vectors: y[i] = f(x[i]) over pieces that the threads share.
//
// Wants plain memory, any shape; in place is fine. Fast because the formulas are polynomials over whole vectors
// (Highway's math) instead of one library call per element.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unary.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <graft/op.hpp>

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Applies `f` to whole vectors; the rest goes through a vector of its own.
template <class F>
void map(const float* x, float* y, size_t n, F f) {
  const hn::ScalableTag<float> d;
  size_t i = 0, step = hn::Lanes(d);
  for (; i + step <= n; i += step) hn::StoreU(f(d, hn::LoadU(d, x + i)), d, y + i);
  if (i == n) return;
  HWY_ALIGN float rest[HWY_MAX_BYTES / sizeof(float)] = {};
  for (size_t k = i; k < n; ++k) rest[k - i] = x[k];
  hn::Store(f(d, hn::Load(d, rest)), d, rest);
  for (size_t k = i; k < n; ++k) y[k] = rest[k - i];
}

// Highway's e^x loses what is not a number.
template <class D, class V>
V exponential(D d, V x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, x));
}
template <class D, class V>
V sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, exponential(d, hn::Neg(x))));
}

void abs_f32(const float* x, float* y, size_t n) {
  map(x, y, n, [](auto, auto v) { return hn::Abs(v); });
}
void exp_f32(const float* x, float* y, size_t n) {
  map(x, y, n, [](auto d, auto v) { return exponential(d, v); });
}
void negative_f32(const float* x, float* y, size_t n) {
  map(x, y, n, [](auto, auto v) { return hn::Neg(v); });
}
void relu_f32(const float* x, float* y, size_t n) {
  map(x, y, n, [](auto d, auto v) { return hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::Zero(d), v); });
}
void sigmoid_f32(const float* x, float* y, size_t n) {
  map(x, y, n, [](auto d, auto v) { return sigmoid(d, v); });
}
void sqrt_f32(const float* x, float* y, size_t n) {
  map(x, y, n, [](auto, auto v) { return hn::Sqrt(v); });
}
void tanh_f32(const float* x, float* y, size_t n) {
  map(x, y, n, [](auto d, auto v) { return hn::Tanh(d, v); });
}

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(abs_f32);
HWY_EXPORT(exp_f32);
HWY_EXPORT(negative_f32);
HWY_EXPORT(relu_f32);
HWY_EXPORT(sigmoid_f32);
HWY_EXPORT(sqrt_f32);
HWY_EXPORT(tanh_f32);

using MapFunction = void (*)(const float*, float*, size_t);

MapFunction function_for(std::string_view type) {
  if (type == "Abs") return HWY_DYNAMIC_DISPATCH(abs_f32);
  if (type == "Exp") return HWY_DYNAMIC_DISPATCH(exp_f32);
  if (type == "Negative") return HWY_DYNAMIC_DISPATCH(negative_f32);
  if (type == "Relu") return HWY_DYNAMIC_DISPATCH(relu_f32);
  if (type == "Sigmoid") return HWY_DYNAMIC_DISPATCH(sigmoid_f32);
  if (type == "Sqrt") return HWY_DYNAMIC_DISPATCH(sqrt_f32);
  return HWY_DYNAMIC_DISPATCH(tanh_f32);
}

void unary_accept(Accept& ctx) {
  if (ctx.type(0) != DType::f32) unsupported("takes f32, not ", ctx.type(0));
}
MapFunction unary_prepare(Prepare& ctx) { return function_for(ctx.op_type()); }
void unary_run(Run& ctx, const MapFunction& f) {
  const float* x = ctx.input(0).data<const float>();
  float* y = ctx.output(0).data<float>();
  ctx.parallel_for(ctx.output(0).size(), 16384,
                   [&](int64_t begin, int64_t end) { f(x + begin, y + begin, static_cast<size_t>(end - begin)); });
}

}  // namespace

Ops cpu_unary() {
  Ops ops;
  for (std::string_view type : {"Abs", "Exp", "Negative", "Relu", "Sigmoid", "Sqrt", "Tanh"})
    ops += Kernel("CPU", "simd_f32").of(type, "opset1").accept(unary_accept).run(unary_prepare, unary_run);
  return ops;
}

}  // namespace graft
#endif
