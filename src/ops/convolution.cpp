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

// Weights are [O, I, ...], or [G, O, I, ...] with groups.
void convolution_shape(Infer& ctx, const WindowAttributes& attributes, bool grouped) {
  DType type = common_type(ctx);
  Shape data = ctx.shape(0), weights = ctx.shape(1);
  size_t leading = grouped ? 3 : 2;
  if (!match_spatial_rank(data, weights, leading)) return ctx.output(0, type, Shape::unknown());
  size_t spatial = data.rank() - 2;
  WindowAttributes a = complete_windows(attributes, spatial);
  Dim groups = grouped ? weights[0] : Dim(1), channels = groups * weights[leading - 1];
  if (grouped && groups.max() == 0) fail("expected weights with a group axis, got shape ", weights);
  check_channels(data[1], channels);
  Shape out{data[0], groups * weights[leading - 2]};
  for (size_t i = 0; i < spatial; ++i)
    out.push_back(window_positions(data[i + 2], weights[i + leading], a, i, Rounding::floor));
  ctx.output(0, type, out);
}
void convolution_infer(Infer& ctx, const Convolution& a) { convolution_shape(ctx, a, false); }
void group_convolution_infer(Infer& ctx, const GroupConvolution& a) { convolution_shape(ctx, a, true); }

void convolution_any(Run& ctx, const WindowAttributes& a, bool grouped) {
  TensorView x = ctx.input(0), w = ctx.input(1);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  size_t leading = grouped ? 3 : 2;
  ConvolutionPlan plan;
  plan.axes = window_axes(x.dims().subspan(2), y.dims().subspan(2), w.dims().subspan(leading), a);
  plan.batch = x.dim(0), plan.groups = grouped ? w.dim(0) : 1;
  plan.outputs = w.dim(leading - 2), plan.inputs = w.dim(leading - 1);
  with_number_type(x.type(), [&]<class T>(T) { y.assign(convolve<false>(plan, x.to<T>(), w.to<T>())); });
}
void convolution_run(Run& ctx, const Convolution& a) { convolution_any(ctx, a, false); }
void group_convolution_run(Run& ctx, const GroupConvolution& a) { convolution_any(ctx, a, true); }

}  // namespace

Definitions define_convolution() {
  return {
      op<Convolution>("Convolution", 1)
          .doc("Convolution of data [N, I, ...] with weights [O, I, ...]")
          .inputs("data, weights")
          .infer(convolution_infer)
          .reference(convolution_run),
      op<GroupConvolution>("GroupConvolution", 1)
          .doc("Grouped convolution of data [N, G * I, ...] with weights [G, O, I, ...]")
          .inputs("data, weights")
          .infer(group_convolution_infer)
          .reference(group_convolution_run),
  };
}

}  // namespace graft
