// Winograd convolution: windows of 3 x 3 with stride 1, of tensors with the channels last, with bias, sum and
// activation.
//
// A tile of m x m results comes from (m + 2) x (m + 2) input elements. Both the tile and the weights are transformed to
// (m + 2)^2 points, where the convolution is one multiplication per input and output channel: 36 instead of 144 for
// m = 4, 16 instead of 36 for m = 2. For a block of tiles that stays in the cache, each point is a matrix product
// [tiles, inputs] x [inputs, outputs]; the results of one panel of output channels are transformed back while they are
// in the cache. Weights are transformed once.
//
// The interpolation points for m = 4 are 0, +-sqrt(1/2), +-sqrt(2) and infinity: the usual +-1 and +-2 have six times
// the rounding error.
#include "convolution_winograd.hpp"

#include "inside.hpp"
#include "pieces.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "convolution_winograd.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.
#include <hwy/highway.h>

#include "convolution_winograd-inl.hpp"
#include "epilogue-inl.hpp"
#include "tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::HWY_NAMESPACE {
namespace {

constexpr int64_t most_rows = tile_rows_of(14);
// Products in a chain of additions: fewer than elsewhere, since the transform of the results multiplies the error of a
// point, by about 5 for tiles of 4 and by 2 for tiles of 2.
constexpr int64_t chain_for(int64_t m) { return m == 4 ? longest_chain / 4 : longest_chain / 2; }

template <int64_t m, class Load>
HWY_INLINE void input_vector(const WinogradInput& t, int64_t c, Load load) {
  using P = Points<m>;
  const D d;
  float* HWY_RESTRICT to = t.to + c;
  P::input_rows([&](int64_t i, int64_t j) { return load(t.at[static_cast<size_t>(i * P::side + j)] + c); },
                [&](int64_t i, const V(&v)[P::side]) {
                  V r[P::side];
                  P::input(v, r);
#pragma GCC unroll 6
                  for (int64_t j = 0; j < P::side; ++j) hn::Store(r[j], d, to + (i * P::side + j) * t.plane);
                });
}

template <int64_t m>
void input_tile(const WinogradInput& t) {
  const D d;
  int64_t c = 0;
  for (; c + lanes <= t.channels; c += lanes) input_vector<m>(t, c, [&](const float* p) { return hn::LoadU(d, p); });
  if (c == t.channels) return;
  const auto n = static_cast<size_t>(t.channels - c);
  input_vector<m>(t, c, [&](const float* p) { return load_first(d, p, n); });
}

template <int64_t rows, int64_t vectors>
void product(const WinogradProduct& j, int64_t chain, const float* HWY_RESTRICT x, const float* HWY_RESTRICT w,
             float* HWY_RESTRICT y) {
  const D d;
  V sums[rows][vectors];
#pragma GCC unroll 16
  for (int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int64_t v = 0; v < vectors; ++v) sums[r][v] = hn::Zero(d);
  const int64_t pitch = j.pitch;
  Chains<rows, vectors> chains;
  for (int64_t done = 0; done < j.channels; done += chain) {
    if (done > 0) chains.set_aside(sums);
    const int64_t n = std::min(j.channels - done, chain);
    for (int64_t k = 0; k < n; ++k, w += panel, ++x) {
      V weight[vectors];
#pragma GCC unroll 2
      for (int64_t v = 0; v < vectors; ++v) weight[v] = hn::Load(d, w + v * lanes);
#pragma GCC unroll 16
      for (int64_t r = 0; r < rows; ++r) {
        const V value = hn::Set(d, x[r * pitch]);
#pragma GCC unroll 2
        for (int64_t v = 0; v < vectors; ++v) sums[r][v] = hn::MulAdd(value, weight[v], sums[r][v]);
      }
    }
  }
  chains.add_totals(sums);
#pragma GCC unroll 16
  for (int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 2
    for (int64_t v = 0; v < vectors; ++v) hn::Store(sums[r][v], d, y + r * panel + v * lanes);
}

template <int64_t vectors, int64_t... r>
void products(const WinogradProduct& j, int64_t m, std::integer_sequence<int64_t, r...>) {
  using F = void (*)(const WinogradProduct&, int64_t, const float*, const float*, float*);
  constexpr F by_rows[] = {product<r + 1, vectors>...};
  int64_t points = (m + 2) * (m + 2), parts = (j.tiles + most_rows - 1) / most_rows;
  for (int64_t p = 0; p < points; ++p)
    for (int64_t part = 0, at = 0; part < parts; ++part) {
      int64_t rows = (j.tiles - at + parts - part - 1) / (parts - part);
      by_rows[rows - 1](j, chain_for(m), j.x + p * j.plane + at * j.pitch, j.w + p * j.channels * panel,
                        j.y + p * j.y_plane + at * panel);
      at += rows;
    }
}

// False: some result is not finite.
template <int64_t m>
bool output_vector(const WinogradOutput& t, int64_t vector) {
  using P = Points<m>;
  const D d;
  const auto n = static_cast<size_t>(std::min(lanes, t.channels - vector * lanes));
  const bool full = n == static_cast<size_t>(lanes);
  auto load = [&](const float* p) { return full ? hn::LoadU(d, p) : load_first(d, p, n); };
  const float* HWY_RESTRICT x = t.x + vector * lanes;
  V lines[m][P::side];
#pragma GCC unroll 6
  for (int64_t j = 0; j < P::side; ++j) {
    V points[P::side], column[m];
#pragma GCC unroll 6
    for (int64_t i = 0; i < P::side; ++i) points[i] = hn::Load(d, x + (i * P::side + j) * t.plane);
    P::output(points, column);
#pragma GCC unroll 4
    for (int64_t i = 0; i < m; ++i) lines[i][j] = column[i];
  }
  const V bias = t.bias ? load(t.bias + vector * lanes) : hn::Zero(d);
  const V low = hn::Set(d, t.low), high = hn::Set(d, t.high);
  V zero = hn::Zero(d);  // NaN after a result that is not finite
#pragma GCC unroll 4
  for (int64_t i = 0; i < m; ++i) {
    if (i >= t.rows) break;
    V results[m];
    P::output(lines[i], results);
#pragma GCC unroll 4
    for (int64_t j = 0; j < m; ++j) {
      if (j >= t.columns) break;
      int64_t to = i * t.y_row + j * t.y_step + vector * lanes;
      zero = hn::MulAdd(results[j], hn::Zero(d), zero);
      V v = hn::Add(results[j], bias);
      if (t.sum) v = hn::Add(v, load(t.sum + to));
      v = bounded(v, low, high);
      if (full) hn::StoreU(v, d, t.y + to);
      else store_first(v, d, t.y + to, n);
    }
  }
  return hn::AllTrue(d, hn::Eq(zero, hn::Zero(d)));
}

}  // namespace
int64_t winograd_panel() { return panel; }
int64_t winograd_rows() { return most_rows; }
// Transforms one input channel of a panel: `from` [tap][panel], `to` [point][...][panel].
void winograd_weights(int64_t m, const float* from, float* to, int64_t plane) {
  for (int64_t v = 0; v < panel; v += lanes)
    (m == 4 ? weights_vector<4> : weights_vector<2>)(from + v, panel, to + v, plane);
}
void winograd_input(int64_t m, const WinogradInput& t) { (m == 4 ? input_tile<4> : input_tile<2>)(t); }
void winograd_multiply(int64_t m, const WinogradProduct& j) {
  constexpr std::make_integer_sequence<int64_t, most_rows> rows;
  if (j.columns > lanes) products<2>(j, m, rows);
  else products<1>(j, m, rows);
}
// False: some result is not finite.
bool winograd_output(int64_t m, const WinogradOutput& t) {
  bool finite = true;
  for (int64_t v = 0; v * lanes < t.channels; ++v) finite &= (m == 4 ? output_vector<4> : output_vector<2>)(t, v);
  return finite;
}

}  // namespace graft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft {
namespace {

HWY_EXPORT(winograd_panel);
HWY_EXPORT(winograd_rows);
HWY_EXPORT(winograd_weights);
HWY_EXPORT(winograd_input);
HWY_EXPORT(winograd_multiply);
HWY_EXPORT(winograd_output);

int64_t winograd_panel_size() {
  static const int64_t size = HWY_DYNAMIC_DISPATCH(winograd_panel)();
  return size;
}
int64_t divided(int64_t n, int64_t by) { return (n + by - 1) / by; }

// [panel][point][input][column of the panel]
struct WinogradWeights {
  int64_t inputs = 0, outputs = 0;
  Floats packed;
  Floats odd = {};  // as they are, if not all are finite
};

template <int64_t m>
WinogradWeights winograd_pack(Pack& ctx) {
  TensorView w = ctx.take(1);
  if (!w) return {};
  constexpr int64_t taps = 9, points = (m + 2) * (m + 2);
  int64_t nr = winograd_panel_size(), outputs = w.dim(0), inputs = w.dim(1), panels = divided(outputs, nr);
  WinogradWeights out{inputs, outputs, allocate_floats(static_cast<size_t>(panels * points * inputs * nr))};
  out.odd = not_finite(w);
  int64_t depth = inputs * taps;
  Floats columns = allocate_floats(static_cast<size_t>(depth * nr));
  auto transform = HWY_DYNAMIC_DISPATCH(winograd_weights);
  for (int64_t p = 0; p < panels; ++p) {
    gemm().pack_b({w.data<float>() + p * nr * depth, 1, depth}, depth, std::min(nr, outputs - p * nr), columns.get());
    for (int64_t i = 0; i < inputs; ++i)
      transform(m, columns.get() + i * taps * nr, out.packed.get() + (p * points * inputs + i) * nr, inputs * nr);
  }
  return out;
}

struct WinogradState {
  const WinogradWeights* weights = nullptr;
  ConvolutionSizes sizes;
  WindowAxes axes;
  int64_t m = 0, points = 0;
  int64_t down = 0, across = 0, tiles = 0;  // tiles of an image, and of all images
  int64_t block = 0, blocks = 0;            // tiles in a block, number of blocks
  bool shared = false;                      // few blocks: the threads divide each one among them
  int64_t panels = 0;
  int64_t pitch = 0, plane = 0;  // of the transformed input
  int64_t result_plane = 0;      // of the results
  Epilogue epilogue;

