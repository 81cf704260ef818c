// GroupConvolution in f32 with one input channel per group (depthwise), over one or two spatial axes.
//
// There are too few multiplications per element for a matrix product to pay off. Instead, windows slide over each plane
// (sliding-inl.hpp), and a vector of results is the sum of weights times one load each.
#include "inside.hpp"
#include "sliding.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "convolution_depthwise.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

#include "sliding-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {

struct WeightedSum {
  const float* w;
  template <class D>
  hn::Vec<D> start(D d) const {
    return hn::Zero(d);
  }
  template <class D>
  hn::Vec<D> tap(D d, int64_t tap) const {
    return hn::Set(d, w[tap]);
  }
  template <class V>
  V step(V weight, V x, V sum) const {
    return hn::MulAdd(weight, x, sum);
  }
  template <class D, class V>
  V end(D, V sum, int64_t, int64_t) const {
    return sum;
  }
};

}  // namespace
void depthwise_plane(const WindowAxes& axes, const float* x, const float* w, int64_t count, float* y) {
  int64_t taps = axes[1].kernel * axes[2].kernel;
  slide(
      axes, x, 0.0f, count, [&](int64_t plane, int64_t) { return WeightedSum{w + plane * taps}; }, y);
}

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(depthwise_plane);

void depthwise_accept(Accept& ctx) {
  convolution_accept(ctx);
  ConvolutionSizes s = convolution_sizes(ctx, ctx.attributes<ConvolutionAttributes>());
  if (s.inputs != 1) unsupported("expected one input channel per group, got ", s.inputs);
  if (s.outputs > 8) unsupported("expected at most 8 outputs per group, got ", s.outputs);
  accept_sliding(s.axes);
}

ConvolutionSizes depthwise_prepare(Prepare& ctx, const ConvolutionAttributes& a) { return convolution_sizes(ctx, a); }

void depthwise_run(Run& ctx, const ConvolutionAttributes&, const ConvolutionSizes& s) {
  OutputView out = ctx.output(0);
  if (out.size() == 0) return;
  float* y = out.data<float>();
  const float* x = ctx.input(0).data<const float>();
  const float* w = ctx.input(1).data<const float>();
  int64_t from = input_plane(s.axes), to = output_plane(s.axes), taps = s.taps();
  if (!all_finite(w, s.groups * s.outputs * taps))
    return convolve_inside(ctx, s, w, false, x, y,
                           [](double sum, int64_t, int64_t) { return static_cast<float>(sum); });
  int64_t grain = std::max<int64_t>(1, (1 << 17) / std::max<int64_t>(1, to * taps * s.outputs));
  auto f = HWY_DYNAMIC_DISPATCH(depthwise_plane);
  ctx.parallel_for(s.batch * s.groups, grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t)
      f(s.axes, x + t * from, w + t % s.groups * s.outputs * taps, s.outputs, y + t * s.outputs * to);
  });
}

}  // namespace

Definitions depthwise_convolution() {
  return Kernel("CPU", "depthwise_f32")
      .of("GroupConvolution", "opset1")
      .accept(depthwise_accept)
      .run(depthwise_prepare, depthwise_run);
}

}  // namespace graft
#endif
