// Shape arithmetic shared by operations, over dimensions that may be unknown.
//
//   // Concatenation: all axes must match, except the one along which the sizes add up.
//   void concat_infer(Infer& ctx, const Concat& a) {
//     Shape out = ctx.shape(0);
//     size_t axis = normalize_axis(a.axis, out.rank());
//     for (size_t i = 1; i < ctx.inputs(); ++i) {
//       Shape next = ctx.shape(i);
//       Dim sum = out[axis] + next[axis];
//       next[axis] = out[axis] = Dim();
//       out = merge(out, next);
//       out[axis] = sum;
//     }
//     ctx.output(0, common_type(ctx), out);
//   }
//
// (A real one also handles inputs of unknown rank.) The functions on Dim and Shape never require a known size: they
// return what is certain, and fail (types.hpp) only if the operands cannot be valid. All are pure and may be called
// from any thread.
#pragma once

#include <algorithm>
#include <numeric>

#include "context.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// The dimension that `a` and `b` both describe, with the intersection of their bounds; fails if they cannot be equal:
//
//   merge(Dim(3), Dim())                             // 3
//   merge(Dim::between(1, 8), Dim::between(4, 64))   // 4..8
//   merge(Dim(3), Dim(4))                            // expected equal dimensions, got 3 and 4
inline Dim merge(const Dim& a, const Dim& b) {
  if (a.same(b)) return a.known() ? a : b;
  int64_t low = std::max(a.min(), b.min()), high = std::min(a.max(), b.max());
  if (low > high) fail("expected equal dimensions, got ", a, " and ", b);
  if (low == high) return Dim(low);
  return Dim(graft_dim{low, high, a.symbol() ? a.symbol() : b.symbol(), 0});
}
// The same for shapes, axis by axis; an unknown rank adds nothing. Fails if the ranks differ.
inline Shape merge(const Shape& a, const Shape& b) {
  if (!a.ranked()) return b;
  if (!b.ranked()) return a;
  if (a.rank() != b.rank()) fail("expected equal shapes, got ", a, " and ", b);
  Shape out = a;
  for (size_t i = 0; i < a.rank(); ++i) {
    int64_t low = std::max(a[i].min(), b[i].min()), high = std::min(a[i].max(), b[i].max());
    if (low > high) fail("expected equal shapes, got ", a, " and ", b);
    out[i] = merge(a[i], b[i]);
  }
  return out;
}
// What is certain about a value that is either `a` or `b`: the union of the bounds. Never fails. Used for the results
// of branches, and for values fed back in a loop:
//
//   either(Dim(3), Dim(5))   // 3..5
inline Dim either(const Dim& a, const Dim& b) {
  if (a.same(b)) return a;
  return Dim::between(std::min(a.min(), b.min()), std::max(a.max(), b.max()));
}
// The same for shapes; unknown if the ranks differ.
inline Shape either(const Shape& a, const Shape& b) {
  if (!a.ranked() || !b.ranked() || a.rank() != b.rank()) return Shape::unknown();
  Shape out = a;
  for (size_t i = 0; i < a.rank(); ++i) out[i] = either(a[i], b[i]);
  return out;
}

// NumPy broadcasting of one axis: equal sizes, or one of them is 1. Fails if both are known and do not fit:
//
//   broadcast(Dim(1), Dim(7))   // 7
//   broadcast(Dim(), Dim(7))    // 7: the unknown one must be 1 or 7
//   broadcast(Dim(2), Dim(7))   // dimensions 2 and 7 do not broadcast
inline Dim broadcast(const Dim& a, const Dim& b) {
  if (a.same(b)) return a;
  if (a.known() && a.value() == 1) return b;
  if (b.known() && b.value() == 1) return a;
  if (a.known() && b.known()) fail("dimensions ", a, " and ", b, " do not broadcast");
  if (a.known()) return a;  // 0 or > 1: b must be 1 or equal
  if (b.known()) return b;
  if (a.min() > 1) return a;
  if (b.min() > 1) return b;
  return Dim::between(std::max(a.min(), b.min()), std::max(a.max(), b.max()));
}
// NumPy broadcasting of shapes, aligned at the last axis; unknown if one of the ranks is.
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

