// ONNX's view of a tensor as a matrix: the axes before a given one form the rows, the rest the columns.
#pragma once

#include <graft/op.hpp>

namespace graft {

inline Value flattened(const Value& x, int64_t axis) {
  Builder& in = x.in();
  if (axis == 0) return reshape(x, {1, -1});
  if (axis == 1) return in.op("Reshape", {x, in.ints({0, -1})}, {{"special_zero", true}});
  size_t rank = x.rank();
  auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis > r) fail("axis ", axis, " is out of range for a tensor of rank ", rank);
  if (axis < 0) axis += r;
  if (axis == r) return reshape(x, {-1, 1});
  Shape s = x.shape(), head(std::vector<Dim>(s.begin(), s.begin() + axis)),
        tail(std::vector<Dim>(s.begin() + axis, s.end()));
  if (head.elements().known()) return reshape(x, {head.elements().value(), -1});
  if (tail.elements().known()) return reshape(x, {-1, tail.elements().value()});
  Value first = in.op("Slice", {shape_of(x), in.ints({0}), in.ints({axis}), in.ints({1})});
  Value product = in.op("ReduceProd", {first, in.ints({0})}, {{"keep_dims", true}});
  return in.op("Reshape", {x, in.op("Concat", {product, in.ints({-1})}, {{"axis", 0}})}, {{"special_zero", false}});
}

// Applies f(value, axis) to the rows of that matrix and restores the shape of `x`. No reshape is needed if the columns
// are a single axis of `x`.
template <class F>
Value along_rows(const Value& x, int64_t axis, F f) {
  Shape s = x.shape();
  if (s.ranked() && s.rank() == 0) return f(x, int64_t{0});
  if (s.ranked()) {
    size_t first = normalize_axis(axis, s.rank()), wide = 0, at = first;
    for (size_t i = first; i < s.rank(); ++i)
      if (!s[i].same(Dim(1))) ++wide, at = i;
    if (wide <= 1) return f(x, static_cast<int64_t>(at));
  }
  Value y = f(flattened(x, axis), int64_t{1});
  if (s.is_static()) return reshape(y, s.values());
  return x.in().op("Reshape", {y, shape_of(x)}, {{"special_zero", false}});
}

}  // namespace graft
