#include <graft/kit/following.hpp>
#include <graft/kit/moves.hpp>
#include <graft/numeric.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

// Rolling swaps two parts of the data along each axis; each combination of parts is one box.
void roll_run(Run& ctx, const NoAttributes&) {
  TensorView x = ctx.input(0);
  OutputView y = ctx.output(0);
  std::vector<int64_t> shifts = ctx.input(1).to<int64_t>();
  std::vector<size_t> axes = normalize_axes(ctx.input(2).to<int64_t>(), x.rank());
  if (shifts.size() == 1) shifts.resize(axes.size(), shifts[0]);
  if (shifts.size() != axes.size()) fail("expected ", axes.size(), " shifts, one per axis, got ", shifts.size());
  if (x.size() == 0) return;
  std::vector<int64_t> shift(x.rank(), 0), parts(x.rank(), 1);
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t n = x.dim(axes[i]);
    shift[axes[i]] = floored_mod(shift[axes[i]] + floored_mod(shifts[i], n), n);
    parts[axes[i]] = shift[axes[i]] ? 2 : 1;
  }
  Cells from(x);
  OutputCells to(y);
  Walk walk(parts, {});
  do {
    std::vector<int64_t> dims;
    Strided target = dense_box(x.dims()), source = target;
    for (size_t i = 0; i < x.rank(); ++i) {
      int64_t n = x.dim(i), kept = n - shift[i];
      bool moved_round = walk.index()[i] == 1;
      dims.push_back(moved_round ? shift[i] : kept);
      target.offset += (moved_round ? 0 : shift[i]) * target.strides[i];
      source.offset += (moved_round ? kept : 0) * source.strides[i];
    }
    copy_box(dims, to.cell_size(), to.data(), target, from.data(), source);
  } while (walk.next());
  to.write_back();
}

void roll_infer(Infer& ctx, const NoAttributes& a) {
  Shape in = ctx.shape(0);
  Dim shifts = length_of(ctx, 1), axes = length_of(ctx, 2);
  if (shifts.known() && axes.known() && shifts.value() != 1 && shifts.value() != axes.value())
    fail("expected ", axes, " shifts, one per axis, got ", shifts);
  if (auto where = certain_numbers(ctx, 2); where && in.ranked()) normalize_axes(*where, in.rank());
  ctx.output(0, ctx.type(0), in);
  follow_moves(ctx, a, roll_run, {0}, {in});
}

}  // namespace

Definitions define_roll() {
  return op("Roll", 7)
      .doc("Roll elements along the given axes; elements shifted past the end reappear at the beginning")
      .traits(Trait::moves_data)
      .inputs("data, shift, axes")
      .infer(roll_infer)
      .linear()
      .reference(roll_run);
}

}  // namespace graft
