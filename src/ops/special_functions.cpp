// Special functions of two and three arguments.
#include <graft/op.hpp>

#include "gamma_functions.hpp"

namespace graft {
namespace {

// The next number of the element type itself, so that it cannot be computed in double.
template <class T>
void next_after_as(Run& ctx, const TensorView& x, const TensorView& y) {
  OutputView out = ctx.output(0);
  Walk walk(out.dims(), {broadcast_strides(x.dims(), out.dims()), broadcast_strides(y.dims(), out.dims())});
  if (walk.empty()) return;
  T* to = out.data<T>();
  do *to++ = std::nextafter(x.data<const T>()[walk[0]], y.data<const T>()[walk[1]]);
  while (walk.next());
}
void next_after_infer(Infer& ctx, const NoAttributes&) {
  for (size_t i = 0; i < 2; ++i)
    if (DType t = ctx.type(i); t != DType::undefined && t != DType::f32 && t != DType::f64)
      fail("expected elements of type f32 or f64, got ", t);
  ctx.output(0, ctx.type(0), broadcast(ctx.shape(0), ctx.shape(1)));
}
void next_after_run(Run& ctx, const NoAttributes&) {
  TensorView x = ctx.input(0), y = ctx.input(1);
  if (x.type() != y.type()) fail("expected inputs of the same type, got ", x.type(), " and ", y.type());
  if (x.type() == DType::f32) next_after_as<float>(ctx, x, y);
  else next_after_as<double>(ctx, x, y);
}

}  // namespace

Definitions define_special_functions() {
  auto pair = [](std::string_view name, std::string_view doc, auto formula) {
    return op(name, "graft").doc(doc).template elementwise<2>(scalar(formula));
  };
  return {
      pair("Igamma", "Lower regularized incomplete gamma function P(a, x)",
           [](auto a, auto x) { return incomplete_gamma(static_cast<double>(a), static_cast<double>(x), false); })
          .import(tensorflow("Igamma")),
      pair("Igammac", "Upper regularized incomplete gamma function Q(a, x)",
           [](auto a, auto x) { return incomplete_gamma(static_cast<double>(a), static_cast<double>(x), true); })
          .import(tensorflow("Igammac")),
      pair("Zeta", "Hurwitz zeta function: the sum of (q + k)^-x over all k >= 0",
           [](auto x, auto q) { return hurwitz_zeta(static_cast<double>(x), static_cast<double>(q)); })
          .import(tensorflow("Zeta")),
      pair("Polygamma", "Derivative of order n of the digamma function",
           [](auto n, auto x) { return polygamma(static_cast<double>(n), static_cast<double>(x)); })
          .import(tensorflow("Polygamma")),
      op("Betainc", "graft")
          .doc("Regularized incomplete beta function")
          .elementwise<3>(scalar([](auto a, auto b, auto x) {
            return incomplete_beta(static_cast<double>(a), static_cast<double>(b), static_cast<double>(x));
          }))
          .import(tensorflow("Betainc")),
      op("NextAfter", "graft")
          .doc("The next representable number after x in the direction of y")
          .inputs("x, y")
          .infer(next_after_infer)
          .linear()
          .reference(next_after_run)
          .import(tensorflow("NextAfter")),
  };
}

}  // namespace graft
