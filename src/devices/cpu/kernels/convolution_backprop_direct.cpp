// ConvolutionBackpropData and GroupConvolutionBackpropData of tensors with the channels last.
//
// With a stride of s, the results s apart have the same taps of the window under them: a phase. Each phase is an
// ordinary convolution with stride 1 and these taps only, so the tile of the direct convolution computes it, and writes
// its results where they belong. Nothing is computed that is not a result, and nothing is added up in memory. Only
// images with padding are copied. Weights are packed once, phase by phase.
#include "convolution_backprop.hpp"
#include "convolution_direct.hpp"
#include "inside.hpp"
#include "pieces.hpp"

namespace graft {
namespace {

// The taps of one axis in classes with the same remainder of their distance by the stride, from the last to the first:
// in this order they touch ascending input elements.
std::vector<std::vector<int64_t>> tap_classes(int64_t kernel, int64_t stride, int64_t dilation) {
  std::vector<std::vector<int64_t>> out(static_cast<size_t>(stride));
  for (int64_t t = kernel; t-- > 0;) out[static_cast<size_t>(t * dilation % stride)].push_back(t);
  return out;
}

// [group][panel][class y][class x][tap y][tap x][input][column of the panel]
struct PhaseWeights {
  Floats packed;
  Floats odd = {};  // as they are, if not all are finite
};

// The place of each tap in a panel.
std::vector<int64_t> tap_places(const WindowAxis& ay, const WindowAxis& ax) {
  std::vector<int64_t> out(static_cast<size_t>(ay.kernel * ax.kernel));
  int64_t place = 0;
  for (const auto& ys : tap_classes(ay.kernel, ay.stride, ay.dilation))
    for (const auto& xs : tap_classes(ax.kernel, ax.stride, ax.dilation))
      for (int64_t y : ys)
        for (int64_t x : xs) out[static_cast<size_t>(y * ax.kernel + x)] = place++;
  return out;
}

// The window alone: all that is known of the axes without shapes.
std::pair<WindowAxis, WindowAxis> window_of(std::span<const int64_t> kernel, const WindowAttributes& attributes) {
  WindowAttributes a = complete_windows<WindowAttributes>(attributes, kernel.size());
  auto axis = [&](size_t i) { return WindowAxis{1, 1, kernel[i], a.strides[i], a.dilations[i], 0, false}; };
  size_t n = kernel.size();
  return {n == 2 ? axis(0) : WindowAxis{}, axis(n - 1)};
}

template <size_t leading>
PhaseWeights phase_pack(Pack& ctx) {
  TensorView w = ctx.take(1);
  if (!w) return {};
  auto [ay, ax] = window_of(w.dims().subspan(leading), ctx.attributes<BackpropAttributes>());
  int64_t groups = leading == 3 ? w.dim(0) : 1, inputs = w.dim(leading - 2), outputs = w.dim(leading - 1);
  int64_t nr = direct().panel, panels = (outputs + nr - 1) / nr, taps = ay.kernel * ax.kernel;
  std::vector<int64_t> places = tap_places(ay, ax);
  auto size = static_cast<size_t>(groups * panels * taps * inputs * nr);
  PhaseWeights out{allocate_floats(size), not_finite(w)};
  std::fill_n(out.packed.get(), size, 0.0f);
  const float* from = w.data<float>();
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t i = 0; i < inputs; ++i)
      for (int64_t o = 0; o < outputs; ++o) {
        float* to = out.packed.get() + ((g * panels + o / nr) * taps * inputs + i) * nr + o % nr;
        for (int64_t t = 0; t < taps; ++t) to[places[static_cast<size_t>(t)] * inputs * nr] = *from++;
      }
  return out;
}

// One axis of a phase: results `first`, `first` + stride, ... Result q is the sum over the taps of input element
// q + at[tap].
struct PhaseAxis {
  int64_t first = 0, count = 0;
  std::vector<int64_t> at;  // ascending
  size_t tap_class = 0;
};

std::vector<PhaseAxis> phases_of(const WindowAxis& w) {
  std::vector<PhaseAxis> out;
  auto classes = tap_classes(w.kernel, w.stride, w.dilation);
  for (int64_t r = 0; r < std::min(w.stride, w.input); ++r) {
    int64_t from = r + w.begin, rest = from % w.stride;
    PhaseAxis p{r, (w.input - r + w.stride - 1) / w.stride, {}, static_cast<size_t>(rest < 0 ? rest + w.stride : rest)};
    for (int64_t t : classes[p.tap_class]) p.at.push_back((from - t * w.dilation) / w.stride);
    out.push_back(std::move(p));
  }
  return out;
}

// What the phases of an axis touch beyond the ends of the input.
struct Surround {
  int64_t before = 0, after = 0;
  Surround(const std::vector<PhaseAxis>& phases, int64_t input) {
    for (const PhaseAxis& p : phases) {
      if (p.at.empty()) continue;
      before = std::max(before, -p.at.front());
      after = std::max(after, p.count + p.at.back() - input);
    }
  }
};

struct Phase {
  const PhaseAxis *y, *x;
  int64_t weights = 0;           // where its weights begin in a panel
  std::vector<int64_t> offsets;  // of the runs under the window, row by row
  int64_t row_runs = 0, run = 0;
};

struct PhaseState : BackpropSizes {
  const PhaseWeights* weights = nullptr;
  std::vector<PhaseAxis> ys, xs;
  std::vector<Phase> phases;
  bool copied = false;            // into scratch memory, with the padding of the rows
  int64_t before = 0, width = 0;  // positions of padding before a row, and of a row with its padding
  int64_t pitch = 0;              // elements from one position to the next
  int64_t lines = 0, lines_per_item = 1;
  int64_t panels = 0, panels_per_item = 1, grain = 1;

