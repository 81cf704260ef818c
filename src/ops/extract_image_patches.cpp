#include <graft/kit/known.hpp>
#include <graft/kit/moves.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct ImagePatches {
  std::vector<int64_t> sizes, strides, rates;
  enum AutoPad { same_lower, same_upper, valid } auto_pad = valid;
  static constexpr std::tuple schema{
      attr("sizes", &ImagePatches::sizes, "height and width of a patch").between(1, 1 << 30).required(),
      attr("strides", &ImagePatches::strides, "distance between the starts of neighboring patches")
          .between(1, 1 << 30)
          .required(),
      attr("rates", &ImagePatches::rates, "dilation: distance between the elements of a patch")
          .between(1, 1 << 30)
          .required(),
      attr("auto_pad", &ImagePatches::auto_pad, "whether patches may extend beyond the border")
          .one_of("same_lower", "same_upper", "valid")
          .required()};
  void check() const {
    for (const auto* list : {&sizes, &strides, &rates})
      if (list->size() != 2) fail("expected 2 values in sizes, strides and rates, got ", list->size());
  }
  int64_t reach(size_t d) const { return rates[d] * (sizes[d] - 1) + 1; }
};

void image_patches_infer(Infer& ctx, const ImagePatches& a) {
  a.check();
  Shape in = merge(ctx.shape(0), Shape::of_rank(4)), out = in;
  out[1] = in[1] * Dim(a.sizes[0] * a.sizes[1]);
  for (size_t d = 0; d < 2; ++d) {
    // An axis that is shorter than a patch has none.
    Dim room =
        a.auto_pad == ImagePatches::valid ? in[2 + d] + Dim(1) - Dim(std::min(a.reach(d), in[2 + d].max())) : in[2 + d];
    if (a.auto_pad == ImagePatches::valid && in[2 + d].max() < a.reach(d)) room = Dim(0);
    out[2 + d] = Dim::divide_up(room, a.strides[d]);
  }
  ctx.output(0, ctx.type(0), out);
}

// Each position within a patch fills one box of the output: all patches and channels.
void image_patches_run(Run& ctx, const ImagePatches& a) {
  a.check();
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  Cells from(x);
  OutputCells to(y);
  std::memset(to.data(), 0, static_cast<size_t>(y.size()) * to.cell_size());
  int64_t before[2] = {0, 0};
  for (size_t d = 0; d < 2 && a.auto_pad != ImagePatches::valid; ++d) {
    int64_t missing = std::max<int64_t>((y.dim(2 + d) - 1) * a.strides[d] + a.reach(d) - x.dim(2 + d), 0);
    before[d] = (missing + (a.auto_pad == ImagePatches::same_lower ? 1 : 0)) / 2;
  }
  for (int64_t i = 0; i < a.sizes[0]; ++i)
    for (int64_t j = 0; j < a.sizes[1]; ++j) {
      int64_t inside[2] = {i * a.rates[0] - before[0], j * a.rates[1] - before[1]};
      std::vector<int64_t> dims{x.dim(0), x.dim(1), 0, 0};
      Strided target = dense_box(y.dims()), source = dense_box(x.dims());
      target.offset = (i * a.sizes[1] + j) * x.dim(1) * target.strides[1];
      for (size_t d = 0; d < 2; ++d) {
        int64_t step = a.strides[d], at = inside[d], n = x.dim(2 + d);
        int64_t first = at < 0 ? (-at + step - 1) / step : 0;
        int64_t last = n - 1 - at < 0 ? -1 : std::min((n - 1 - at) / step, y.dim(2 + d) - 1);
        dims[2 + d] = std::max<int64_t>(last - first + 1, 0);
        target.offset += first * target.strides[2 + d];
        source.offset += (first * step + at) * source.strides[2 + d];
        source.strides[2 + d] *= step;
      }
      copy_box(dims, to.cell_size(), to.data(), target, from.data(), source);
    }
  to.write_back();
}

}  // namespace

Definitions define_extract_image_patches() {
  return op<ImagePatches>("ExtractImagePatches", 3)
      .doc("Extract the sliding patches of an image (im2col) and stack them along the channels")
      .inputs("data")
      .infer(image_patches_infer)
      .linear()
      .reference(image_patches_run);
}

}  // namespace graft
