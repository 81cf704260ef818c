// SmoothResize: resizes images [n,h,w,c] to the height and width in its second input. As TensorFlow's ResizeBilinear,
// but the transition from a pixel to the next one is smooth: t * t * (3 - 2 * t) instead of t.
#include <graft/extension.hpp>

namespace {

void smoothresize_infer(graft::Infer& ctx, const graft::NoAttributes&) {
  graft::Shape s = ctx.shape(0), size = ctx.known(1).value_or(graft::Shape::of_rank(2));
  if (!s.ranked()) s = graft::Shape::of_rank(4);
  if (s.rank() != 4 || size.rank() != 2)
    graft::fail("expected images [n,h,w,c] and a size of two numbers, got ", s, " and ", size);
  ctx.output(0, ctx.type(0), graft::Shape{s[0], size[0], size[1], s[3]});
}

// An output lies between the inputs `low` and `high`.
struct Place {
  int64_t low, high;
  double part;
};
Place place(int64_t i, int64_t in, int64_t out) {
  double at = static_cast<double>(i * in) / static_cast<double>(out);
  auto low = static_cast<int64_t>(at);
  double t = at - static_cast<double>(low);
  return {low, std::min(low + 1, in - 1), t * t * (3 - 2 * t)};
}

void smoothresize_run(graft::Run& ctx, const graft::NoAttributes&) {
  graft::TensorView in = ctx.input(0), out = ctx.output(0);
  int64_t h = in.dim(1), w = in.dim(2), channels = in.dim(3);
  std::vector<double> x = in.to<double>(), y;
  for (int64_t n = 0; n < in.dim(0); ++n)
    for (int64_t i = 0; i < out.dim(1); ++i)
      for (int64_t j = 0; j < out.dim(2); ++j)
        for (int64_t k = 0; k < channels; ++k) {
          Place r = place(i, h, out.dim(1)), c = place(j, w, out.dim(2));
          auto row = [&](int64_t at) {
            const double* line = x.data() + (n * h + at) * w * channels + k;
            return line[c.low * channels] * (1 - c.part) + line[c.high * channels] * c.part;
          };
          y.push_back(row(r.low) * (1 - r.part) + row(r.high) * r.part);
        }
  ctx.output(0).assign(y);
}

}  // namespace

GRAFT_EXTENSION("smoothresize", "1.0") {
  return graft::op("SmoothResize", "extension")
      .doc("resizing with smooth transitions")
      .inputs("images, size")
      .infer(smoothresize_infer)
      .reference(smoothresize_run)
      .import(graft::tensorflow("SmoothResize").ignore("T"));
}
