#include <graft/kit/following.hpp>
#include <graft/kit/moves.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

struct Reverse {
  enum Mode { index, mask } mode = index;
  static constexpr std::tuple schema{
      attr("mode", &Reverse::mode, "whether the second input holds axes or one flag per axis")
          .one_of("index", "mask")
          .required()};
};

std::vector<bool> reverse_axes(Reverse::Mode mode, const std::vector<int64_t>& given, size_t rank) {
  std::vector<bool> reversed(rank, false);
  if (mode == Reverse::index) {
    for (size_t a : normalize_axes(given, rank)) reversed[a] = true;
    return reversed;
  }
  if (given.size() != rank) fail("expected ", rank, " values in the mask, one per axis, got ", given.size());
  for (size_t i = 0; i < rank; ++i) reversed[i] = given[i] != 0;
  return reversed;
}

void reverse_run(Run& ctx, const Reverse& a) {
  TensorView x = ctx.input(0);
  std::vector<bool> reversed = reverse_axes(a.mode, ctx.input(1).to<int64_t>(), x.rank());
  Strided source = dense_box(x.dims());
  for (size_t i = 0; i < x.rank(); ++i) {
    if (!reversed[i]) continue;
    source.offset += (x.dim(i) - 1) * source.strides[i];
    source.strides[i] = -source.strides[i];
  }
  move_view(ctx.output(0), x, source);
}

void reverse_infer(Infer& ctx, const Reverse& a) {
  Shape in = ctx.shape(0);
  ctx.output(0, ctx.type(0), in);
  if (auto given = ctx.values<int64_t>(1); given && in.ranked()) reverse_axes(a.mode, *given, in.rank());
  follow_moves(ctx, a, reverse_run, {0}, {in});
}

struct ReverseSequence {
  int64_t batch_axis = 0, seq_axis = 1;
  static constexpr std::tuple schema{
      attr("batch_axis", &ReverseSequence::batch_axis, "axis that the lengths belong to"),
      attr("seq_axis", &ReverseSequence::seq_axis, "axis to reverse")};
};

void reverse_sequence_infer(Infer& ctx, const ReverseSequence& a) {
  Shape in = ctx.shape(0), lengths = ctx.shape(1);
  if (lengths.ranked() && lengths.rank() != 1) fail("expected 1-D seq_lengths, got shape ", lengths);
  if (in.ranked()) {
    size_t batch = normalize_axis(a.batch_axis, in.rank());
    normalize_axis(a.seq_axis, in.rank());
    if (lengths.ranked()) in[batch] = merge(in[batch], lengths[0]);
  }
  ctx.output(0, ctx.type(0), in);
}

// Each batch consists of two boxes: the first `length` steps reversed, the others unchanged.
void reverse_sequence_run(Run& ctx, const ReverseSequence& a) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  size_t batch = normalize_axis(a.batch_axis, x.rank()), seq = normalize_axis(a.seq_axis, x.rank());
  std::vector<int64_t> lengths = ctx.input(1).to<int64_t>();
  if (static_cast<int64_t>(lengths.size()) != x.dim(batch))
    fail("expected ", x.dim(batch), " seq_lengths, one per sequence, got ", lengths.size());
  if (batch == seq) fail("expected different batch_axis and seq_axis, got ", batch, " for both");
  Cells from(x);
  OutputCells to(y);
  std::vector<int64_t> dims(x.dims().begin(), x.dims().end());
  dims[batch] = 1;
  for (int64_t b = 0; b < x.dim(batch); ++b) {
    int64_t length = lengths[static_cast<size_t>(b)], whole = x.dim(seq);
    if (length < 0 || length > whole) fail("expected seq_lengths of 0 to ", whole, ", got ", length);
    Strided target = dense_box(x.dims());
    target.offset = b * target.strides[batch];
    Strided source = target;
    source.offset += (length - 1) * source.strides[seq];
    source.strides[seq] = -source.strides[seq];
    dims[seq] = length;
    copy_box(dims, to.cell_size(), to.data(), target, from.data(), source);
    target.offset += length * target.strides[seq];
    dims[seq] = whole - length;
    copy_box(dims, to.cell_size(), to.data(), target, from.data(), target);
  }
  to.write_back();
}

}  // namespace

Definitions define_reverse() {
  return {
      op<Reverse>("Reverse", 1)
          .doc("Reverse the order of elements along the given axes")
          .traits(Trait::moves_data)
          .inputs("data, axis")
          .infer(reverse_infer)
          .linear()
          .reference(reverse_run),
      op<ReverseSequence>("ReverseSequence", 1)
          .doc("Reverse the first seq_lengths[i] steps of each sequence")
          .inputs("data, seq_lengths")
          .infer(reverse_sequence_infer)
          .linear()
          .reference(reverse_sequence_run)
          .import(onnx("ReverseSequence").attr("batch_axis", "batch_axis", 1).attr("seq_axis", "time_axis", 0)),
  };
}

}  // namespace graft
