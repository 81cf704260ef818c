// Convolution and GroupConvolution.
#include "convolution.hpp"

#include <graft/op.hpp>

namespace graft {
namespace {

struct Convolution : WindowAttributes {
  static constexpr std::tuple schema{strides_attr, dilations_attr, pads_begin_attr, pads_end_attr, auto_pad_attr};
};
struct GroupConvolution : WindowAttributes {
  static constexpr std::tuple schema{strides_attr, pads_begin_attr, pads_end_attr, dilations_attr, auto_pad_attr};
};

void convolution_infer(Infer& ctx, const Convolution& a) { ctx.output(0, convolution_info(ctx, a, false)); }
void group_convolution_infer(Infer& ctx, const GroupConvolution& a) { ctx.output(0, convolution_info(ctx, a, true)); }

void convolution_any(Run& ctx, const WindowAttributes& a, bool grouped) {
  TensorView x = ctx.input(0), w = ctx.input(1);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  ConvolutionPlan plan = convolution_plan(x.dims(), w.dims(), y.dims(), a, grouped);
  with_number_type(x.type(), [&]<class T>(T) { y.assign(convolve<false>(plan, x.to<T>(), w.to<T>())); });
}
void convolution_run(Run& ctx, const Convolution& a) { convolution_any(ctx, a, false); }
void group_convolution_run(Run& ctx, const GroupConvolution& a) { convolution_any(ctx, a, true); }

}  // namespace

Definitions define_convolution() {
  return {
      op<Convolution>("Convolution", 1)
          .doc("Convolution of data [N, I, ...] with weights [O, I, ...]")
          .traits(Trait::widens)
          .inputs("data, weights")
          .infer(convolution_infer)
          .reference(convolution_run),
      op<GroupConvolution>("GroupConvolution", 1)
          .doc("Grouped convolution of data [N, G * I, ...] with weights [G, O, I, ...]")
          .traits(Trait::widens)
          .inputs("data, weights")
          .infer(group_convolution_infer)
          .reference(group_convolution_run),
  };
}

}  // namespace graft