// Maps an axis of -rank..rank-1, as models write it, to 0..rank-1; fails if it is out of range:
//
//   normalize_axis(-1, 4)   // 3
//   normalize_axis(4, 4)    // axis 4 is out of range for a tensor of rank 4
inline size_t normalize_axis(int64_t axis, size_t rank) {
  auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r) fail("axis ", axis, " is out of range for a tensor of rank ", rank);
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}
// The same for a list; duplicates are not detected.
inline std::vector<size_t> normalize_axes(const std::vector<int64_t>& axes, size_t rank) {
  std::vector<size_t> out;
  for (int64_t a : axes) out.push_back(normalize_axis(a, rank));
  return out;
}

// The element type that these inputs share (absent and undefined ones do not count); fails if two of them differ.
inline DType common_type(const NodeView& node, std::initializer_list<size_t> inputs) {
  DType type = DType::undefined;
  for (size_t i : inputs) {
    if (!node.has_input(i)) continue;
    DType t = node.type(i);
    if (t == DType::undefined) continue;
    if (type != DType::undefined && type != t) fail("expected inputs of the same type, got ", type, " and ", t);
    type = t;
  }
  return type;
}
// The same over all inputs.
inline DType common_type(const NodeView& node) {
  DType type = DType::undefined;
  for (size_t i = 0; i < node.inputs(); ++i) {
    if (!node.has_input(i)) continue;
    DType t = node.type(i);
    if (t == DType::undefined) continue;
    if (type != DType::undefined && type != t) fail("expected inputs of the same type, got ", type, " and ", t);
    type = t;
  }
  return type;
}

// Dense row-major strides, in elements: {12, 4, 1} for [2,3,4]. The product of dimensions exceeds 64 bits only where
// another one is 0, so that nothing is ever accessed; then it wraps around.
inline std::vector<int64_t> strides_of(std::span<const int64_t> dims) {
  std::vector<int64_t> s(dims.size());
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    s[i] = step;
    (void)__builtin_mul_overflow(step, dims[i], &step);
  }
  return s;
}
// The number of elements; 1 for no dimensions.
inline int64_t count_of(std::span<const int64_t> dims) {
  int64_t n = 1;
  for (int64_t d : dims) (void)__builtin_mul_overflow(n, d, &n);
  return n;
}
// The strides of `dims` seen from the larger shape `out` that it broadcasts to: 0 along repeated axes. The shapes must
// be compatible, which inference has checked:
//
//   broadcast_strides({3, 1}, {2, 3, 4})   // {0, 1, 0}
inline std::vector<int64_t> broadcast_strides(std::span<const int64_t> dims, std::span<const int64_t> out) {
  std::vector<int64_t> dense = strides_of(dims), s(out.size(), 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    size_t o = out.size() - dims.size() + i;
    if (dims[i] != 1) s[o] = dense[i];
  }
  return s;
}

// Visits all positions of a shape in row-major order, with one running offset per set of strides:
//
//   Walk walk(dims, {strides_a, strides_b});
//   if (walk.empty()) return;
//   do { y[i++] = a[walk[0]] + b[walk[1]]; } while (walk.next());
//
// The offsets are updated incrementally, which is much cheaper than computing them from the index. A shape without
// elements has no first position: test `empty()` before.
class Walk {
 public:
  // One list of strides per buffer, each with as many elements as there are dimensions.
  Walk(std::span<const int64_t> dims, std::vector<std::vector<int64_t>> strides)
      : dims_(dims.begin(), dims.end()), strides_(std::move(strides)), at_(dims.size()), offset_(strides_.size()) {}
  // Whether there is nothing to visit.
  bool empty() const { return std::find(dims_.begin(), dims_.end(), 0) != dims_.end(); }
  // The current offset for the given set of strides.
  int64_t operator[](size_t which) const { return offset_[which]; }
  // The current coordinates.
  std::span<const int64_t> index() const { return at_; }
  // Advances to the next position; false after the last one.
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

// Calls f with a value of the C++ type in which to compute elements of `type`: double for floating-point types,
// uint64_t for u64, int64_t for all other integers and booleans. Fails for strings.
//
//   with_number_type(x.type(), [&]<class T>(T) {
//     std::vector<T> v = x.to<T>();
//     ...
//     y.assign(v);
//   });
template <class F>
void with_number_type(DType type, F&& f) {
  if (is_real(type)) f(double{});
  else if (type == DType::u64) f(uint64_t{});
  else if (is_integer(type) || type == DType::boolean) f(int64_t{});
  else fail("expected numeric elements, got ", type);
}

}  // namespace graft
