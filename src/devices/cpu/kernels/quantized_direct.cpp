// Convolution of bytes with the channels last, with scales, bias, sum, bounds and rounding.
//
// Padding has the level of zero, and what that level contributes is subtracted at the start.
#include "pieces.hpp"
#include "quantized.hpp"

namespace graft {
namespace {

constexpr int64_t cache_line = 64, unit = quantized_unit;

struct QuantizedState {
  const QuantizedWeights* weights = nullptr;
  WindowAxes axes;
  int64_t batch = 0, channels = 0, outputs = 0;  // of all groups
  std::vector<int64_t> offsets;
  int64_t run = 0;               // in units
  bool copied = false;           // rows are copied, with their padding: by each item, or all of them at the start
  int64_t copy_bytes = 0;        // of an image that is copied at the start
  int64_t width = 0;             // of a row, in positions
  int64_t pitch = 0;             // bytes from one position to the next
  bool pointwise = false;        // the images are one long row, and a line is a piece of it
  int64_t lines = 0, count = 0;  // lines of the output in an image, positions in a line
  int64_t positions = 0;         // in all images
  int64_t lines_per_item = 1, panels_per_item = 1;
  uint8_t zero = 0;
  std::vector<int32_t> start;      // what the level of zero contributes, by column of a panel
  std::vector<float> scale, bias;  // by column of a panel
  QuantizedNumbers end;

