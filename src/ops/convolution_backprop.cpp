// ConvolutionBackpropData and its grouped form: transposed convolution (ONNX ConvTranspose). Each input element is
// multiplied by the kernel and added to the output.
#include <graft/op.hpp>

#include "convolution.hpp"
#include "window_limits.hpp"

namespace graft {
namespace {

struct BackpropAttributes : WindowAttributes {
  std::vector<int64_t> output_padding;
};
constexpr auto output_padding_attr = attr("output_padding", &BackpropAttributes::output_padding,
                                          "elements added at the end of each spatial axis; empty: 0")
                                         .between(0, window_limit);

struct ConvolutionBackprop : BackpropAttributes {
  static constexpr std::tuple schema{strides_attr,  dilations_attr, pads_begin_attr,
                                     pads_end_attr, auto_pad_attr,  output_padding_attr};
};
struct GroupConvolutionBackprop : BackpropAttributes {
  static constexpr std::tuple schema{strides_attr,   pads_begin_attr, pads_end_attr,
                                     dilations_attr, auto_pad_attr,   output_padding_attr};
};

// Weights are [I, O, ...], or [G, I, O, ...] with groups. An optional third input holds the spatial output shape.
void backprop_shape(Infer& ctx, const BackpropAttributes& attributes, bool grouped) {
  DType type = common_type(ctx, {0, 1});
  Shape data = ctx.shape(0), weights = ctx.shape(1);
  size_t leading = grouped ? 3 : 2;
  if (!match_spatial_rank(data, weights, leading)) return ctx.output(0, type, Shape::unknown());
  size_t spatial = data.rank() - 2;
  BackpropAttributes a = complete_windows(attributes, spatial);
  complete_list(a.output_padding, "output_padding", spatial, 0);
  Dim groups = grouped ? weights[0] : Dim(1), channels = groups * weights[leading - 2];
  if (grouped && groups.max() == 0) fail("expected weights with a group axis, got shape ", weights);
  check_channels(data[1], channels);
  Shape out{data[0], groups * weights[leading - 1]};
  if (ctx.has_input(2)) {
    auto sizes = target_sizes(ctx, 2, spatial);
    for (size_t i = 0; i < spatial; ++i) out.push_back(sizes ? (*sizes)[i] : Dim());
    return ctx.output(0, type, out);
  }
  for (size_t i = 0; i < spatial; ++i) {
    if (data[i + 2].max() == 0) fail("expected a non-empty spatial axis ", i, ", got data of shape ", data);
    Dim spread = spread_extent(data[i + 2], weights[i + leading], a.strides[i], a.dilations[i]);
    int64_t more = a.output_padding[i] - a.pads_begin[i] - a.pads_end[i];
    if (spread.max() != Dim::unbounded && spread.max() + more < 0)
      fail("the padding along spatial axis ", i, " exceeds the unpadded output of ", spread);
    out.push_back(shifted(spread, more));
  }
  ctx.output(0, type, out);
}
void backprop_infer(Infer& ctx, const ConvolutionBackprop& a) { backprop_shape(ctx, a, false); }
void group_backprop_infer(Infer& ctx, const GroupConvolutionBackprop& a) { backprop_shape(ctx, a, true); }

// With an explicit output shape, `same_*` distributes the difference to the unpadded size; the odd element of
// `same_upper` goes to the beginning.
int64_t backprop_begin(const WindowAxis& w, const BackpropAttributes& a, int64_t output_padding) {
  int64_t full = (w.output - 1) * w.stride + (w.kernel - 1) * w.dilation + 1 + output_padding;
  int64_t total = std::max<int64_t>(full - w.input, 0);
  return a.auto_pad == AutoPad::same_upper ? total - total / 2 : total / 2;
}

void backprop_any(Run& ctx, const BackpropAttributes& attributes, bool grouped) {
  TensorView x = ctx.input(0), w = ctx.input(1);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  size_t leading = grouped ? 3 : 2, spatial = x.rank() - 2;
  BackpropAttributes a = complete_windows(attributes, spatial);
  complete_list(a.output_padding, "output_padding", spatial, 0);
  bool same = pads_to_same(a.auto_pad);
  WindowAttributes plain = a;
  plain.auto_pad = AutoPad::given;
  ConvolutionPlan plan;
  // In terms of the forward convolution: our output is its image, our input its result.
  plan.axes = window_axes(y.dims().subspan(2), x.dims().subspan(2), w.dims().subspan(leading), plain);
  for (size_t i = 0; i < spatial && same && ctx.has_input(2); ++i) {
    WindowAxis& axis = plan.axes[3 - spatial + i];
    axis.begin = backprop_begin(axis, a, a.output_padding[i]);
  }
  plan.batch = x.dim(0), plan.groups = grouped ? w.dim(0) : 1;
  plan.inputs = w.dim(leading - 2), plan.outputs = w.dim(leading - 1);
  with_number_type(x.type(), [&]<class T>(T) { y.assign(convolve<true>(plan, x.to<T>(), w.to<T>())); });
}
void backprop_run(Run& ctx, const ConvolutionBackprop& a) { backprop_any(ctx, a, false); }
void group_backprop_run(Run& ctx, const GroupConvolutionBackprop& a) { backprop_any(ctx, a, true); }

}  // namespace

Definitions define_convolution_backprop() {
  return {
      op<ConvolutionBackprop>("ConvolutionBackpropData", 1)
          .doc("Transposed convolution of data [N, I, ...] with weights [I, O, ...]: the gradient of a convolution "
               "with respect to its data")
          .traits(Trait::widens)
          .inputs("data, weights, output_shape?")
          .infer(backprop_infer)
          .reference(backprop_run),
      op<GroupConvolutionBackprop>("GroupConvolutionBackpropData", 1)
          .doc("Grouped transposed convolution of data [N, G * I, ...] with weights [G, I, O, ...]")
          .traits(Trait::widens)
          .inputs("data, weights, output_shape?")
          .infer(group_backprop_infer)
          .reference(group_backprop_run),
  };
}

}  // namespace graft
