// Reductions whose results are broadcast back to the elements: elements that differ only in their coordinates along the
// reduced axes share a slot.
#pragma once

#include <graft/op.hpp>

namespace graft {

class Slots {
 public:
  Slots(std::span<const int64_t> dims, const std::vector<size_t>& axes) : dims_(dims.begin(), dims.end()) {
    std::vector<int64_t> reduced = dims_;
    for (size_t a : axes) reduced[a] = 1;
    strides_ = broadcast_strides(reduced, dims_);
    count_ = count_of(reduced);
  }
  // The number of slots, and of elements per slot.
  int64_t count() const { return count_; }
  double share() const { return static_cast<double>(count_of(dims_)) / static_cast<double>(count_); }
  // Calls f(element index, slot) for all elements in order.
  template <class F>
  void each(F f) const {
    Walk walk(dims_, {strides_});
    if (walk.empty()) return;
    size_t i = 0;
    do f(i++, static_cast<size_t>(walk[0]));
    while (walk.next());
  }
  // Sums of f(element) per slot.
  template <class F>
  std::vector<double> sums(F f) const {
    std::vector<double> s(static_cast<size_t>(count_), 0);
    each([&](size_t i, size_t slot) { s[slot] += f(i, slot); });
    return s;
  }

 private:
  std::vector<int64_t> dims_, strides_;
  int64_t count_ = 0;
};

// The axes given by an input; none if they are data-dependent.
inline std::optional<std::vector<size_t>> axes_input(const NodeView& ctx, size_t input, const Shape& data) {
  Shape list = ctx.shape(input);
  if (list.ranked() && list.rank() > 1) fail("expected 1-D axes, got shape ", list);
  auto axes = ctx.values<int64_t>(input);
  if (!axes || !data.ranked()) return std::nullopt;
  return normalize_axes(*axes, data.rank());
}

}  // namespace graft
