// Arithmetic in 8 bits: to bytes, back to numbers, and a convolution of bytes with what surrounds it. The CPU's passes
// make these operations when a model is compiled; see src/devices/cpu/passes/fuse_quantized.cpp.
#include <graft/kit/quantized.hpp>
#include <graft/op.hpp>

#include "../convolution.hpp"

namespace graft {
namespace {

struct Quantize {
  double scale = 1;
  int64_t zero = 0;
  DType type = DType::u8;
  static constexpr std::tuple schema{attr("scale", &Quantize::scale, "step from one level to the next").required(),
                                     attr("zero", &Quantize::zero, "zero point").between(-128, 255),
                                     attr("type", &Quantize::type, "element type of the levels: u8 or i8")};
};
struct Dequantize {
  double scale = 1;
  int64_t zero = 0;
  static constexpr std::tuple schema{attr("scale", &Dequantize::scale, "step from one level to the next").required(),
                                     attr("zero", &Dequantize::zero, "zero point").between(-128, 255)};
};

bool is_byte(DType type) { return type == DType::u8 || type == DType::i8; }

void quantize_infer(Infer& ctx, const Quantize& a) {
  if (ctx.type(0) != DType::f32) fail("expected f32, got ", ctx.type(0));
  if (!is_byte(a.type)) fail("expected u8 or i8 as 'type', got ", a.type);
  if (!(a.scale > 0) || !std::isfinite(a.scale)) fail("expected a positive 'scale', got ", a.scale);
  ctx.output(0, a.type, ctx.shape(0));
}
void quantize_run(Run& ctx, const Quantize& a) {
  auto scale = static_cast<float>(a.scale), zero = static_cast<float>(a.zero);
  auto low = a.type == DType::u8 ? 0.0f : -128.0f;
  std::vector<double> all = ctx.input(0).to<double>();
  for (double& v : all) {
    float level = std::nearbyint(static_cast<float>(v) / scale) + zero;
    v = std::isnan(level) ? low : std::clamp(level, low, low + 255);
  }
  ctx.output(0).assign(all);
}

void dequantize_infer(Infer& ctx, const Dequantize& a) {
  if (!is_byte(ctx.type(0))) fail("expected u8 or i8, got ", ctx.type(0));
  if (!std::isfinite(a.scale)) fail("expected a finite 'scale', got ", a.scale);
  ctx.output(0, DType::f32, ctx.shape(0));
}
void dequantize_run(Run& ctx, const Dequantize& a) {
  std::vector<double> all = ctx.input(0).to<double>();
  auto scale = static_cast<float>(a.scale);
  for (double& v : all) v = (static_cast<float>(v) - static_cast<float>(a.zero)) * scale;
  ctx.output(0).assign(all);
}

void quantized_infer(Infer& ctx, const QuantizedConvolution& a) {
  if (ctx.type(0) != DType::u8 || ctx.type(1) != DType::i8)
    fail("expected data u8 and weights i8, got ", ctx.type(0), " and ", ctx.type(1));
  for (double v : {a.level_factor, a.level_low, a.level_high, a.level_step, a.sum_zero, a.sum_scale, a.factor})
    if (!std::isfinite(v)) fail("expected finite factors, levels and sums, got ", v);
  if (std::isnan(a.low) || std::isnan(a.high)) fail("expected numbers as bounds, got ", a.low, " and ", a.high);
  Shape y = convolution_shape(ctx, a, a.grouped);
  for (size_t port : {size_t{2}, size_t{3}}) {
    if (!ctx.has_input(port)) continue;
    if (ctx.type(port) != DType::f32) fail("expected scales and a bias of f32, got ", ctx.type(port));
    if (!y.ranked()) continue;
    Shape s = ctx.shape(port);
    if (s.ranked() && s.rank() != 1) fail("expected scales and a bias with one value per channel, got shape ", s);
    if (s.ranked()) agree(s[0], y[1], port == 2 ? "scales" : "values of the bias", "to match the output channels");
  }
  if (ctx.has_input(4)) {
    if (ctx.type(4) != DType::u8 && ctx.type(4) != DType::f32) fail("expected a sum u8 or f32, got ", ctx.type(4));
    y = merge(y, ctx.shape(4));
  }
  if (ctx.has_input(5)) {
    Shape one = ctx.shape(5);
    if (ctx.type(5) != DType::u8 || (one.is_static() && one.elements().value() != 1))
      fail("expected the zero point as one u8, got ", ctx.type(5), one);
  }
  ctx.output(0, a.factor > 0 ? DType::u8 : DType::f32, y);
}

void quantized_run(Run& ctx, const QuantizedConvolution& a) {
  TensorView x = ctx.input(0), w = ctx.input(1);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  ConvolutionPlan plan = convolution_plan(x.dims(), w.dims(), y.dims(), a, a.grouped);
  std::vector<double> data = x.to<double>();
  double zero = ctx.has_input(5) ? ctx.input(5).to<double>().at(0) : static_cast<double>(a.data_zero);
  for (double& v : data) v -= zero;
  std::vector<double> values = convolve<false>(plan, data, w.to<double>());
  int64_t channels = y.dim(1), plane = y.size() / (y.dim(0) * channels);
  std::vector<double> scale = ctx.input(2).to<double>(), bias, sum;
  if (ctx.has_input(3)) bias = ctx.input(3).to<double>();
  if (ctx.has_input(4)) sum = ctx.input(4).to<double>();
  for (size_t i = 0; i < values.size(); ++i) {
    size_t channel = i / static_cast<size_t>(plane) % static_cast<size_t>(channels);
    float start = bias.empty() ? 0.0f : static_cast<float>(bias[channel]);
    float v = std::fma(static_cast<float>(values[i]), static_cast<float>(scale[channel]), start);
    values[i] = quantized_epilogue(a, v, sum.empty() ? std::nullopt : std::optional(static_cast<float>(sum[i])));
  }
  y.assign(values);
}

}  // namespace

Definitions define_internal_quantized() {
  return {op<Quantize>("Quantize", "graft")
              .doc("Bytes: the nearest level, halves to the even one, within the range of the type")
              .traits(Trait::rounds)
              .inputs("data")
              .infer(quantize_infer)
              .linear()
              .reference(quantize_run),
          op<Dequantize>("Dequantize", "graft")
              .doc("Numbers from bytes: (level - zero) * scale")
              .inputs("data")
              .infer(dequantize_infer)
              .linear()
              .reference(dequantize_run),
          op<QuantizedConvolution>("QuantizedConvolution", "graft")
              .doc("Convolution of bytes, times scales [O], plus a bias [O] and a tensor, as f32 or bytes")
              .inputs("data, weights, scales, bias?, sum?, zero?")
              .infer(quantized_infer)
              .reference(quantized_run)};
}

}  // namespace graft
