// The custom operations of bench/custom_models.py, as somebody would write them for Graft.
#include <graft/extension.hpp>

#include "formulas.hpp"

namespace {

using formulas::domain, formulas::Picture;

void accept_f32(graft::Accept& ctx) {
  if (ctx.type(0) != graft::DType::f32) graft::unsupported("expected f32, got ", ctx.type(0));
}
bool prepare_layout(graft::Prepare& ctx, const graft::NoAttributes&) {
  return ctx.input_layout(0) == graft::Layout::channels_last;
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

struct Memory {
  const float *x, *second;
  float* y;
  Memory(graft::Run& ctx, bool last)
      : x(last ? ctx.input(0).channels_last<const float>() : ctx.input(0).data<const float>()),
        second(ctx.input(1).data<const float>()),
        y(last ? ctx.output(0).channels_last<float>() : ctx.output(0).data<float>()) {}
};

void normalize(graft::Run& ctx, const graft::NoAttributes&, const bool& last) {
  Picture p(ctx.input(0).dims(), last);
  Memory m(ctx, last);
  ctx.parallel_for(p.batch * p.pixels(), 64,
                   [&](int64_t begin, int64_t end) { formulas::normalize_pixels(p, m.x, m.second, m.y, begin, end); });
}
void normalize_reference(graft::Run& ctx, const graft::NoAttributes& a) { normalize(ctx, a, false); }

void warp(graft::Run& ctx, const graft::NoAttributes&, const bool& last) {
  Picture p(ctx.input(0).dims(), last);
  Memory m(ctx, last);
  ctx.parallel_for(p.batch * p.rows, 1,
                   [&](int64_t begin, int64_t end) { formulas::warp_rows(p, m.x, m.second, m.y, begin, end); });
}
void warp_reference(graft::Run& ctx, const graft::NoAttributes& a) { warp(ctx, a, false); }

graft::Definitions define_mish() {
  return graft::op("BenchMish", "bench").elementwise(formulas::mish).import(graft::onnx("BenchMish").domain(domain));
}
graft::Definitions define_cosh() {
  return graft::op("BenchCosh", "bench").elementwise(formulas::cosine).import(graft::onnx("BenchCosh").domain(domain));
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
