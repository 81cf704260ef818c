// A convolution with what follows it: bias, sum and epilogue in one operation. The CPU's passes make it when a model
// is compiled; see src/devices/cpu/passes/fuse_convolution.cpp.
#include <graft/kit/epilogue.hpp>
#include <graft/op.hpp>

#include "../convolution.hpp"

namespace graft {
namespace {

struct FusedConvolution : WindowAttributes, EpilogueAttributes {
  bool grouped = false;
  static constexpr std::tuple schema{
      strides_attr,
      dilations_attr,
      pads_begin_attr,
      pads_end_attr,
      auto_pad_attr,
      attr("grouped", &FusedConvolution::grouped, "the weights are [G, O, I, ...] instead of [O, I, ...]"),
      epilogue_low_attr,
      epilogue_high_attr,
      activation_attr,
      activation_numbers_attr};
};

void fused_infer(Infer& ctx, const FusedConvolution& a) {
  Info y = convolution_info(ctx, a, a.grouped);
  if (ctx.has_input(2) && y.shape.ranked()) {
    Shape bias = ctx.shape(2);
    if (bias.ranked() && bias.rank() != 1) fail("expected a bias with one value per channel, got shape ", bias);
    if (bias.ranked()) agree(bias[0], y.shape[1], "values of the bias", "to match the output channels");
  }
  if (ctx.has_input(3)) y.shape = merge(y.shape, ctx.shape(3));
  ctx.output(0, y);
}

Epilogue fused_prepare(Prepare& ctx, const FusedConvolution& a) { return epilogue_of(ctx, a); }

void fused_run(Run& ctx, const FusedConvolution& a, const Epilogue& epilogue) {
  TensorView x = ctx.input(0), w = ctx.input(1);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  ConvolutionPlan plan = convolution_plan(x.dims(), w.dims(), y.dims(), a, a.grouped);
  std::vector<double> values = convolve<false>(plan, x.to<double>(), w.to<double>());
  int64_t channels = y.dim(1), plane = y.size() / (y.dim(0) * channels);
  std::vector<double> bias, sum;
  if (ctx.has_input(2)) bias = ctx.input(2).to<double>();
  if (ctx.has_input(3)) sum = ctx.input(3).to<double>();
  for (size_t i = 0; i < values.size(); ++i) {
    double v = values[i];
    if (!bias.empty()) v += bias[i / static_cast<size_t>(plane) % static_cast<size_t>(channels)];
    if (!sum.empty()) v += sum[i];
    values[i] = v;
  }
  y.assign(end_results(epilogue, values));
}

}  // namespace

Definitions define_internal_fused_convolution() {
  return op<FusedConvolution>("FusedConvolution", "graft")
      .doc("Convolution, then adds a bias [O] and a tensor of the output's shape, then an epilogue")
      .inputs("data, weights, bias?, sum?")
      .any_attributes()
      .infer(fused_infer)
      .reference(fused_prepare, fused_run);
}

}  // namespace graft