  int64_t input_rows(int64_t n) const {  // of n lines
    return (n - 1) * axes[1].stride + (axes[1].kernel - 1) * axes[1].dilation + 1;
  }
  int64_t line_items() const { return (lines + lines_per_item - 1) / lines_per_item; }
  int64_t panel_items() const { return (weights->panels + panels_per_item - 1) / panels_per_item; }
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
  s.axes = sizes.axes;
  s.batch = sizes.batch, s.channels = sizes.inputs * sizes.groups, s.outputs = sizes.outputs * sizes.groups;
  if (a.data_zero < 0 || a.data_zero > 255) unsupported("expected a level of zero from 0 to 255, got ", a.data_zero);
  s.zero = static_cast<uint8_t>(a.data_zero);
  s.end = quantized_numbers(a);
  s.scale = by_column(ctx, 2, *s.weights), s.bias = by_column(ctx, 3, *s.weights);
  bool known_end = ctx.has_input(4) ? ctx.type(4) == DType::u8 : a.level_factor == 0;
  s.end.levels = known_end && gives_levels(s);
  for (int32_t sum : s.weights->sums) s.start.push_back(-sum * static_cast<int32_t>(a.data_zero));
  const WindowAxis &ay = s.axes[1], &ax = s.axes[2];
  bool padded = false;
  s.pointwise = true;
  for (const WindowAxis* w : {&ay, &ax}) {
    padded |= w->begin > 0 || (w->output - 1) * w->stride + w->offset(w->kernel - 1) >= w->input;
    s.pointwise &= w->kernel == 1 && w->stride == 1 && w->input == w->output && w->begin == 0;
  }
  constexpr int64_t competing = 4096, apart = 64;  // bytes: positions this far apart compete for lines of the cache
  bool uneven = s.channels % unit != 0, collides = !uneven && ax.stride * s.channels % competing == 0;
  s.copied = padded || uneven || collides;  // the end of the last run is read
  s.pitch = s.channels + (collides ? apart : 0);
  s.width = s.copied ? (ax.output - 1) * ax.stride + (ax.kernel - 1) * ax.dilation + 1 : ax.input;
  bool joined = s.weights->rows && !collides;
  s.run = (joined ? s.weights->run : whole_quantized_units(s.weights->inputs)) / unit;
  s.lines = ay.output, s.count = ax.output;
  s.positions = s.batch * s.lines * s.count;
  if (s.pointwise) {
    constexpr int64_t piece = 14 * 14;  // whole tiles
    s.batch = 1;
    s.lines = (s.positions + piece - 1) / piece;
    s.count = std::min(piece, s.positions);
  }
  quantized_divide(s, ctx.threads());
  if (s.copied && s.panel_items() * s.weights->groups > 1) {
    s.copy_bytes = (s.pointwise ? s.positions : s.input_rows(s.lines) * s.width) * s.pitch;
    ctx.scratch(static_cast<size_t>(s.batch * s.copy_bytes + unit));
  }
  for (int64_t y = 0; y < ay.kernel; ++y)
    for (int64_t x = 0; x < (joined ? 1 : ax.kernel); ++x)
      s.offsets.push_back((y * ay.dilation * s.width + x * ax.dilation) * s.pitch);
  return s;
}

// Copies `n` positions.
uint8_t* copy_levels(const QuantizedState& s, const uint8_t* from, int64_t n, uint8_t* to) {
  if (s.pitch == s.channels) return std::copy(from, from + n * s.channels, to);
  for (int64_t i = 0; i < n; ++i, to += s.pitch, from += s.channels) std::copy(from, from + s.channels, to);
  return to;
}

struct QuantizedCall {
  const uint8_t* x;
  const uint8_t* copies;  // of all images, or null
  const int32_t* start;
  uint8_t zero;
  QuantizedPlaces at;
};

// Copies the input of some lines: its positions, or its rows with the padding around them.
void copy_lines(const QuantizedState& s, const QuantizedCall& c, int64_t image, int64_t first, int64_t lines,
                uint8_t* to) {
  const WindowAxis &ay = s.axes[1], &ax = s.axes[2];
  if (s.pointwise) {
    int64_t at = first * s.count;
    copy_levels(s, c.x + at * s.channels, std::min(lines * s.count, s.positions - at), to);
    return;
  }
  int64_t bytes = s.width * s.pitch;
  int64_t before = std::clamp<int64_t>(ax.begin, 0, s.width), skipped = std::max<int64_t>(-ax.begin, 0);
  int64_t n = std::clamp<int64_t>(ax.input - skipped, 0, s.width - before);
  for (int64_t r = 0; r < s.input_rows(lines); ++r, to += bytes) {
    int64_t y = first * ay.stride - ay.begin + r;
    bool inside = y >= 0 && y < ay.input;
    std::fill(to, to + (inside ? before : s.width) * s.pitch, c.zero);
    if (!inside) continue;
    const uint8_t* from = c.x + ((image * ay.input + y) * ax.input + skipped) * s.channels;
    uint8_t* end = copy_levels(s, from, n, to + before * s.pitch);
    std::fill(end, to + bytes, c.zero);
  }
}

// The input of the first line of an item, and the bytes from one line to the next.
std::pair<const uint8_t*, int64_t> level_lines(const QuantizedState& s, const QuantizedCall& c, int64_t image,
                                               int64_t first, int64_t lines) {
  const WindowAxis &ay = s.axes[1], &ax = s.axes[2];
  int64_t step = s.pointwise ? s.count * s.pitch : ay.stride * s.width * s.pitch;
  if (c.copies) return {c.copies + image * s.copy_bytes + first * step, step};
  if (s.copied) {
    int64_t bytes = (s.pointwise ? lines * s.count : s.input_rows(lines) * s.width) * s.pitch;
    auto* to = reinterpret_cast<uint8_t*>(thread_floats(static_cast<size_t>(bytes / unit + 2)));
    copy_lines(s, c, image, first, lines, to);
    return {to, step};
  }
  if (s.pointwise) return {c.x + first * step, step};
  return {c.x + (((image * ay.input + first * ay.stride) - ay.begin) * ax.input - ax.begin) * s.channels, step};
}

// The weights of an item begin here.
const int8_t* item_weights(const QuantizedState& s, int64_t item) {
  const QuantizedWeights& w = *s.weights;
  int64_t panel = item % s.panel_items() * s.panels_per_item, group = item / s.panel_items() % w.groups;
  return w.packed.get() + (group * w.panels + panel) * quantized_panel() * w.depth;
}

// `next`: the weights that this thread probably needs after the item.
void quantized_item(const QuantizedState& s, const QuantizedCall& c, int64_t item, const int8_t* next) {
  static const QuantizedLine run = quantized_line();
  const QuantizedWeights& w = *s.weights;
  int64_t panel = item % s.panel_items() * s.panels_per_item, group = item / s.panel_items() % w.groups;
  int64_t block = item / s.panel_items() / w.groups, image = block / s.line_items();
  int64_t first = block % s.line_items() * s.lines_per_item, lines = std::min(s.lines_per_item, s.lines - first);
  int64_t nr = quantized_panel();
  auto [x, x_line] = level_lines(s, c, image, first, lines);
  int64_t panels_end = std::min(panel + s.panels_per_item, w.panels);
  for (int64_t p = panel; p < panels_end; ++p) {
    int64_t channel = group * w.outputs + p * nr, column = (group * w.panels + p) * nr;
    QuantizedJob job{nullptr,
                     s.count,
                     s.axes[2].stride * s.pitch,
                     s.outputs,
                     s.offsets.data(),
                     static_cast<int64_t>(s.offsets.size()),
                     s.run,
                     w.packed.get() + column * w.depth,
                     nullptr,
                     std::min(nr, w.outputs - p * nr),
                     c.start + column,
                     s.scale.data() + column,
                     s.bias.data() + column,
                     {},
                     &s.end};
    for (int64_t l = 0; l < lines; ++l) {
      int64_t at = (image * s.lines + first + l) * s.count;
      job.count = std::min(s.count, s.positions - at);
      job.x = x + l * x_line + group * w.inputs;
      job.next = (p + 1 < panels_end ? job.w + w.depth * nr : next) + l % 2 * cache_line;
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
      for (int64_t i = begin; i < end; ++i) copy_lines(s, call, i, 0, s.lines, copies + i * s.copy_bytes);
    });
    call.copies = copies;
  }
  int64_t items = s.batch * s.line_items() * s.weights->groups * s.panel_items();
  ctx.parallel_for(items, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t next = i + 1;  // a thread's next piece mostly begins where this one ends
      quantized_item(s, call, i, item_weights(s, next < items ? next : i));
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

Definitions cpu_quantized_direct() {
  constexpr Layout last = Layout::channels_last, plain = Layout::plain;
  return Kernel("CPU", "direct_u8")
      .of("QuantizedConvolution", "graft")
      .accept(quantized_accept)
      .layouts({{{last, plain, plain, plain, last, plain}, {last}}})
      .pack(quantized_pack)
      .run(quantized_prepare, quantized_run);
}

}  // namespace graft
