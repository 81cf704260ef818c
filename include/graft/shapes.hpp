// Shape arithmetic that operations share, over dimensions that may be unknown.
#pragma once

#include <algorithm>
#include <numeric>

#include "context.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// The one dimension that `a` and `b` both are; refuses when they cannot be equal.
inline Dim merge(const Dim& a, const Dim& b) {
  if (a.same(b)) return a.known() ? a : b;
  int64_t low = std::max(a.min(), b.min()), high = std::min(a.max(), b.max());
  if (low > high) fail("dimensions ", a, " and ", b, " differ");
  if (low == high) return Dim(low);
  return Dim(graft_dim{low, high, a.symbol() ? a.symbol() : b.symbol(), 0});
}
inline Shape merge(const Shape& a, const Shape& b) {
  if (!a.ranked()) return b;
  if (!b.ranked()) return a;
  if (a.rank() != b.rank()) fail("shapes ", a, " and ", b, " differ");
  Shape out = a;
  for (size_t i = 0; i < a.rank(); ++i) {
    int64_t low = std::max(a[i].min(), b[i].min()), high = std::min(a[i].max(), b[i].max());
    if (low > high) fail("shapes ", a, " and ", b, " differ");
    out[i] = merge(a[i], b[i]);
  }
  return out;
}
// What is certain of a value that is either `a` or `b`.
inline Dim either(const Dim& a, const Dim& b) {
  if (a.same(b)) return a;
  return Dim::between(std::min(a.min(), b.min()), std::max(a.max(), b.max()));
}
inline Shape either(const Shape& a, const Shape& b) {
  if (!a.ranked() || !b.ranked() || a.rank() != b.rank()) return Shape::unknown();
  Shape out = a;
  for (size_t i = 0; i < a.rank(); ++i) out[i] = either(a[i], b[i]);
  return out;
}

// NumPy broadcasting.
inline Dim broadcast(const Dim& a, const Dim& b) {
  if (a.same(b)) return a;
  if (a.known() && a.value() == 1) return b;
  if (b.known() && b.value() == 1) return a;
  if (a.known() && b.known()) fail("dimensions ", a, " and ", b, " do not broadcast");
  if (a.known()) return a;  // > 1 or 0: b must be 1 or the same
  if (b.known()) return b;
  if (a.min() > 1) return a;
  if (b.min() > 1) return b;
  return Dim::between(std::max(a.min(), b.min()), std::max(a.max(), b.max()));
}
inline Shape broadcast(const Shape& a, const Shape& b) {
  if (!a.ranked() || !b.ranked()) return Shape::unknown();
  size_t rank = std::max(a.rank(), b.rank());
  Shape out = Shape::of_rank(rank);
  for (size_t i = 0; i < rank; ++i) {
    Dim x = i < a.rank() ? a[a.rank() - 1 - i] : Dim(1);
    Dim y = i < b.rank() ? b[b.rank() - 1 - i] : Dim(1);
    if (x.known() && y.known() && x.value() != y.value() && x.value() != 1 && y.value() != 1)
      fail("shapes ", a, " and ", b, " do not broadcast");
    out[rank - 1 - i] = broadcast(x, y);
  }
  return out;
}

// An axis of -rank..rank-1 as one of 0..rank-1.
inline size_t normalize_axis(int64_t axis, size_t rank) {
  auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r) fail("axis ", axis, " is outside a tensor of rank ", rank);
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}
inline std::vector<size_t> normalize_axes(const std::vector<int64_t>& axes, size_t rank) {
  std::vector<size_t> out;
  for (int64_t a : axes) out.push_back(normalize_axis(a, rank));
  return out;
}

// The type that all these inputs share; refuses when two known ones differ.
inline DType common_type(const NodeView& node, std::initializer_list<size_t> inputs) {
  DType type = DType::undefined;
  for (size_t i : inputs) {
    if (!node.has_input(i)) continue;
    DType t = node.type(i);
    if (t == DType::undefined) continue;
    if (type != DType::undefined && type != t) fail("inputs of types ", type, " and ", t, ", which should be the same");
    type = t;
  }
  return type;
}
inline DType common_type(const NodeView& node) {
  DType type = DType::undefined;
  for (size_t i = 0; i < node.inputs(); ++i) {
    if (!node.has_input(i)) continue;
    DType t = node.type(i);
    if (t == DType::undefined) continue;
    if (type != DType::undefined && type != t) fail("inputs of types ", type, " and ", t, ", which should be the same");
    type = t;
  }
  return type;
}

// Dense row-major strides, in elements.
inline std::vector<int64_t> strides_of(std::span<const int64_t> dims) {
  std::vector<int64_t> s(dims.size());
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    s[i] = step;
    step *= dims[i];
  }
  return s;
}
inline int64_t count_of(std::span<const int64_t> dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}
// Strides of `dims` as seen from the larger shape `out` it broadcasts to: 0 along repeated axes.
inline std::vector<int64_t> broadcast_strides(std::span<const int64_t> dims, std::span<const int64_t> out) {
  std::vector<int64_t> dense = strides_of(dims), s(out.size(), 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    size_t o = out.size() - dims.size() + i;
    if (dims[i] != 1) s[o] = dense[i];
  }
  return s;
}

// Walks all positions of a shape in row-major order, keeping one running offset per set of strides.
//   Walk walk(dims, {strides_a, strides_b});
//   do { y[i++] = a[walk[0]] + b[walk[1]]; } while (walk.next());
// A shape without elements must not be walked: test `walk.empty()`.
class Walk {
 public:
  Walk(std::span<const int64_t> dims, std::vector<std::vector<int64_t>> strides)
      : dims_(dims.begin(), dims.end()), strides_(std::move(strides)), at_(dims.size()), offset_(strides_.size()) {}
  bool empty() const { return std::find(dims_.begin(), dims_.end(), 0) != dims_.end(); }
  int64_t operator[](size_t which) const { return offset_[which]; }
  std::span<const int64_t> index() const { return at_; }
  bool next() {
    for (size_t axis = dims_.size(); axis-- > 0;) {
      for (size_t s = 0; s < offset_.size(); ++s) offset_[s] += strides_[s][axis];
      if (++at_[axis] < dims_[axis]) return true;
      for (size_t s = 0; s < offset_.size(); ++s) offset_[s] -= strides_[s][axis] * dims_[axis];
      at_[axis] = 0;
    }
    return false;
  }

 private:
  std::vector<int64_t> dims_;
  std::vector<std::vector<int64_t>> strides_;
  std::vector<int64_t> at_;
  std::vector<int64_t> offset_;
};

// Calls f with a value of the C++ type that computes `type` exactly enough: double for reals, int64_t for whole numbers
// and booleans, uint64_t for u64.
template <class F>
void with_number_type(DType type, F&& f) {
  if (is_real(type)) f(double{});
  else if (type == DType::u64) f(uint64_t{});
  else if (is_integer(type) || type == DType::boolean) f(int64_t{});
  else fail("elements of type ", type, " cannot be computed with");
}

}  // namespace graft
