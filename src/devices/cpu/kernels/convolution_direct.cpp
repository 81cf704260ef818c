// Convolution of tensors with the channels last, with bias, sum and activation.
//
// A tile of results, some positions by two vectors of output channels, stays in registers while the taps and the input
// channels pass by: each step takes two vectors of weights and one input element per position. Neither operand is
// copied, since the channels of a position are next to each other; only images with padding are, a few rows at a time.
// Weights are packed once, in panels of two vectors.
#include "convolution_direct.hpp"

#include "inside.hpp"
#include "pieces.hpp"
#include "window_walk.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "convolution_direct.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

#include "convolution_direct-inl.hpp"

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
struct DirectWeights : PanelWeights {
  int64_t combined = 1;  // groups of the layer in one
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
  DirectWeights out{{groups / m, inputs * m, outputs * m, (outputs * m + nr - 1) / nr, taps * inputs * m}, m, {}};
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

struct DirectState : WindowWalk {
  const DirectWeights* weights = nullptr;
  ConvolutionSizes sizes;
  int64_t run = 0;
  int64_t piece = 0;     // positions of a line that are computed together: their input stays in the cache
  bool fetched = false;  // every item reads weights that are not in the cache
  Epilogue epilogue;
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
  s.sizes = image_sizes(ctx, a);
  s.weights = &ctx.packed<DirectWeights>();
  if (!s.weights->packed) unsupported("requires weights that are stored in the model");
  s.panels = s.weights;
  s.epilogue = epilogue_of(ctx, a);
  const WindowAxis &ay = s.sizes.axes[1], &ax = s.sizes.axes[2];
  bool apart = collides(ax.stride * s.sizes.inputs * s.sizes.groups);
  constexpr int64_t gap = 16, tile = 14;
  // Rows above and below the image are never read.
  prepare_walk(s, s.sizes, reaches_over(ax) || apart, apart ? gap : 0, tile * 8);
  bool joined = ax.dilation == 1 && s.weights->groups == 1 && !apart;  // the taps of a row are consecutive
  s.run = joined ? ax.kernel * s.channels : s.weights->inputs;
  divide(s, ctx.threads());
  constexpr int64_t cached = 1 << 16;  // elements
  s.piece = tile * std::clamp<int64_t>(cached / std::max<int64_t>(1, s.weights->depth) / tile, 8, 16);
  if (s.fetched) s.piece = s.count;
  if (s.copied) s.tap_rows = std::min(ay.dilation, (s.lines_per_item - 1) * ay.stride + 1);
  set_offsets(s, joined);
  return s;
}

struct DirectCall {
  const float *x, *bias, *sum;
  float* y;
};

// The input of an item, which further items of the same block use again: it may be a copy.
struct DirectInput {
  int64_t block = -1;
  const float* x = nullptr;
};

// Computes a job again, each of its columns from the inputs of its own group. `first` is the panel's first output.
void compute_apart(const DirectWeights& w, const DirectJob& j, int64_t first) {
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
      total = total < j.low ? j.low : total;
      j.y[to] = total > j.high ? j.high : total;
    }
}

// Computes `count` positions from `from` on of each line.
void direct_piece(const DirectState& s, const DirectCall& c, const WindowItem& i, const DirectInput& input,
                  int64_t from, int64_t count) {
  const DirectWeights& w = *s.weights;
  int64_t nr = panel_size(), x_step = s.x_step(), line_stride = line_step(s);
  auto* run = direct().line;
  for (int64_t p = i.panel; p < i.panels_end; ++p) {
    int64_t channel = i.group * w.outputs + p * nr;
    DirectJob job{};
    job.x_step = x_step, job.y_step = s.outputs, job.columns = std::min(nr, w.outputs - p * nr);
    job.offsets = s.offsets.data(), job.runs = static_cast<int64_t>(s.offsets.size()), job.run = s.run;
    job.w = w.packed.get() + (i.group * w.panels + p) * w.depth * nr, job.next_size = w.depth * nr / i.lines;
    job.bias = c.bias ? c.bias + channel : nullptr;
    job.low = s.epilogue.low, job.high = s.epilogue.high;
    const float* weights = job.w;
    bool ahead = s.fetched && p + 1 < w.panels;
    for (int64_t l = 0; l < i.lines; ++l) {
      if (!s.pointwise) {  // rows of taps above and below the image contribute nothing
        auto [begin, end] = s.axes[1].taps(i.first + l);
        int64_t runs = static_cast<int64_t>(s.offsets.size()) / s.axes[1].kernel;
        job.offsets = s.offsets.data() + begin * runs, job.runs = (end - begin) * runs;
        job.w = weights + begin * runs * s.run * nr;
      }
      int64_t at = s.position(i, l) + from;
      job.count = std::min(count, s.positions - at);
      job.x = input.x + l * line_stride + from * x_step + i.group * w.inputs;
      job.y = c.y + at * s.outputs + channel;
      job.sum = c.sum ? c.sum + at * s.outputs + channel : nullptr;
      if (ahead) job.next = weights + w.depth * nr + l * job.next_size;
      bool odd = false;
      if (w.combined > 1) job.odd = &odd;
      run(job);
      if (odd) compute_apart(w, job, p * nr);
      s.epilogue.activate(job.y, job.count, s.outputs, job.columns);
    }
  }
}

void direct_item(const DirectState& s, const DirectCall& c, int64_t item, DirectInput& input) {
  WindowItem i = s.item(item);
  if (input.block != i.block) input = {i.block, item_input<false>(s, c.x, i, 0.0f)};
  for (int64_t from = 0; from < s.count; from += s.piece)
    direct_piece(s, c, i, input, from, std::min(s.piece, s.count - from));
}

void direct_run(Run& ctx, const FusedAttributes&, const DirectState& s) {
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  if (s.weights->odd) return fused_inside(ctx, s.epilogue, s.sizes, s.weights->odd.get());
  DirectCall call{ctx.input(0).channels_last<const float>(), nullptr, nullptr, y.channels_last<float>()};
  if (ctx.has_input(2)) call.bias = ctx.input(2).data<const float>();
  if (ctx.has_input(3)) call.sum = ctx.input(3).channels_last<const float>();
  int64_t items = s.items();
  // Neighboring items share a copy of their input.
  int64_t grain = s.copied ? std::max<int64_t>(1, items / (4 * ctx.threads())) : 1;
  ctx.parallel_for(items, grain, [&](int64_t begin, int64_t end) {
    DirectInput input;
    for (int64_t i = begin; i < end; ++i) direct_item(s, call, i, input);
  });
}

}  // namespace

Definitions direct_convolution() {
  return Kernel("CPU", "direct_f32")
      .of(fused_convolution, "graft")
      .accept(direct_accept)
      .layouts(fused_layouts())
      .pack(direct_pack)
      .run(direct_prepare, direct_run);
}

}  // namespace graft
#endif
