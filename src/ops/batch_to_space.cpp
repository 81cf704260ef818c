// BatchToSpace and SpaceToBatch: move spatial blocks into the batch axis, and back.
#include <graft/kit/known.hpp>
#include <graft/kit/moves.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

// Block sizes, and the crop or padding at the beginning and end of each axis.
struct BatchSpace {
  std::vector<int64_t> block, begin, end;
  void check(size_t rank) const {
    if (rank < 2) fail("expected data of rank 2 or more (a batch axis and spatial axes), got rank ", rank);
    if (block.size() != rank || begin.size() != rank || end.size() != rank)
      fail("expected one block size, begin and end per axis (", rank, "), got ", block.size(), ", ", begin.size(),
           " and ", end.size());
    for (size_t i = 0; i < rank; ++i) {
      if (block[i] < 1) fail("expected positive block sizes, got ", block[i]);
      if (begin[i] < 0 || end[i] < 0) fail("expected non-negative crops or pads, got ", begin[i], " and ", end[i]);
    }
    if (block[0] != 1 || begin[0] != 0 || end[0] != 0)
      fail("expected block size 1 and no crops or pads along the batch axis");
  }
  Dim places() const {
    Dim n = 1;
    for (int64_t b : block) n = n * Dim(b);
    if (!n.known() || n.max() == Dim::unbounded) fail("block sizes ", block, " are too large: their product overflows");
    return n;
  }
};
std::optional<BatchSpace> batch_space(Infer& ctx, const Shape& in) {
  auto block = certain_numbers(ctx, 1), begin = certain_numbers(ctx, 2), end = certain_numbers(ctx, 3);
  if (!block || !begin || !end || !in.ranked()) return std::nullopt;
  BatchSpace s{*block, *begin, *end};
  s.check(in.rank());
  return s;
}
Dim batch_space_share(const Dim& d, int64_t parts) {
  if (d.known() && d.value() % parts != 0) fail("expected a dimension divisible by ", parts, ", got ", d);
  return d / parts;
}

void batch_to_space_infer(Infer& ctx, const NoAttributes&) {
  Shape in = ctx.shape(0), out = all_unknown(in);
  if (auto s = batch_space(ctx, in)) {
    out[0] = batch_space_share(in[0], s->places().value());
    for (size_t i = 1; i < in.rank(); ++i) {
      Dim whole = in[i] * Dim(s->block[i]), cut = Dim(s->begin[i]) + Dim(s->end[i]);
      if (cut.min() > whole.max())
        fail("crops of ", s->begin[i], " and ", s->end[i], " exceed the dimension of ", whole);
      out[i] = whole - cut;
    }
  }
  ctx.output(0, ctx.type(0), out);
}
void space_to_batch_infer(Infer& ctx, const NoAttributes&) {
  Shape in = ctx.shape(0), out = all_unknown(in);
  if (auto s = batch_space(ctx, in)) {
    out[0] = in[0] * s->places();
    for (size_t i = 1; i < in.rank(); ++i)
      out[i] = batch_space_share(in[i] + Dim(s->begin[i]) + Dim(s->end[i]), s->block[i]);
  }
  ctx.output(0, ctx.type(0), out);
}

// Element `b` of block `i` is element i * block + b - begin of the plane. For a fixed `b` that is one box on either
// side; elements outside the plane (cropped, or padding) are skipped.
void batch_space_move(const BatchSpace& s, TensorView blocks, TensorView plane, const Cells& from, OutputCells& to,
                      bool into_plane) {
  size_t rank = plane.rank();
  int64_t batch = plane.dim(0);
  std::vector<int64_t> block_strides = strides_of(blocks.dims()), plane_strides = strides_of(plane.dims());
  Walk walk(s.block, {});
  int64_t place = 0;
  do {
    std::vector<int64_t> dims{batch};
    Strided here{place * batch * block_strides[0], block_strides}, there{0, plane_strides};
    for (size_t i = 1; i < rank; ++i) {
      int64_t shift = s.begin[i] - walk.index()[i], step = s.block[i];
      int64_t first = shift > 0 ? (shift + step - 1) / step : 0;
      int64_t last = plane.dim(i) - 1 + shift < 0 ? -1 : (plane.dim(i) - 1 + shift) / step;
      last = std::min(last, blocks.dim(i) - 1);
      dims.push_back(std::max<int64_t>(last - first + 1, 0));
      here.offset += first * block_strides[i];
      there.offset += (first * step - shift) * plane_strides[i];
      there.strides[i] *= step;
    }
    copy_box(dims, to.cell_size(), to.data(), into_plane ? there : here, from.data(), into_plane ? here : there);
    ++place;
  } while (walk.next());
}

BatchSpace batch_space(Run& ctx) {
  BatchSpace s{ctx.input(1).to<int64_t>(), ctx.input(2).to<int64_t>(), ctx.input(3).to<int64_t>()};
  s.check(ctx.input(0).rank());
  s.places();
  return s;
}
void batch_to_space_run(Run& ctx, const NoAttributes&) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  Cells from(x);
  OutputCells to(y);
  batch_space_move(batch_space(ctx), x, y, from, to, true);
  to.write_back();
}
void space_to_batch_run(Run& ctx, const NoAttributes&) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  if (y.size() == 0) return;
  Cells from(x);
  OutputCells to(y);
  std::memset(to.data(), 0, static_cast<size_t>(y.size()) * to.cell_size());
  batch_space_move(batch_space(ctx), y, x, from, to, false);
  to.write_back();
}

}  // namespace

Definitions define_batch_to_space() {
  return {
      op("BatchToSpace", 2)
          .doc("Move blocks from the batch axis into the spatial axes, then crop")
          .traits(Trait::moves_data)
          .inputs("data, block_shape, crops_begin, crops_end")
          .infer(batch_to_space_infer)
          .linear()
          .reference(batch_to_space_run),
      op("SpaceToBatch", 2)
          .doc("Pad the spatial axes with zeros, then move their blocks into the batch axis")
          .traits(Trait::moves_data)
          .inputs("data, block_shape, pads_begin, pads_end")
          .infer(space_to_batch_infer)
          .linear()
          .reference(space_to_batch_run),
  };
}

}  // namespace graft