  int64_t channels() const { return groups * inputs; }
  int64_t line_items() const { return (lines + lines_per_item - 1) / lines_per_item; }
  int64_t panel_items() const { return (panels + panels_per_item - 1) / panels_per_item; }
  int64_t panel_size() const { return taps() * inputs * direct().panel; }
};

void phase_accept(Accept& ctx) {
  backprop_accept(ctx);
  if (!ctx.is_constant(1)) unsupported("requires constant weights");
  if (backprop_axes(ctx) > 2) unsupported("expected one or two spatial axes, got ", backprop_axes(ctx));
  BackpropSizes s = backprop_sizes(ctx, ctx.attributes<BackpropAttributes>());
  const WindowAxis &ay = s.axes[1], &ax = s.axes[2];
  if (count_of(ctx.shape(0).values()) == 0 || count_of(ctx.output(0).shape.values()) == 0)
    unsupported("expected elements");
  // With fewer, most columns of a panel would be padding.
  int64_t least = direct().panel / 4;
  if (s.outputs < least) unsupported("expected at least ", least, " output channels per group, got ", s.outputs);
  constexpr int64_t most = 8;  // with larger strides there are too many phases
  if (ay.stride > most || ax.stride > most) unsupported("expected strides of at most ", most);
  Surround rim(phases_of(ax), ax.output);
  if (rim.before + rim.after > ax.output + 32) unsupported("expected less padding than input");
}

void divide(PhaseState& s, int threads) {
  constexpr int64_t cached = 1 << 16;     // elements of an item's input
  constexpr double least_work = 1 << 18;  // multiplications
  const int64_t enough = enough_pieces(threads, 16, 4);
  s.lines_per_item = std::clamp<int64_t>(cached / (s.width * s.pitch), 1, s.lines);
  int64_t items = s.batch * s.groups * s.line_items();
  s.panels_per_item = std::clamp<int64_t>(s.panels * items / enough, 1, s.panels);
  double work = static_cast<double>(s.lines_per_item * s.panels_per_item) *
                static_cast<double>(s.axes[2].output * s.panel_size());
  s.grain = std::max<int64_t>(1, static_cast<int64_t>(least_work / work));
}

// Positions that are a multiple of this many elements apart compete for the same lines of the cache.
bool collides(int64_t step) { return step % 512 == 0; }

Phase phase_at(const PhaseState& s, const PhaseAxis& y, const PhaseAxis& x) {
  Phase p{&y, &x, 0, {}, 0, s.inputs};
  auto columns = static_cast<int64_t>(x.at.size());
  // Taps of a row that touch consecutive positions are one run.
  bool joined = columns > 1 && s.pitch == s.inputs && x.at.back() - x.at.front() == columns - 1;
  if (joined) p.run *= columns;
  p.row_runs = joined ? 1 : columns;
  for (int64_t row : y.at)
    for (int64_t i = 0; i < p.row_runs; ++i)
      p.offsets.push_back((row * s.width + x.at[static_cast<size_t>(i)]) * s.pitch);
  return p;
}

PhaseState phase_prepare(Prepare& ctx, const BackpropAttributes& attributes) {
  PhaseState s{backprop_sizes(ctx, attributes)};
  const WindowAxis &ay = s.axes[1], &ax = s.axes[2];
  s.weights = &ctx.packed<PhaseWeights>();
  if (!s.weights->packed) unsupported("requires weights that are stored in the model");
  s.ys = phases_of(ay), s.xs = phases_of(ax);
  Surround rim(s.xs, ax.output);
  bool apart = collides(s.channels());
  s.copied = rim.before + rim.after > 0 || apart;
  s.before = rim.before, s.width = rim.before + ax.output + rim.after, s.pitch = s.channels() + (apart ? 16 : 0);
  if (s.copied) ctx.scratch(static_cast<size_t>(s.batch * ay.output * s.width * s.pitch) * sizeof(float));
  // Where the weights of each pair of classes begin.
  auto classes_y = tap_classes(ay.kernel, ay.stride, ay.dilation);
  auto classes_x = tap_classes(ax.kernel, ax.stride, ax.dilation);
  std::vector<int64_t> begin;
  int64_t taps = 0;
  for (const auto& y : classes_y)
    for (const auto& x : classes_x) begin.push_back(taps), taps += static_cast<int64_t>(y.size() * x.size());
  for (const PhaseAxis& y : s.ys)
    for (const PhaseAxis& x : s.xs) {
      Phase p = phase_at(s, y, x);
      p.weights = begin[y.tap_class * classes_x.size() + x.tap_class] * s.inputs * direct().panel;
      s.phases.push_back(std::move(p));
    }
  s.lines = s.ys.front().count;  // the first phase has most
  s.panels = (s.outputs + direct().panel - 1) / direct().panel;
  divide(s, ctx.threads());
  return s;
}

// Copies rows with their padding.
void copy_rows(const PhaseState& s, const float* x, int64_t begin, int64_t end, float* to) {
  int64_t n = s.axes[2].output, channels = s.channels(), row = s.width * s.pitch;
  for (int64_t r = begin; r < end; ++r) {
    const float* from = x + r * n * channels;
    float* line = to + r * row;
    float* at = std::fill_n(line, s.before * s.pitch, 0.0f);
    if (s.pitch == channels) at = std::copy_n(from, n * channels, at);
    else
      for (int64_t i = 0; i < n; ++i, at += s.pitch) std::copy_n(from + i * channels, channels, at);
    std::fill(at, line + row, 0.0f);
  }
}

// One line of a phase and panel: `job` has what its lines share.
void phase_line(const PhaseState& s, const Phase& p, int64_t q, const float* x, const float* w, float* y,
                DirectJob job) {
  const auto& at = p.y->at;
  // The rows of the window inside the input: others contribute nothing.
  auto first = std::lower_bound(at.begin(), at.end(), -q) - at.begin();
  auto last = std::lower_bound(at.begin(), at.end(), s.axes[1].output - q) - at.begin();
  job.offsets = p.offsets.data() + first * p.row_runs, job.runs = (last - first) * p.row_runs;
  job.w = w + p.weights + first * p.row_runs * p.run * direct().panel;
  job.x = x + q * s.width * s.pitch;
  job.y = y + ((p.y->first + q * s.axes[1].stride) * s.axes[2].input + p.x->first) * s.groups * s.outputs;
  direct().line(job);
}

// `x` is the first position of the first row, behind its padding.
void phase_item(const PhaseState& s, const float* x, int64_t item, float* y) {
  int64_t panel = item % s.panel_items() * s.panels_per_item, rest = item / s.panel_items();
  int64_t group = rest % s.groups, block = rest / s.groups;
  int64_t line = block % s.line_items() * s.lines_per_item, image = block / s.line_items();
  x += image * s.axes[1].output * s.width * s.pitch + group * s.inputs;
  y += image * input_plane(s.axes) * s.groups * s.outputs + group * s.outputs;
  const int64_t nr = direct().panel;
  const Epilogue any;
  for (int64_t p = panel; p < std::min(panel + s.panels_per_item, s.panels); ++p)
    for (const Phase& phase : s.phases) {
      DirectJob job{};
      job.count = phase.x->count, job.x_step = s.pitch, job.y_step = s.axes[2].stride * s.groups * s.outputs;
      job.run = phase.run, job.columns = std::min(nr, s.outputs - p * nr);
      job.low = any.low, job.high = any.high;
      const float* w = s.weights->packed.get() + (group * s.panels + p) * s.panel_size();
      for (int64_t q = line; q < std::min(line + s.lines_per_item, phase.y->count); ++q)
        phase_line(s, phase, q, x, w, y + p * nr, job);
    }
}

// Weights that are not all finite, with the taps inside the input only: see inside.hpp.
void phases_inside(Run& ctx, const PhaseState& s, const float* x, float* y) {
  const WindowAxis &ay = s.axes[1], &ax = s.axes[2];
  int64_t outputs = s.groups * s.outputs, channels = s.channels(), taps = s.taps();
  auto position = [](const WindowAxis& w, int64_t result, int64_t tap) {
    int64_t at = result - w.offset(tap);
    return at >= 0 && at % w.stride == 0 && at / w.stride < w.output ? at / w.stride : -1;
  };
  auto sum_at = [&](int64_t n, int64_t o, int64_t py, int64_t px) {
    double sum = 0;
    for (int64_t t = 0; t < taps; ++t) {
      int64_t row = position(ay, py, t / ax.kernel), column = position(ax, px, t % ax.kernel);
      if (row < 0 || column < 0) continue;
      const float* from = x + ((n * ay.output + row) * ax.output + column) * channels + o / s.outputs * s.inputs;
      const float* w = s.weights->odd.get() + (o / s.outputs * s.inputs * s.outputs + o % s.outputs) * taps + t;
      for (int64_t i = 0; i < s.inputs; ++i) sum += double{from[i]} * double{w[i * s.outputs * taps]};
    }
    return static_cast<float>(sum);
  };
  ctx.parallel_for(s.batch * input_plane(s.axes), 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p)
      for (int64_t o = 0; o < outputs; ++o)
        y[p * outputs + o] = sum_at(p / input_plane(s.axes), o, p / ax.input % ay.input, p % ax.input);
  });
}

