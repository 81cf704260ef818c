#include <graft/kit/following.hpp>
#include <graft/kit/moves.hpp>
#include <graft/op.hpp>

#include "slicing.hpp"

namespace graft {
namespace {

struct StridedSlice {
  std::vector<int64_t> begin_mask, end_mask, new_axis_mask, shrink_axis_mask, ellipsis_mask;
  static constexpr std::tuple schema{
      attr("begin_mask", &StridedSlice::begin_mask, "1: ignore begin, the axis starts at its beginning").between(0, 1),
      attr("end_mask", &StridedSlice::end_mask, "1: ignore end, the axis is taken to its end").between(0, 1),
      attr("new_axis_mask", &StridedSlice::new_axis_mask, "1: insert an axis of size 1").between(0, 1),
      attr("shrink_axis_mask", &StridedSlice::shrink_axis_mask, "1: take a single index and remove the axis")
          .between(0, 1),
      attr("ellipsis_mask", &StridedSlice::ellipsis_mask, "1: ellipsis, stands for all remaining axes").between(0, 1)};
};

// The treatment of each axis, in order; `slot` is the position in begin, end and stride.
struct StridedStep {
  enum Kind { whole, cut, shrink, insert } kind;
  size_t slot;
};
std::vector<StridedStep> strided_steps(const StridedSlice& a, size_t slots, size_t rank) {
  auto set = [](const std::vector<int64_t>& mask, size_t i) { return i < mask.size() && mask[i] != 0; };
  size_t used = 0, ellipses = 0;
  for (size_t i = 0; i < slots; ++i) {
    if (set(a.ellipsis_mask, i)) ++ellipses;
    else if (!set(a.new_axis_mask, i)) ++used;
  }
  if (ellipses > 1) fail("expected at most one ellipsis in ellipsis_mask, got ", ellipses);
  if (used > rank) fail("expected bounds for at most ", rank, " axes, the rank of the data, got ", used);
  std::vector<StridedStep> steps;
  auto fill = [&] { steps.insert(steps.end(), rank - used, {StridedStep::whole, 0}); };
  for (size_t i = 0; i < slots; ++i) {
    if (set(a.ellipsis_mask, i)) fill();
    else
      steps.push_back({set(a.new_axis_mask, i)      ? StridedStep::insert
                       : set(a.shrink_axis_mask, i) ? StridedStep::shrink
                                                    : StridedStep::cut,
                       i});
  }
  if (!ellipses) fill();
  return steps;
}

// The bounds of one slot with the masks applied.
CutAxis strided_bounds(const StridedSlice& a, size_t slot, const Dim& begin, const Dim& end,
                       std::optional<int64_t> step) {
  auto set = [&](const std::vector<int64_t>& mask) { return slot < mask.size() && mask[slot] != 0; };
  CutAxis c{begin, end, step, true};
  bool back = step && *step < 0;
  if (set(a.begin_mask)) c.start = step ? exact_number(back ? INT64_MAX : 0) : any_number();
  if (set(a.end_mask)) c.stop = step ? exact_number(back ? INT64_MIN : INT64_MAX) : any_number();
  return c;
}

void strided_slice_run(Run& ctx, const StridedSlice& a) {
  TensorView x = ctx.input(0);
  std::vector<int64_t> begin = ctx.input(1).to<int64_t>(), end = ctx.input(2).to<int64_t>(), step(begin.size(), 1);
  if (ctx.has_input(3)) step = ctx.input(3).to<int64_t>();
  if (end.size() != begin.size() || step.size() != begin.size())
    fail("expected begin, end and strides of equal length");
  std::vector<int64_t> strides = strides_of(x.dims()), dims;
  Strided box;
  size_t axis = 0;
  for (const StridedStep& s : strided_steps(a, begin.size(), x.rank())) {
    if (s.kind == StridedStep::insert) {
      dims.push_back(1), box.strides.push_back(0);
      continue;
    }
    int64_t n = x.dim(axis), stride = strides[axis];
    ++axis;
    if (s.kind == StridedStep::shrink) {
      box.offset += checked_index(begin[s.slot], n) * stride;
      continue;
    }
    Cut part{0, n, 1};
    if (s.kind == StridedStep::cut) {
      CutAxis c = strided_bounds(a, s.slot, exact_number(begin[s.slot]), exact_number(end[s.slot]), step[s.slot]);
      part = cut_of(n, c.start.min(), c.stop.min(), step[s.slot]);
    }
    box.offset += part.first * stride;
    dims.push_back(part.count), box.strides.push_back(part.step * stride);
  }
  move_view(ctx.output(0), x, box, dims);
}

void strided_slice_infer(Infer& ctx, const StridedSlice& a) {
  Shape in = ctx.shape(0);
  Dim slots = length_of(ctx, 1), ends = length_of(ctx, 2);
  if (!slots.known()) slots = ends;
  if (!in.ranked() || !slots.known()) return ctx.output(0, ctx.type(0), Shape::unknown());
  size_t n = axes_in(slots);
  auto begin = numbers_of(ctx, 1), end = numbers_of(ctx, 2);
  std::optional<std::vector<int64_t>> step(std::in_place, n, 1);
  if (ctx.has_input(3)) step = certain_numbers(ctx, 3);
  if ((begin && begin->rank() != n) || (end && end->rank() != n) || (step && step->size() != n))
    fail("expected begin, end and strides of equal length");
  Shape out;
  size_t axis = 0;
  for (const StridedStep& s : strided_steps(a, n, in.rank())) {
    if (s.kind == StridedStep::insert) {
      out.push_back(1);
      continue;
    }
    const Dim& dim = in[axis++];
    if (s.kind == StridedStep::whole) {
      out.push_back(dim);
      continue;
    }
    auto of = [&](const std::optional<Shape>& list) { return list ? (*list)[s.slot] : any_number(); };
    Dim first = of(begin);
    if (s.kind == StridedStep::shrink) {
      if (dim.known() && first.known()) {
        int64_t i = first.min(), size = dim.value();
        if (i < -size || i >= size) fail("index ", i, " is out of range for a dimension of ", size);
      }
      continue;
    }
    CutAxis c = strided_bounds(a, s.slot, first, of(end), step ? std::optional((*step)[s.slot]) : std::nullopt);
    out.push_back(c.step ? cut_dim(dim, c.start, c.stop, *c.step) : at_most(dim));
  }
  ctx.output(0, ctx.type(0), out);
  follow_moves(ctx, a, strided_slice_run, {0}, {out});
}

}  // namespace

Definitions define_strided_slice() {
  return op<StridedSlice>("StridedSlice", 1)
      .doc("Slice begin:end:stride of each axis; masks ignore bounds, insert axes and remove axes")
      .traits(Trait::moves_data)
      .inputs("data, begin, end, strides?")
      .infer(strided_slice_infer)
      .linear()
      .reference(strided_slice_run);
}

}  // namespace graft
