// start:stop:step along an axis, shared by Slice, StridedSlice and SliceScatter.
#pragma once

#include <graft/kit/known.hpp>

namespace graft {

// The elements that start:stop:step selects from a dimension: the first index, their number, and the step.
struct Cut {
  int64_t first, count, step;
};

// Negative bounds count from the end, and bounds out of range are clamped. Backward (step < 0), a stop that is still -1
// after this is before the first element.
inline Cut cut_of(int64_t n, int64_t start, int64_t stop, int64_t step) {
  if (step == 0) fail("expected a nonzero step, got 0");
  if (n == 0) return {0, 0, 1};
  if (start < 0) start += n;
  if (stop < 0) stop += n;
  bool back = step < 0;
  start = std::clamp(start, int64_t{0}, back ? n - 1 : n);
  stop = std::clamp(stop, back ? int64_t{-1} : int64_t{0}, n);
  int64_t span = back ? start - stop : stop - start;
  if (span <= 0) return {0, 0, 1};
  uint64_t stride = back ? 0 - static_cast<uint64_t>(step) : static_cast<uint64_t>(step);
  auto count = static_cast<int64_t>(static_cast<uint64_t>(span - 1) / stride) + 1;
  return {start, count, count == 1 ? 1 : step};
}

// The same for partially known dimensions and bounds.
inline Dim cut_dim(const Dim& in, const Dim& start, const Dim& stop, int64_t step) {
  constexpr int64_t far = INT32_MAX;  // models write this for "to the end"
  if (in.known() && start.known() && stop.known()) return Dim(cut_of(in.value(), start.min(), stop.min(), step).count);
  bool to_end = stop.min() >= std::min(in.max(), far) || stop.same(in);
  if (step == 1 && start.known() && start.min() == 0) {
    if (to_end) return in;
    if (!stop.known() && stop.min() >= 0) {
      if (stop.max() <= in.min()) return stop;
      return Dim::between(std::min(stop.min(), in.min()), std::min(stop.max(), in.max()));
    }
  }
  if (!start.known() || !stop.known()) return at_most(in);
  int64_t a = start.min(), z = stop.min();
  bool from_end = a == -1 || a >= std::min(in.max(), far);
  if (step == -1 && from_end && z < -std::min(in.max(), far)) return in;
  // The count is monotonic in the dimension unless one bound counts from the end and the other from the beginning: then
  // it decreases again once the two have crossed.
  auto count = [&](int64_t n) { return cut_of(n, a, z, step).count; };
  int64_t low = std::min(count(in.min()), count(in.max())), high = std::max(count(in.min()), count(in.max()));
  int64_t peak = step > 0 ? z : a < INT64_MAX ? a + 1 : a;
  for (int64_t n : {int64_t{1}, peak})  // clamped bounds may select the only element there is
    if (in.can_be(n)) high = std::max(high, count(n));
  if (in.max() == Dim::unbounded && count(INT64_MAX / 2) != count(INT64_MAX / 4)) high = Dim::unbounded;
  return Dim::between(low, high);
}

// The bounds of each axis of a tensor of known rank; inputs from `first`: start, stop, step, axes (optional).
struct CutAxis {
  Dim start = exact_number(0), stop = exact_number(INT64_MAX);
  std::optional<int64_t> step = 1;  // none: unknown
  bool cut = false;
};
// None if the axes are unknown.
inline std::optional<std::vector<CutAxis>> cut_axes(const NodeView& ctx, size_t first, size_t rank) {
  auto start = numbers_of(ctx, first), stop = numbers_of(ctx, first + 1);
  auto step = certain_numbers(ctx, first + 2);
  std::optional<std::vector<int64_t>> axes;
  if (ctx.has_input(first + 3)) {
    axes = certain_numbers(ctx, first + 3);
    if (!axes) return std::nullopt;
  } else {
    Dim n = length_of(ctx, first);
    for (size_t i = 1; i < 3; ++i)
      if (!n.known()) n = length_of(ctx, first + i);
    if (!n.known()) return std::nullopt;
    axes.emplace();
    for (size_t i = 0; i < axes_in(n); ++i) axes->push_back(static_cast<int64_t>(i));
  }
  auto fits = [&](size_t n) { return n == axes->size(); };
  if ((start && !fits(start->rank())) || (stop && !fits(stop->rank())) || (step && !fits(step->size())))
    fail("expected one start, stop and step per axis (", axes->size(), ")");
  std::vector<CutAxis> cuts(rank);
  std::vector<size_t> where = normalize_axes(*axes, rank);
  for (size_t i = 0; i < where.size(); ++i) {
    CutAxis& c = cuts[where[i]];
    if (c.cut) fail("axis ", where[i], " is sliced twice");
    c.cut = true;
    c.start = start ? (*start)[i] : any_number();
    c.stop = stop ? (*stop)[i] : any_number();
    c.step = step ? std::optional((*step)[i]) : std::nullopt;
  }
  return cuts;
}
inline Shape cut_shape(const NodeView& ctx, size_t first, const Shape& in) {
  for (size_t i = first; i < first + 4; ++i)
    if (ctx.has_input(i)) length_of(ctx, i);  // refuses other ranks than 1
  if (!in.ranked()) return in;
  auto cuts = cut_axes(ctx, first, in.rank());
  Shape out = in;
  for (size_t i = 0; i < in.rank(); ++i) {
    if (cuts && !(*cuts)[i].cut) continue;
    bool certain = cuts && (*cuts)[i].step;
    out[i] = certain ? cut_dim(in[i], (*cuts)[i].start, (*cuts)[i].stop, *(*cuts)[i].step) : at_most(in[i]);
  }
  return out;
}

}  // namespace graft
