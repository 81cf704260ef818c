// The custom operations of bench/custom_models.py, as somebody would write them for Graft. bench/custom_ops.py has the
// same operations for the other engines.
//
// They are in the domain of onnxruntime-extensions, the only one that takes operations in Python, so that all engines
// read the same files.
#include <algorithm>
#include <cmath>
#include <graft/extension.hpp>

namespace {

constexpr const char* domain = "ai.onnx.contrib";

// The functions are found for vectors, too, if the SDK has such.
auto mish = [](auto x) {
  using std::exp, std::log, std::tanh;
  return x * tanh(log(1 + exp(x)));
};
auto cosine = [](auto x) {
  using std::cosh;
  return cosh(x);
};

// A picture [N, C, H, W] in memory, in either layout.
struct Picture {
  int64_t batch, channels, rows, columns, channel_step, pixel_step;
  Picture(const graft::TensorView& x, bool last)
      : batch(x.dim(0)), channels(x.dim(1)), rows(x.dim(2)), columns(x.dim(3)) {
    channel_step = last ? 1 : rows * columns;
    pixel_step = last ? channels : 1;
  }
  int64_t pixels() const { return rows * columns; }
  int64_t image() const { return channels * pixels(); }
};

void accept_f32(graft::Accept& ctx) {
  if (ctx.type(0) != graft::DType::f32) graft::unsupported("expected f32, got ", ctx.type(0));
}
bool prepare_layout(graft::Prepare& ctx, const graft::NoAttributes&) {
  return ctx.input_layout(0) == graft::Layout::channels_last;
}
const float* input_memory(const graft::TensorView& x, bool last) {
  return last ? x.channels_last<const float>() : x.data<const float>();
}
template <class T>
float* output_memory(T&& y, bool last) {
  return last ? y.template channels_last<float>() : y.template data<float>();
}
void same_shape(graft::Infer& ctx, const graft::NoAttributes&) {
  graft::Shape x = ctx.shape(0);
  if (x.ranked() && x.rank() != 4) graft::fail("expected a shape [N, C, H, W], got ", x);
  ctx.output(0, ctx.type(0), x);
}
std::vector<graft::Kernel::Ports> either_layout() {
  using enum graft::Layout;
  return {{{channels_last, plain}, {channels_last}}, {{plain, plain}, {plain}}};
}

// Each pixel's channels divided by their length, times gain[c].
void normalize_pixels(const Picture& p, const float* x, const float* gain, float* y, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    int64_t at = i / p.pixels() * p.image() + i % p.pixels() * p.pixel_step;
    float square = 0;
    for (int64_t c = 0; c < p.channels; ++c) square += x[at + c * p.channel_step] * x[at + c * p.channel_step];
    float scale = 1 / (std::sqrt(square) + 1e-6f);
    for (int64_t c = 0; c < p.channels; ++c) y[at + c * p.channel_step] = x[at + c * p.channel_step] * scale * gain[c];
  }
}
void normalize(graft::Run& ctx, const graft::NoAttributes&, const bool& last) {
  Picture p(ctx.input(0), last);
  const float *x = input_memory(ctx.input(0), last), *gain = ctx.input(1).data<const float>();
  float* y = output_memory(ctx.output(0), last);
  ctx.parallel_for(p.batch * p.pixels(), 64,
                   [&](int64_t begin, int64_t end) { normalize_pixels(p, x, gain, y, begin, end); });
}
void normalize_reference(graft::Run& ctx, const graft::NoAttributes& a) { normalize(ctx, a, false); }

// Bilinear samples at the places that the flow [N, 2, H, W] (x, y) points to, limited to the picture.
struct Sample {
  int64_t corner[4];
  float weight[4];
};
Sample sample_at(const Picture& p, float x, float y) {
  x = std::clamp(x, 0.0f, static_cast<float>(p.columns - 1)), y = std::clamp(y, 0.0f, static_cast<float>(p.rows - 1));
  auto x0 = static_cast<int64_t>(x), y0 = static_cast<int64_t>(y);
  int64_t x1 = std::min(x0 + 1, p.columns - 1), y1 = std::min(y0 + 1, p.rows - 1);
  float u = x - static_cast<float>(x0), v = y - static_cast<float>(y0);
  return {{y0 * p.columns + x0, y0 * p.columns + x1, y1 * p.columns + x0, y1 * p.columns + x1},
          {(1 - v) * (1 - u), (1 - v) * u, v * (1 - u), v * u}};
}
void warp_rows(const Picture& p, const float* x, const float* flow, float* y, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    int64_t n = i / p.rows, row = i % p.rows;
    const float *image = x + n * p.image(), *place = flow + n * 2 * p.pixels() + row * p.columns;
    for (int64_t column = 0; column < p.columns; ++column) {
      Sample s = sample_at(p, static_cast<float>(column) + place[column],
                           static_cast<float>(row) + place[p.pixels() + column]);
      const float *a = image + s.corner[0] * p.pixel_step, *b = image + s.corner[1] * p.pixel_step,
                  *c = image + s.corner[2] * p.pixel_step, *d = image + s.corner[3] * p.pixel_step;
      float* to = y + n * p.image() + (row * p.columns + column) * p.pixel_step;
      for (int64_t channel = 0, k = 0; channel < p.channels; ++channel, k += p.channel_step)
        to[k] = a[k] * s.weight[0] + b[k] * s.weight[1] + c[k] * s.weight[2] + d[k] * s.weight[3];
    }
  }
}
void warp(graft::Run& ctx, const graft::NoAttributes&, const bool& last) {
  Picture p(ctx.input(0), last);
  const float *x = input_memory(ctx.input(0), last), *flow = ctx.input(1).data<const float>();
  float* y = output_memory(ctx.output(0), last);
  ctx.parallel_for(p.batch * p.rows, 1, [&](int64_t begin, int64_t end) { warp_rows(p, x, flow, y, begin, end); });
}
void warp_reference(graft::Run& ctx, const graft::NoAttributes& a) { warp(ctx, a, false); }

graft::Definitions define_mish() {
  return graft::op("BenchMish", "bench").elementwise(mish).import(graft::onnx("BenchMish").domain(domain));
}
graft::Definitions define_cosh() {
  return graft::op("BenchCosh", "bench").elementwise(cosine).import(graft::onnx("BenchCosh").domain(domain));
}
graft::Definitions define_channel_norm() {
  return graft::op("BenchChannelNorm", "bench")
      .inputs("x, gain")
      .infer(same_shape)
      .reference(normalize_reference)
      .kernel(
          graft::Kernel("CPU", "norm_f32").accept(accept_f32).layouts(either_layout()).run(prepare_layout, normalize))
      .import(graft::onnx("BenchChannelNorm").domain(domain));
}
graft::Definitions define_warp() {
  return graft::op("BenchWarp", "bench")
      .inputs("x, flow")
      .infer(same_shape)
      .reference(warp_reference)
      .kernel(graft::Kernel("CPU", "warp_f32").accept(accept_f32).layouts(either_layout()).run(prepare_layout, warp))
      .import(graft::onnx("BenchWarp").domain(domain));
}

}  // namespace

GRAFT_EXTENSION("bench", "1.0") { return {define_mish(), define_cosh(), define_channel_norm(), define_warp()}; }
