// Convolution of tensors with the channels last, with bias, sum and activation.
//
// A tile of results, some positions by two vectors of output channels, stays in registers while the taps and the input
// channels pass by: each step takes two vectors of weights and one input element per position. Neither operand is
// copied, since the channels of a position are next to each other; only images with padding are, a few rows at a time.
// Weights are packed once, in panels of two vectors.
#include "direct.hpp"

#include "inside.hpp"
#include "pieces.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "direct.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

#include "direct-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {

namespace {
void direct_line(const DirectJob& j) {
  if (j.columns == panel && j.next) line<2, true>(j, Full());
  else if (j.columns == panel) line<2, false>(j, Full());
  else if (j.columns > lanes) line<2, false>(j, Partial{j.columns});
  else line<1, false>(j, Partial{j.columns});
}
}  // namespace
Direct direct_functions() { return {direct_line, panel}; }

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {

HWY_EXPORT(direct_functions);

const Direct& direct() {
  static const Direct chosen = HWY_DYNAMIC_DISPATCH(direct_functions)();
  return chosen;
}

namespace {

int64_t panel_size() { return direct().panel; }

// Groups with fewer outputs than a vector has elements are combined; the weights between them are zero. What is not
// finite would spread through them to other groups: such results are computed again (compute_apart).
int64_t combined_groups(int64_t groups, int64_t outputs) {
  constexpr int64_t enough = 16;
  for (int64_t m = 1; m <= groups; ++m)
    if (groups % m == 0 && (m * outputs >= enough || m == groups)) return m;
  return 1;
}

// [group][panel][tap y][tap x][input][column of the panel]
struct DirectWeights {
  int64_t groups = 0, inputs = 0, outputs = 0, panels = 0, depth = 0;  // inputs and outputs per group
  int64_t combined = 1;                                                // groups of the layer in one
  Floats packed;
  Floats odd = {};  // as they are, if not all are finite
};

// From [group][output][input][tap]: a panel is transposed, and its rows of columns are put into the order of the taps.
void direct_pack_panels(const DirectWeights& w, int64_t taps, const float* from) {
  int64_t nr = panel_size();
  bool turns = taps > 1 && w.inputs > 1;
  Floats turned = allocate_floats(static_cast<size_t>(turns ? w.depth * nr : 0));
  for (int64_t p = 0; p < w.groups * w.panels; ++p) {
    int64_t first = p % w.panels * nr, columns = std::min(nr, w.outputs - first);
    const float* rows = from + (p / w.panels * w.outputs + first) * w.depth;
    float* to = w.packed.get() + p * w.depth * nr;
    gemm().pack_b({rows, 1, w.depth}, w.depth, columns, turns ? turned.get() : to);
    for (int64_t t = 0; t < taps && turns; ++t)
      for (int64_t i = 0; i < w.inputs; ++i, to += nr) std::copy_n(turned.get() + (i * taps + t) * nr, nr, to);
  }
}

// With few outputs a panel is mostly padding: no matter for small weights, but large ones would take many times the
// memory that they have in the model.
void direct_accept(Accept& ctx) {
  constexpr double large = 1 << 22, most = 4;  // elements, times as many
  fused_accept(ctx);
  ConvolutionSizes s = image_sizes(ctx, ctx.attributes<FusedAttributes>());
  int64_t m = combined_groups(s.groups, s.outputs), nr = panel_size();
  double depth = static_cast<double>(s.inputs) * static_cast<double>(s.axes[1].kernel * s.axes[2].kernel);
  double given = static_cast<double>(s.groups * s.outputs) * depth;
  double packed = static_cast<double>(s.groups * ((s.outputs * m + nr - 1) / nr) * nr) * depth;
  if (packed > large && packed > most * given)
    unsupported("too few outputs: packed weights would be ", static_cast<int64_t>(packed / std::max(given, 1.0)),
                " times as large");
}

DirectWeights direct_pack(Pack& ctx) {
  TensorView w = ctx.take(1);
  if (!w) return {};
  bool grouped = ctx.attr<bool>("grouped");
  size_t leading = grouped ? 3 : 2;
  int64_t groups = grouped ? w.dim(0) : 1, outputs = w.dim(leading - 2), inputs = w.dim(leading - 1);
  int64_t taps = w.size() == 0 ? 0 : w.size() / (groups * outputs * inputs), m = combined_groups(groups, outputs);
  int64_t nr = panel_size();
  DirectWeights out{groups / m, inputs * m, outputs * m, (outputs * m + nr - 1) / nr, taps * inputs * m, m, {}};
  auto size = static_cast<size_t>(out.groups * out.panels * out.depth * nr);
  out.packed = allocate_floats(size);
  out.odd = not_finite(w);
  if (m > 1) std::fill(out.packed.get(), out.packed.get() + size, 0.0f);
  const float* from = w.data<float>();
  if (m == 1) {
    direct_pack_panels(out, taps, from);
    return out;
  }
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t o = 0; o < outputs; ++o) {
      int64_t column = g % m * outputs + o;
      float* to =
          out.packed.get() + ((g / m * out.panels + column / nr) * out.depth + g % m * inputs) * nr + column % nr;
      for (int64_t i = 0; i < inputs; ++i)
        for (int64_t t = 0; t < taps; ++t) to[(t * out.inputs + i) * nr] = *from++;
    }
  return out;
}

struct DirectState {
  const DirectWeights* weights = nullptr;
  ConvolutionSizes sizes;
  WindowAxes axes;
  int64_t batch = 0, channels = 0, outputs = 0;  // of all groups
  std::vector<int64_t> offsets;
  int64_t run = 0;
  bool copied = false;           // rows are copied, with their padding
  int64_t tap_rows = 0;          // of the copy from one tap to the next below; rows in between are left out
  int64_t width = 0;             // of a row, in positions
  int64_t pitch = 0;             // elements from one position to the next
  bool pointwise = false;        // the images are one long row, and a line is a piece of it
  int64_t lines = 0, count = 0;  // lines of the output in an image, positions in a line
  int64_t positions = 0;         // in all images
  int64_t lines_per_item = 1, panels_per_item = 1;
  int64_t piece = 0;     // positions of a line that are computed together: their input stays in the cache
  bool fetched = false;  // every item reads weights that are not in the cache
  Finish finish;
  Bounds bounds;

  int64_t line_items() const { return (lines + lines_per_item - 1) / lines_per_item; }
  int64_t panel_items() const { return (weights->panels + panels_per_item - 1) / panels_per_item; }
};

// How the work is divided: by lines if there are many, otherwise by output channels, since every item reads the
// weights.
void divide(DirectState& s, int threads) {
  const int64_t enough = enough_pieces(threads, 16, 4);
  constexpr int64_t few_positions = 512;
  constexpr double least_work = 1 << 19;      // multiplications
  constexpr int64_t large_weights = 1 << 19;  // elements, not in the cache since the last inference
  double per_line = std::max(1.0, static_cast<double>(s.count * s.weights->depth * s.outputs));
  int64_t lines = s.lines * s.batch;
  if (lines * s.count > few_positions) {
    s.lines_per_item = std::max<int64_t>(1, lines / enough);
    s.lines_per_item = std::max(s.lines_per_item, static_cast<int64_t>(least_work / per_line));
    s.lines_per_item = std::min(s.lines_per_item, s.lines);
  } else {
    s.fetched = s.weights->depth * s.outputs >= large_weights;
    s.lines_per_item = s.lines;
    double per_panel = per_line * static_cast<double>(s.lines) / static_cast<double>(s.weights->panels);
    s.panels_per_item = std::max<int64_t>(1, s.weights->panels * s.batch * s.weights->groups / enough);
    s.panels_per_item = std::max(s.panels_per_item, static_cast<int64_t>(least_work / per_panel));
    s.panels_per_item = std::min(s.panels_per_item, s.weights->panels);
  }
}

// Positions that are a multiple of this many elements apart compete for the same lines of the cache.
bool collides(int64_t step) { return step % 512 == 0; }

DirectState direct_prepare(Prepare& ctx, const FusedAttributes& a) {
  DirectState s;
  ConvolutionSizes sizes = image_sizes(ctx, a);
  s.weights = &ctx.packed<DirectWeights>();
  if (!s.weights->packed) unsupported("requires weights that are stored in the model");
  s.sizes = sizes, s.axes = sizes.axes;
  s.batch = sizes.batch, s.channels = sizes.inputs * sizes.groups, s.outputs = sizes.outputs * sizes.groups;
  s.finish = finish_of(a);
  s.bounds = bounds_of(a);
  const WindowAxis &ay = s.axes[1], &ax = s.axes[2];
  s.pointwise = true;
  for (const WindowAxis* w : {&ay, &ax})
    s.pointwise &= w->kernel == 1 && w->stride == 1 && w->input == w->output && w->begin == 0;
  // Rows above and below the image are never read.
  bool padded = ax.begin > 0 || (ax.output - 1) * ax.stride + ax.offset(ax.kernel - 1) >= ax.input;
  s.copied = padded || collides(ax.stride * s.channels);
  s.pitch = s.channels + (collides(ax.stride * s.channels) ? 16 : 0);
  s.width = s.copied ? (ax.output - 1) * ax.stride + (ax.kernel - 1) * ax.dilation + 1 : ax.input;
  bool joined =
      ax.dilation == 1 && s.weights->groups == 1 && s.pitch == s.channels;  // the taps of a row are consecutive
  s.run = joined ? ax.kernel * s.channels : s.weights->inputs;
  s.lines = ay.output, s.count = ax.output;
  s.positions = s.batch * s.lines * s.count;
  if (s.pointwise) {
    constexpr int64_t piece = 14 * 8;
    s.batch = 1;
    s.lines = (s.positions + piece - 1) / piece;
    s.count = std::min(piece, s.positions);
  }
  divide(s, ctx.threads());
  constexpr int64_t cached = 1 << 16;  // elements
  s.piece = 14 * std::clamp<int64_t>(cached / std::max<int64_t>(1, s.weights->depth) / 14, 8, 16);
  if (s.fetched) s.piece = s.count;
  s.tap_rows = s.copied ? std::min(ay.dilation, (s.lines_per_item - 1) * ay.stride + 1) : ay.dilation;
  for (int64_t y = 0; y < ay.kernel; ++y)
    for (int64_t x = 0; x < (joined ? 1 : ax.kernel); ++x)
      s.offsets.push_back((y * s.tap_rows * s.width + x * ax.dilation) * s.pitch);
  return s;
}

// Copies `n` positions.
float* copy_positions(const DirectState& s, const float* from, int64_t n, float* to) {
  if (s.pitch == s.channels) return std::copy(from, from + n * s.channels, to);
  for (int64_t i = 0; i < n; ++i, to += s.pitch) std::copy(from + i * s.channels, from + (i + 1) * s.channels, to);
  return to;
}

// An input row with its padding.
void copy_row(const DirectState& s, const float* image, int64_t y, float* line) {
  const WindowAxis& ax = s.axes[2];
  int64_t before = std::clamp<int64_t>(ax.begin, 0, s.width), skipped = std::max<int64_t>(-ax.begin, 0);
  int64_t n = std::clamp<int64_t>(ax.input - skipped, 0, s.width - before);
  std::fill(line, line + before * s.pitch, 0.0f);
  float* end = copy_positions(s, image + (y * ax.input + skipped) * s.channels, n, line + before * s.pitch);
  std::fill(end, line + s.width * s.pitch, 0.0f);
}

// The input rows of some output rows. Those above and below the image are not read.
const float* copy_rows(const DirectState& s, const float* image, int64_t first, int64_t lines) {
  const WindowAxis& ay = s.axes[1];
  bool dense = s.tap_rows == ay.dilation;
  int64_t under = (lines - 1) * ay.stride + 1;  // rows under one tap
  int64_t parts = dense ? 1 : ay.kernel, rows = dense ? under + (ay.kernel - 1) * ay.dilation : under;
  float* to = thread_floats(static_cast<size_t>(((parts - 1) * s.tap_rows + rows) * s.width * s.pitch));
  for (int64_t t = 0; t < parts; ++t)
    for (int64_t r = 0; r < rows; ++r) {
      int64_t y = first * ay.stride - ay.begin + t * ay.dilation + r;
      if (y >= 0 && y < ay.input) copy_row(s, image, y, to + (t * s.tap_rows + r) * s.width * s.pitch);
    }
  return to;
}

// The input of the first line of an item, and the elements from one line to the next.
std::pair<const float*, int64_t> input_lines(const DirectState& s, const float* x, int64_t image, int64_t first,
                                             int64_t lines) {
  const WindowAxis &ay = s.axes[1], &ax = s.axes[2];
  if (s.pointwise) {
    const float* from = x + first * s.count * s.channels;
    if (!s.copied) return {from, s.count * s.channels};
    int64_t n = std::min(lines * s.count, s.positions - first * s.count);
    float* to = thread_floats(static_cast<size_t>(n * s.pitch));
    copy_positions(s, from, n, to);
    return {to, s.count * s.pitch};
  }
  x += image * ay.input * ax.input * s.channels;
  int64_t step = ay.stride * s.width * s.pitch;
  if (s.copied) return {copy_rows(s, x, first, lines), step};
  return {x + ((first * ay.stride - ay.begin) * ax.input - ax.begin) * s.channels, step};
}

struct DirectCall {
  const float *x, *bias, *sum;
  float* y;
  const FusedAttributes* attributes;
};

// The input of an item, which further items for the same lines use again: it may be a copy.
struct DirectInput {
  int64_t block = -1;
  const float* x = nullptr;
  int64_t line = 0;  // elements from one line to the next
};

// Some lines of an image, and the panels from `panel` on of a group.
struct DirectItem {
  int64_t image, first, lines, group, panel;
};

// Computes a job again, each of its columns from the inputs of its own group. `first` is the panel's first output.
void compute_apart(const DirectWeights& w, const FusedAttributes& a, const DirectJob& j, int64_t first) {
  int64_t nr = panel_size(), inputs = w.inputs / w.combined, outputs = w.outputs / w.combined;
  for (int64_t p = 0; p < j.count; ++p)
    for (int64_t o = 0; o < j.columns; ++o) {
      int64_t group = (first + o) / outputs, to = p * j.y_step + o;
      float total = j.bias ? j.bias[o] : 0.0f;
      for (int64_t t = 0; t < j.runs; ++t)
        for (int64_t k = 0; k < j.run; ++k)
          if (k % w.inputs / inputs == group)
            total = std::fma(j.x[p * j.x_step + j.offsets[t] + k], j.w[(t * j.run + k) * nr + o], total);
      if (j.sum) total += j.sum[to];
      j.y[to] = static_cast<float>(activate(a, total));
    }
}

// Computes `count` positions from `from` on of each line.
void direct_piece(const DirectState& s, const DirectCall& c, const DirectItem& i, const DirectInput& input,
                  int64_t from, int64_t count) {
  const DirectWeights& w = *s.weights;
  int64_t nr = panel_size(), x_step = s.axes[2].stride * s.pitch;
  auto* run = direct().line;
  for (int64_t p = i.panel; p < std::min(i.panel + s.panels_per_item, w.panels); ++p) {
    int64_t channel = i.group * w.outputs + p * nr;
    DirectJob job{nullptr,
                  count,
                  x_step,
                  s.outputs,
                  s.offsets.data(),
                  static_cast<int64_t>(s.offsets.size()),
                  s.run,
                  w.packed.get() + (i.group * w.panels + p) * w.depth * nr,
                  std::min(nr, w.outputs - p * nr),
                  c.bias ? c.bias + channel : nullptr,
                  nullptr,
                  nullptr,
                  s.bounds.low,
                  s.bounds.high,
                  s.bounds.enough ? nullptr : &s.finish,
                  nullptr,
                  w.depth * nr / i.lines,
                  nullptr};
    const float* weights = job.w;
    bool ahead = s.fetched && p + 1 < w.panels;
    for (int64_t l = 0; l < i.lines; ++l) {
      if (!s.pointwise) {  // rows of taps above and below the image contribute nothing
        auto [begin, end] = s.axes[1].taps(i.first + l);
        int64_t runs = static_cast<int64_t>(s.offsets.size()) / s.axes[1].kernel;
        job.offsets = s.offsets.data() + begin * runs, job.runs = (end - begin) * runs;
        job.w = weights + begin * runs * s.run * nr;
      }
      int64_t at = (i.image * s.lines + i.first + l) * s.count + from;
      job.count = std::min(count, s.positions - at);
      job.x = input.x + l * input.line + from * x_step + i.group * w.inputs;
      job.y = c.y + at * s.outputs + channel;
      job.sum = c.sum ? c.sum + at * s.outputs + channel : nullptr;
      if (ahead) job.next = weights + w.depth * nr + l * job.next_size;
      bool odd = false;
      if (w.combined > 1) job.odd = &odd;
      run(job);
      if (odd) compute_apart(w, *c.attributes, job, p * nr);
    }
  }
}

void direct_item(const DirectState& s, const DirectCall& c, int64_t item, DirectInput& input) {
  int64_t groups = s.weights->groups, block = item / s.panel_items() / groups;
  int64_t first = block % s.line_items() * s.lines_per_item;
  DirectItem i{block / s.line_items(), first, std::min(s.lines_per_item, s.lines - first),
               item / s.panel_items() % groups, item % s.panel_items() * s.panels_per_item};
  if (input.block != block) {
    std::tie(input.x, input.line) = input_lines(s, c.x, i.image, i.first, i.lines);
    input.block = block;
  }
  for (int64_t from = 0; from < s.count; from += s.piece)
    direct_piece(s, c, i, input, from, std::min(s.piece, s.count - from));
}

void direct_run(Run& ctx, const FusedAttributes& a, const DirectState& s) {
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  if (s.weights->odd) return fused_inside(ctx, a, s.sizes, s.weights->odd.get());
  DirectCall call{ctx.input(0).channels_last<const float>(), nullptr, nullptr, y.channels_last<float>(), &a};
  if (ctx.has_input(2)) call.bias = ctx.input(2).data<const float>();
  if (ctx.has_input(3)) call.sum = ctx.input(3).channels_last<const float>();
  int64_t items = s.batch * s.line_items() * s.weights->groups * s.panel_items();
  // Neighboring items share a copy of their input.
  int64_t grain = s.copied ? std::max<int64_t>(1, items / (4 * ctx.threads())) : 1;
  ctx.parallel_for(items, grain, [&](int64_t begin, int64_t end) {
    DirectInput input;
    for (int64_t i = begin; i < end; ++i) direct_item(s, call, i, input);
  });
}

}  // namespace

Definitions cpu_direct() {
  return Kernel("CPU", "direct_f32")
      .of(fused_convolution, "graft")
      .accept(direct_accept)
      .layouts(fused_layouts())
      .pack(direct_pack)
      .run(direct_prepare, direct_run);
}

}  // namespace graft
#endif
