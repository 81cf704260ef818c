#include <cstring>
#include <graft/op.hpp>

namespace graft {
namespace {

struct ReorgYolo {
  std::vector<int64_t> stride;
  static constexpr std::tuple schema{
      attr("stride", &ReorgYolo::stride, "side length of the blocks moved into the channels")
          .required()
          .between(1, 65536)};
};

void reorg_yolo_infer(Infer& ctx, const ReorgYolo& a) {
  if (a.stride.empty()) fail("expected a value in 'stride', got none");
  Shape data = ctx.shape(0);
  if (!data.ranked()) return ctx.output(0, ctx.type(0), Shape::of_rank(4));
  if (data.rank() != 4) fail("expected data of shape [N, C, H, W], got ", data);
  int64_t stride = a.stride[0];
  if (data[1].max() < stride * stride)
    fail("expected at least ", stride * stride, " channels in the data, got ", data[1]);
  for (size_t i = 2; i < 4; ++i) {
    if (data[i].known() && data[i].value() % stride != 0)
      fail("expected a height and width divisible by stride ", stride, ", got shape ", data);
    data[i] = data[i] / stride;
  }
  data[1] = data[1] * Dim(stride * stride);
  ctx.output(0, ctx.type(0), data);
}

// The element order of Darknet, which reads the data as if the channels had been expanded already: element (c, h, w)
// comes from channel c % depth of an image with `depth` channels and sides `stride` times as long.
void reorg_yolo_run(Run& ctx, const ReorgYolo& a) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  if (x.size() == 0) return;
  Cells from(x);
  OutputCells to(y);
  int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3), stride = a.stride[0];
  int64_t depth = channels / (stride * stride), all = x.size();
  size_t cell = from.cell_size();
  for (int64_t i = 0; i < all; ++i) {
    int64_t w = i % width, h = i / width % height, c = i / (width * height) % channels,
            n = i / (width * height * channels);
    int64_t offset = c / depth, row = h * stride + offset / stride, column = w * stride + offset % stride;
    int64_t source = ((n * depth + c % depth) * height * stride + row) * width * stride + column;
    // If the number of channels is not divisible, this would read past the end.
    if (source >= all)
      fail("expected a number of channels divisible by ", stride * stride, ", got shape ", x.info().shape);
    std::memcpy(to.data() + static_cast<size_t>(i) * cell, from.data() + static_cast<size_t>(source) * cell, cell);
  }
  to.write_back();
}

}  // namespace

Definitions define_reorg_yolo() {
  return op<ReorgYolo>("ReorgYolo", 2)
      .doc("Rearrange spatial blocks into channels, in the order of Darknet")
      .inputs("data")
      .infer(reorg_yolo_infer)
      .reference(reorg_yolo_run);
}

}  // namespace graft
