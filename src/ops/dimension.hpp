// A dimension of a tensor as a graph value: a constant if it is known.
#pragma once

#include <graft/builder.hpp>

namespace graft {

inline Value dimension_of(const Value& x, int64_t axis) {
  Shape s = x.shape();
  if (s.ranked()) {
    const Dim& d = s[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(s.rank()) : axis)];
    if (d.known()) return x.in().scalar(d.value());
  }
  return x.in().op("Gather", {shape_of(x), x.in().scalar(axis), x.in().scalar(int64_t{0})});
}

// A single number as a scalar; files store it as a scalar or as a tensor of one element.
inline Value as_scalar(const Value& v) {
  Shape s = v.shape();
  return s.ranked() && s.rank() == 0 ? v : v.in().op("Reshape", {v, v.in().ints({})}, {{"special_zero", false}});
}

// 0, 1, ... count - 1
inline Value counting(const Value& count, DType type) {
  Builder& in = count.in();
  return in.op("Range", {in.scalar(int64_t{0}), count, in.scalar(int64_t{1})}, {{"output_type", type}});
}

}  // namespace graft
