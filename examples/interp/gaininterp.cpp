// GainInterp: bilinear resizing with aligned corners to `zoom_factor` times the size, times a trained gain per channel.
#include <graft/extension.hpp>

namespace {

struct GainInterp {
  int64_t zoom_factor = 1;
  static constexpr std::tuple schema{
      graft::attr("zoom_factor", &GainInterp::zoom_factor, "factor of height and width").between(1, 1024)};
};

void gaininterp_infer(graft::Infer& ctx, const GainInterp& a) {
  graft::Shape s = ctx.shape(0);
  if (!s.ranked()) s = graft::Shape::of_rank(4);
  if (s.rank() != 4) graft::fail("expected an input [n,c,h,w], got shape ", s);
  merge(ctx.shape(1), graft::Shape{s[1]});  // one gain per channel
  ctx.output(0, ctx.type(0), graft::Shape{s[0], s[1], s[2] * a.zoom_factor, s[3] * a.zoom_factor});
}

// An output lies between the inputs `low` and `high`.
struct Place {
  int64_t low, high;
  double part;
};
Place place(int64_t i, int64_t in, int64_t out) {
  double at = out > 1 ? static_cast<double>(i * (in - 1)) / static_cast<double>(out - 1) : 0;
  auto low = static_cast<int64_t>(at);
  return {low, std::min(low + 1, in - 1), at - static_cast<double>(low)};
}

void gaininterp_run(graft::Run& ctx, const GainInterp&) {
  graft::TensorView in = ctx.input(0), out = ctx.output(0);
  int64_t planes = in.dim(0) * in.dim(1), h = in.dim(2), w = in.dim(3);
  std::vector<double> x = in.to<double>(), gain = ctx.input(1).to<double>(), y;
  for (int64_t p = 0; p < planes; ++p)
    for (int64_t i = 0; i < out.dim(2); ++i)
      for (int64_t j = 0; j < out.dim(3); ++j) {
        Place r = place(i, h, out.dim(2)), c = place(j, w, out.dim(3));
        auto row = [&](int64_t at) {
          const double* line = x.data() + (p * h + at) * w;
          return line[c.low] * (1 - c.part) + line[c.high] * c.part;
        };
        double value = row(r.low) * (1 - r.part) + row(r.high) * r.part;
        y.push_back(value * gain[static_cast<size_t>(p % in.dim(1))]);
      }
  ctx.output(0).assign(y);
}

}  // namespace

GRAFT_EXTENSION("gaininterp", "1.0") {
  return graft::op<GainInterp>("GainInterp", "extension")
      .doc("bilinear resizing with aligned corners by an integer factor, times a gain per channel")
      .inputs("x, gain")
      .infer(gaininterp_infer)
      .reference(gaininterp_run)
      .import(graft::caffe("GainInterp").attr("zoom_factor", "gain_interp_param.zoom_factor"));
}