void phase_run(Run& ctx, const BackpropAttributes&, const PhaseState& s) {
  const float* x = ctx.input(0).channels_last<const float>();
  float* y = ctx.output(0).channels_last<float>();
  if (s.weights->odd) return phases_inside(ctx, s, x, y);
  if (s.copied) {
    auto* to = static_cast<float*>(ctx.scratch());
    int64_t row = s.width * s.pitch;
    ctx.parallel_for(s.batch * s.axes[1].output, std::max<int64_t>(1, (1 << 15) / row),
                     [&](int64_t begin, int64_t end) { copy_rows(s, x, begin, end, to); });
    x = to + s.before * s.pitch;
  }
  int64_t items = s.batch * s.groups * s.line_items() * s.panel_items();
  ctx.parallel_for(items, s.grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) phase_item(s, x, i, y);
  });
}

}  // namespace

Definitions direct_backprop() {
  auto kernel = [](std::string_view type) {
    constexpr Layout last = Layout::channels_last;
    return Kernel("CPU", "direct_f32")
        .of(type, "opset1")
        .accept(phase_accept)
        .layouts({{{last, Layout::plain}, {last}}});
  };
  return {kernel("ConvolutionBackpropData").pack(phase_pack<2>).run(phase_prepare, phase_run),
          kernel("GroupConvolutionBackpropData").pack(phase_pack<3>).run(phase_prepare, phase_run)};
}

}  // namespace graft