  int64_t input_size() const { return points * plane; }
  int64_t result_size() const { return points * result_plane; }
};

// Planes are not a multiple of the cache's way apart, or the points of a tile would compete for the same lines.
int64_t spread(int64_t plane) { return plane % 512 == 0 ? plane + 16 : plane; }

void winograd_divide(WinogradState& s, int threads) {
  // Transformed input takes half of a core's cache. Weights that do not stay in any cache are read as rarely as
  // possible.
  constexpr int64_t most = 1 << 17, most_for_large = 1 << 19, large = 1 << 21;  // elements
  const int64_t enough = enough_pieces(threads, 4, 1);                          // blocks to divide among threads
  int64_t rows = HWY_DYNAMIC_DISPATCH(winograd_rows)();
  bool is_large = s.points * s.weights->inputs * s.weights->outputs >= large;
  int64_t tiles = (is_large ? most_for_large : most) / (s.points * s.pitch);
  s.blocks = divided(s.tiles, std::max(tiles / rows * rows, rows));
  bool many_threads = enough > 4;  // which would not all get a panel of a block that they share
  s.shared = s.blocks < enough && (!many_threads || s.tiles < enough * rows);
  if (!s.shared) s.blocks = divided(s.blocks, enough) * enough;
  s.block = divided(s.tiles, std::max<int64_t>(1, s.blocks));
  s.plane = spread(s.block * s.pitch);
  s.result_plane = spread(s.block * winograd_panel_size());
}

template <int64_t m>
WinogradState winograd_prepare(Prepare& ctx, const FusedAttributes& a) {
  WinogradState s;
  ConvolutionSizes sizes = image_sizes(ctx, a);
  s.weights = &ctx.packed<WinogradWeights>();
  if (!s.weights->packed) unsupported("requires weights that are stored in the model");
  s.sizes = sizes, s.axes = sizes.axes;
  s.m = m, s.points = (m + 2) * (m + 2);
  s.down = divided(s.axes[1].output, m), s.across = divided(s.axes[2].output, m);
  s.tiles = sizes.batch * s.down * s.across;
  s.panels = divided(s.weights->outputs, winograd_panel_size());
  s.pitch = divided(s.weights->inputs, 16) * 16 + 16;
  s.epilogue = epilogue_of(ctx, a);
  winograd_divide(s, ctx.threads());
  if (s.shared) ctx.scratch(static_cast<size_t>(s.input_size()) * sizeof(float));
  return s;
}

struct WinogradCall {
  const float *x, *bias, *sum;
  float* y;
};

struct TilePosition {
  int64_t image, y, x;  // y and x: of the first result
};
TilePosition position_of(const WinogradState& s, int64_t tile) {
  return {tile / (s.down * s.across), tile / s.across % s.down * s.m, tile % s.across * s.m};
}

// Transforms tiles [begin, end) of the block that starts at `first`. `zeros` stands for the channels outside the image.
void transform_input(const WinogradState& s, const float* x, const float* zeros, int64_t first, int64_t begin,
                     int64_t end, float* to) {
  const WindowAxis &ay = s.axes[1], &ax = s.axes[2];
  int64_t channels = s.weights->inputs, side = s.m + 2;
  auto transform = HWY_DYNAMIC_DISPATCH(winograd_input);
  for (int64_t t = begin; t < end; ++t) {
    TilePosition at = position_of(s, t);
    WinogradInput tile{{}, channels, to + (t - first) * s.pitch, s.plane};
    for (int64_t i = 0; i < side; ++i)
      for (int64_t j = 0; j < side; ++j) {
        int64_t row = at.y - ay.begin + i, column = at.x - ax.begin + j;
        bool inside = row >= 0 && row < ay.input && column >= 0 && column < ax.input;
        tile.at[static_cast<size_t>(i * side + j)] =
            inside ? x + ((at.image * ay.input + row) * ax.input + column) * channels : zeros;
      }
    transform(s.m, tile);
  }
}

// A weight as it was before the transform, up to rounding. At 0 and at infinity a transform is the first and the last
// weight, and the middle one is a factor times the difference at a pair of points.
float original_weight(const WinogradState& s, int64_t o, int64_t i, int64_t ty, int64_t tx) {
  int64_t side = s.m + 2, nr = winograd_panel_size(), inputs = s.weights->inputs;
  const float* u = s.weights->packed.get() + (o / nr * s.points * inputs + i) * nr + o % nr;
  auto at = [&](int64_t y, int64_t x) { return u[(y * side + x) * inputs * nr]; };
  auto end = [&](int64_t t) { return t == 0 ? 0 : side - 1; };
  const float factor = s.m == 4 ? -1.06066017f : 1.0f;
  if (ty != 1 && tx != 1) return at(end(ty), end(tx));
  if (ty != 1) return factor * (at(end(ty), 1) - at(end(ty), 2));
  if (tx != 1) return factor * (at(1, end(tx)) - at(2, end(tx)));
  float total = (at(1, 1) - at(1, 2)) - (at(2, 1) - at(2, 2));
  float sizes = std::fabs(at(1, 1)) + std::fabs(at(1, 2)) + std::fabs(at(2, 1)) + std::fabs(at(2, 2));
  // What is left of rounding was a zero.
  return std::fabs(total) <= sizes * 4 * std::numeric_limits<float>::epsilon() ? 0.0f : factor * factor * total;
}

// Infinities, NaN and overflows spread over a tile. Such a tile is computed again, without transforms.
void compute_directly(const WinogradState& s, const WinogradCall& c, const TilePosition& at, int64_t first,
                      int64_t end) {
  const WindowAxis &ay = s.axes[1], &ax = s.axes[2];
  int64_t inputs = s.weights->inputs, outputs = s.weights->outputs;
  for (int64_t y = at.y; y < std::min(at.y + s.m, ay.output); ++y)
    for (int64_t x = at.x; x < std::min(at.x + s.m, ax.output); ++x)
      for (int64_t o = first; o < end; ++o) {
        int64_t to = ((at.image * ay.output + y) * ax.output + x) * outputs + o;
        float total = c.bias ? c.bias[o] : 0.0f;
        auto [y0, y1] = ay.taps(y);
        auto [x0, x1] = ax.taps(x);
        for (int64_t ty = y0; ty < y1; ++ty)
          for (int64_t tx = x0; tx < x1; ++tx) {
            int64_t row = at.image * ay.input + y + ay.offset(ty);
            const float* from = c.x + (row * ax.input + x + ax.offset(tx)) * inputs;
            for (int64_t i = 0; i < inputs; ++i) total += from[i] * original_weight(s, o, i, ty, tx);
          }
        if (c.sum) total += c.sum[to];
        c.y[to] = s.epilogue.bounded(total);
      }
}

// One panel of output channels of the tiles [first, end).
void compute_panel(const WinogradState& s, const WinogradCall& c, const float* input, int64_t p, int64_t first,
                   int64_t end, float* results) {
  const WindowAxis &ay = s.axes[1], &ax = s.axes[2];
  const WinogradWeights& w = *s.weights;
  int64_t nr = winograd_panel_size(), columns = std::min(nr, w.outputs - p * nr);
  HWY_DYNAMIC_DISPATCH(winograd_multiply)
  (s.m, {input, end - first, w.inputs, s.pitch, s.plane, w.packed.get() + p * s.points * w.inputs * nr, columns,
         results, s.result_plane});
  auto transform = HWY_DYNAMIC_DISPATCH(winograd_output);
  for (int64_t t = first; t < end; ++t) {
    TilePosition at = position_of(s, t);
    int64_t to = ((at.image * ay.output + at.y) * ax.output + at.x) * w.outputs + p * nr;
    bool finite = transform(s.m, {results + (t - first) * nr, s.result_plane, std::min(s.m, ay.output - at.y),
                                  std::min(s.m, ax.output - at.x), columns, c.bias ? c.bias + p * nr : nullptr,
                                  c.sum ? c.sum + to : nullptr, c.y + to, ax.output * w.outputs, w.outputs,
                                  s.epilogue.low, s.epilogue.high});
    if (!finite) compute_directly(s, c, at, p * nr, p * nr + columns);
    if (!s.epilogue.activation) continue;
    for (int64_t y = at.y; y < std::min(at.y + s.m, ay.output); ++y, to += ax.output * w.outputs)
      s.epilogue.activate(c.y + to, std::min(s.m, ax.output - at.x), w.outputs, columns);
  }
}

const float* fill_zeros(const WinogradState& s, float* to) {
  std::fill(to, to + s.pitch, 0.0f);
  return to;
}

// Every thread takes blocks.
void run_blocks(Run& ctx, const WinogradState& s, const WinogradCall& c) {
  ctx.parallel_for(s.blocks, 1, [&](int64_t begin, int64_t end) {
    float* input = thread_floats(static_cast<size_t>(s.input_size() + s.result_size() + s.pitch));
    float* results = input + s.input_size();
    const float* zeros = fill_zeros(s, results + s.result_size());
    for (int64_t b = begin; b < end; ++b) {
      int64_t first = b * s.block, last = std::min(first + s.block, s.tiles);
      transform_input(s, c.x, zeros, first, first, last, input);
      for (int64_t p = 0; p < s.panels; ++p) compute_panel(s, c, input, p, first, last, results);
    }
  });
}

// The threads divide the tiles of a block, then its panels.
void run_panels(Run& ctx, const WinogradState& s, const WinogradCall& c) {
  auto* input = static_cast<float*>(ctx.scratch());
  constexpr int64_t least_elements = 1 << 14;
  int64_t grain = std::max<int64_t>(1, least_elements / (s.points * s.pitch));
  for (int64_t first = 0; first < s.tiles; first += s.block) {
    int64_t last = std::min(first + s.block, s.tiles);
    ctx.parallel_for(last - first, grain, [&](int64_t begin, int64_t end) {
      const float* zeros = fill_zeros(s, thread_floats(static_cast<size_t>(s.pitch)));
      transform_input(s, c.x, zeros, first, first + begin, first + end, input);
    });
    ctx.parallel_for(s.panels, 1, [&](int64_t begin, int64_t end) {
      float* results = thread_floats(static_cast<size_t>(s.result_size()));
      for (int64_t p = begin; p < end; ++p) compute_panel(s, c, input, p, first, last, results);
    });
  }
}

void winograd_run(Run& ctx, const FusedAttributes&, const WinogradState& s) {
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  if (s.weights->odd) return fused_inside(ctx, s.epilogue, s.sizes, s.weights->odd.get());
  WinogradCall call{ctx.input(0).channels_last<const float>(), nullptr, nullptr, y.channels_last<float>()};
  if (ctx.has_input(2)) call.bias = ctx.input(2).data<const float>();
  if (ctx.has_input(3)) call.sum = ctx.input(3).channels_last<const float>();
  if (s.shared) run_panels(ctx, s, call);
  else run_blocks(ctx, s, call);
}

// The size of the tiles that is fastest for a convolution; 0: none. Transforms cost as much per channel as some output
// channels, and tiles that reach over the edge compute for nothing. Transformed weights take 4 (m = 4) or 1.8 (m = 2)
// times the memory, and are read once per block: with few tiles, reading them is what takes the time. Measured on
// ResNet, YOLO and SqueezeNet: m = 4 is 2 to 3 times as fast as convolution_direct.cpp from 20 x 20 positions on, m = 2
// is 1.3 to 1.8 times as fast at 13 x 13, and neither is faster at 7 x 7.
int64_t winograd_choice(const ConvolutionSizes& s) {
  constexpr int64_t least_channels = 16, least_tiles = 24;
  if (s.inputs < least_channels || s.outputs < least_channels) return 0;
  int64_t height = s.axes[1].output, width = s.axes[2].output;
  for (int64_t m : {4, 2}) {
    int64_t tiles = s.batch * divided(height, m) * divided(width, m), points = (m + 2) * (m + 2);
    bool saves = 3 * points * tiles <= 2 * 9 * s.batch * height * width;
    if (saves && tiles >= least_tiles) return m;
  }
  return 0;
}

template <int64_t m>
void winograd_accept(Accept& ctx) {
  fused_accept(ctx);
  ConvolutionSizes s = image_sizes(ctx, ctx.attributes<FusedAttributes>());
  const WindowAxis &ay = s.axes[1], &ax = s.axes[2];
  bool square = ay.kernel == 3 && ax.kernel == 3 && s.groups == 1;
  for (const WindowAxis* w : {&ay, &ax}) square = square && w->stride == 1 && w->dilation == 1;
  if (!square) unsupported("expected one group, a window of 3 x 3, stride 1 and no dilation");
  int64_t choice = winograd_choice(s);
  if (choice == 0) unsupported("too few channels or positions for transforms to pay off");
  if (choice != m) unsupported("tiles of ", choice, " x ", choice, " are faster");
}

template <int64_t m>
Kernel winograd_kernel(std::string_view name) {
  return Kernel("CPU", name)
      .of(fused_convolution, "graft")
      .accept(winograd_accept<m>)
      .layouts(fused_layouts())
      .pack(winograd_pack<m>)
      .run(winograd_prepare<m>, winograd_run);
}

}  // namespace

Definitions winograd_convolution() {
  return {winograd_kernel<4>("winograd4_f32"), winograd_kernel<2>("winograd2_f32")};
}

}  // namespace graft
#endif
