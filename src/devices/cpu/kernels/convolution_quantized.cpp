// Convolution of bytes with the channels last, with scales, bias, sum, bounds and rounding.
//
// Padding has the zero point, and what that contributes is subtracted at the start.
#include "pieces.hpp"
#include "quantized.hpp"

namespace graft {
namespace {

constexpr int64_t cache_line = 64, unit = quantized_unit;

struct QuantizedState : WindowWalk {
  const QuantizedWeights* weights = nullptr;
  int64_t run = 0;         // in units
  int64_t copy_bytes = 0;  // of an image, if all of them are copied at the start and not by each item
  uint8_t zero = 0;
  std::vector<int32_t> start;      // what the zero point contributes, by column of a panel
  std::vector<float> scale, bias;  // by column of a panel
  QuantizedNumbers end;
};

// By lines if there are many positions, then by output channels if there are few lines. Items are equal where possible,
// so that a few threads take the same number of them.
void quantized_divide(QuantizedState& s, int threads) {
  const int64_t enough = enough_pieces(threads, 16, 4);
  constexpr int64_t few_positions = 512;
  constexpr double least_work = 1 << 21;  // multiplications
  int64_t lines = s.lines * s.batch;
  constexpr int64_t tile = 14;  // fewer positions wait for the weights
  double per_line = std::max(1.0, static_cast<double>(std::max(s.count, tile) * s.weights->depth * s.outputs));
  s.lines_per_item = s.lines;
  if (lines * s.count > few_positions) {
    int64_t least_lines = static_cast<int64_t>(std::min(least_work / per_line, static_cast<double>(s.lines)));
    s.lines_per_item = std::clamp((lines + enough - 1) / enough, std::max<int64_t>(1, least_lines), s.lines);
  }
  int64_t blocks = s.batch * s.line_items() * s.weights->groups, panels = s.weights->panels;
  double per_panel = per_line * static_cast<double>(s.lines_per_item) / static_cast<double>(panels * s.weights->groups);
  int64_t least_panels = static_cast<int64_t>(std::min(least_work / per_panel, static_cast<double>(panels)));
  s.panels_per_item = std::clamp(panels / std::max<int64_t>(1, enough / std::max<int64_t>(1, blocks)),
                                 std::max<int64_t>(1, least_panels), panels);
}

// Whether the results are bytes that need no factor. Packing with saturation takes i32, so nothing may leave its range.
bool gives_levels(const QuantizedState& s) {
  const QuantizedNumbers& e = s.end;
  bool rounds = e.level_factor != 0;
  if (e.factor != 1 || (rounds && e.level_factor != 1) || e.sum_zero != std::floor(e.sum_zero)) return false;
  constexpr double enough = 1 << 30, largest_product = 255 * 128;
  double most = 0, sum = 256 * std::abs(e.sum_scale) + std::abs(e.sum_zero * e.sum_scale);
  for (size_t i = 0; i < s.scale.size(); ++i) {
    double product = static_cast<double>(s.weights->depth) * largest_product * std::abs(s.scale[i]);
    most = std::max(most, product + std::abs(s.bias[i]));
  }
  if (rounds) most = std::max(std::abs(e.level_low), std::abs(e.level_high)) * std::abs(e.level_step);
  return most + sum < enough;
}

// The values of a constant with one number per channel, in the order of the columns.
std::vector<float> by_column(Prepare& ctx, size_t port, const QuantizedWeights& w) {
  int64_t nr = quantized_panel();
  std::vector<float> out(static_cast<size_t>(w.groups * w.panels * nr), 0.0f);
  if (!ctx.has_input(port)) return out;
  TensorView t = ctx.constant(port);
  if (!t) unsupported("requires constant scales and bias");
  const float* from = t.data<float>();
  for (int64_t g = 0; g < w.groups; ++g)
    std::copy(from + g * w.outputs, from + (g + 1) * w.outputs, out.begin() + g * w.panels * nr);
  return out;
}

QuantizedState quantized_prepare(Prepare& ctx, const QuantizedConvolution& a) {
  QuantizedState s;
  ConvolutionSizes sizes = convolution_sizes(ctx, a);
  s.weights = &ctx.packed<QuantizedWeights>();
  if (!s.weights->packed) unsupported("requires weights that are stored in the model");
  s.panels = s.weights;
  if (a.data_zero < 0 || a.data_zero > 255) unsupported("expected a zero point from 0 to 255, got ", a.data_zero);
  s.zero = static_cast<uint8_t>(a.data_zero);
  s.end = quantized_numbers(a);
  s.scale = by_column(ctx, 2, *s.weights), s.bias = by_column(ctx, 3, *s.weights);
  bool known_end = ctx.has_input(4) ? ctx.type(4) == DType::u8 : a.level_factor == 0;
  s.end.levels = known_end && gives_levels(s);
  for (int32_t sum : s.weights->sums) s.start.push_back(-sum * static_cast<int32_t>(a.data_zero));
  const WindowAxis &ay = sizes.axes[1], &ax = sizes.axes[2];
  int64_t channels = sizes.inputs * sizes.groups;
  constexpr int64_t competing = 4096, gap = 64;  // bytes: positions this far apart compete for lines of the cache
  bool uneven = channels % unit != 0, apart = !uneven && ax.stride * channels % competing == 0;
  // If the channels are uneven, the end of the last run is read.
  bool copied = reaches_over(ay) || reaches_over(ax) || uneven || apart;
  prepare_walk(s, sizes, copied, apart ? gap : 0, 14 * 14);  // pieces of whole tiles
  bool joined = s.weights->rows && !apart;
  s.run = (joined ? s.weights->run : whole_quantized_units(s.weights->inputs)) / unit;
  quantized_divide(s, ctx.threads());
  if (s.copied && s.panel_items() * s.weights->groups > 1) {
    s.copy_bytes = s.pointwise ? s.positions * s.pitch : copy_size(s, s.lines);
    ctx.scratch(static_cast<size_t>(s.batch * s.copy_bytes + unit));
  }
  set_offsets(s, joined);
  return s;
}

struct QuantizedCall {
  const uint8_t* x;
  const uint8_t* copies;  // of all images, or null
  const int32_t* start;
  uint8_t zero;
  QuantizedPlaces at;
};

// The weights of an item begin here.
const int8_t* item_weights(const QuantizedState& s, const WindowItem& i) {
  const QuantizedWeights& w = *s.weights;
  return w.packed.get() + (i.group * w.panels + i.panel) * quantized_panel() * w.depth;
}

// `next`: the weights that this thread probably needs after the item.
void quantized_item(const QuantizedState& s, const QuantizedCall& c, const WindowItem& i, const int8_t* next) {
  static const QuantizedLine run = quantized_line();
  const QuantizedWeights& w = *s.weights;
  int64_t nr = quantized_panel(), step = line_step(s);
  const uint8_t* x =
      c.copies ? c.copies + i.image * s.copy_bytes + i.first * step : item_input<true>(s, c.x, i, c.zero);
  for (int64_t p = i.panel; p < i.panels_end; ++p) {
    int64_t channel = i.group * w.outputs + p * nr, column = (i.group * w.panels + p) * nr;
    QuantizedJob job{};
    job.x_step = s.x_step(), job.y_step = s.outputs, job.columns = std::min(nr, w.outputs - p * nr);
    job.offsets = s.offsets.data(), job.runs = static_cast<int64_t>(s.offsets.size()), job.run = s.run;
    job.w = w.packed.get() + column * w.depth, job.start = c.start + column;
    job.scale = s.scale.data() + column, job.bias = s.bias.data() + column, job.end = &s.end;
    for (int64_t l = 0; l < i.lines; ++l) {
      int64_t at = s.position(i, l);
      job.count = std::min(s.count, s.positions - at);
      job.x = x + l * step + i.group * w.inputs;
      job.next = (p + 1 < i.panels_end ? job.w + w.depth * nr : next) + l % 2 * cache_line;
      job.at = c.at.from(at * s.outputs + channel);
      run(job);
    }
  }
}

void quantized_run(Run& ctx, const QuantizedConvolution&, const QuantizedState& s) {
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  QuantizedCall call{ctx.input(0).channels_last<const uint8_t>(), nullptr, s.start.data(), s.zero, {}};
  if (ctx.has_input(5)) {
    thread_local std::vector<int32_t> start;  // allocated once
    call.zero = ctx.input(5).data<const uint8_t>()[0];
    start.assign(s.weights->sums.begin(), s.weights->sums.end());
    for (int32_t& v : start) v *= -static_cast<int32_t>(call.zero);
    call.start = start.data();
  }
  if (y.type() == DType::u8) call.at.y8 = y.channels_last<uint8_t>();
  else call.at.y = y.channels_last<float>();
  if (ctx.has_input(4)) {
    TensorView sum = ctx.input(4);
    if (sum.type() == DType::u8) call.at.sum8 = sum.channels_last<const uint8_t>();
    else call.at.sum = sum.channels_last<const float>();
  }
  if (s.copy_bytes > 0) {
    auto* copies = static_cast<uint8_t*>(ctx.scratch());
    ctx.parallel_for(s.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        copy_lines<true>(s, call.x, i, 0, s.lines, call.zero, copies + i * s.copy_bytes);
    });
    call.copies = copies;
  }
  int64_t items = s.items();
  ctx.parallel_for(items, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t next = i + 1;  // a thread's next piece mostly begins where this one ends
      quantized_item(s, call, s.item(i), item_weights(s, s.item(next < items ? next : i)));
    }
  });
}

void quantized_accept(Accept& ctx) {
  if (!ctx.shape(0).is_static() || !ctx.shape(1).is_static() || !ctx.output(0).shape.is_static())
    unsupported("requires static shapes");
  if (!ctx.is_constant(1)) unsupported("requires constant weights");
  if (ctx.shape(0).rank() > 4) unsupported("expected at most two spatial axes, got ", ctx.shape(0));
  if (ctx.attr<bool>("grouped") && ctx.shape(1)[2].value() % unit != 0)
    unsupported("expected groups of a multiple of ", unit, " input channels, got ", ctx.shape(1));
}

}  // namespace

Definitions quantized_convolution() {
  constexpr Layout last = Layout::channels_last, plain = Layout::plain;
  return Kernel("CPU", "direct_u8")
      .of("QuantizedConvolution", "graft")
      .accept(quantized_accept)
      .layouts({{{last, plain, plain, plain, last, plain}, {last}}})
      .pack(quantized_pack)
      .run(quantized_prepare, quantized_run);
}

}  // namespace graft
