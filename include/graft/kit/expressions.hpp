// Expressions of values: what import rules and passes build again and again, in one call each.
//
//   Value h = build::matmul(x, w, false, true) + b;
//   Value parts = build::concat({build::slice(h, 1, 0, 4), build::fill(layer, 0, h.type(), build::dims(h, {0, 1}))},
//   1);
//
// Arithmetic operators, `reshape`, `transpose` and other single steps are in builder.hpp. Each function adds nodes to
// the graph of its arguments; shapes that are known become constants.
#pragma once

#include "../builder.hpp"
#include "../shapes.hpp"

namespace [[gnu::visibility("hidden")]] graft {

namespace build {

inline Value concat(const std::vector<Value>& parts, int64_t axis) {
  return parts.size() == 1 ? parts[0] : parts[0].in().op("Concat", parts, {{"axis", axis}});
}
inline Value slice(const Value& v, int64_t axis, int64_t start, int64_t end, int64_t step = 1) {
  Builder& in = v.in();
  return in.op("Slice", {v, in.ints({start}), in.ints({end}), in.ints({step}), in.ints({axis})});
}
// The same with a computed end, a 1-D tensor of one element.
inline Value slice(const Value& v, int64_t axis, const Value& start, const Value& end) {
  Builder& in = v.in();
  return in.op("Slice", {v, start, end, in.ints({1}), in.ints({axis})});
}
inline std::vector<Value> split(const Value& v, int64_t axis, int64_t parts) {
  if (parts == 1) return {v};
  return v.in().ops("Split", {v, v.in().scalar(axis)}, {{"num_splits", parts}}, static_cast<size_t>(parts));
}
inline std::vector<Value> split(const Value& v, int64_t axis, const std::vector<int64_t>& lengths) {
  if (lengths.size() == 1) return {v};
  Builder& in = v.in();
  return in.ops("VariadicSplit", {v, in.scalar(axis), in.ints(lengths)}, {}, lengths.size());
}
inline Value gather(const Value& v, const Value& indices, int64_t axis) {
  return v.in().op("Gather", {v, indices, v.in().scalar(axis)});
}
// Some dimensions of a value as a 1-D tensor: a constant if they are known.
inline Value dims(const Value& v, const std::vector<int64_t>& axes) {
  Shape s = v.shape();
  std::vector<int64_t> known;
  for (int64_t axis : axes)
    if (s.ranked() && s[normalize_axis(axis, s.rank())].known())
      known.push_back(s[normalize_axis(axis, s.rank())].value());
  if (known.size() == axes.size()) return v.in().ints(known);
  return gather(shape_of(v), v.in().ints(axes), 0);
}
inline Value dim(const Value& v, int64_t axis) { return dims(v, {axis}); }
// Reshape to a computed target shape; -1 is inferred.
inline Value reshape(const Value& v, const std::vector<Value>& parts) {
  return v.in().op("Reshape", {v, concat(parts, 0)}, {{"special_zero", false}});
}
// 0 keeps a dimension, -1 is inferred.
inline Value reshape_keeping(const Value& v, const std::vector<int64_t>& target) {
  return v.in().op("Reshape", {v, v.in().ints(target)}, {{"special_zero", true}});
}
inline Value broadcast(const Value& v, const Value& target) {
  return v.in().op("Broadcast", {v, target}, {{"mode", "numpy"}});
}
// A tensor of the shape `target` (1-D) filled with one number.
inline Value fill(Builder& in, double number, DType type, const Value& target) {
  return broadcast(in.scalar(number, type), target);
}
inline Value select(const Value& condition, const Value& yes, const Value& no) {
  return yes.in().op("Select", {condition, yes, no});
}
inline Value matmul(const Value& a, const Value& b, bool transpose_a = false, bool transpose_b = false) {
  return a.in().op("MatMul", {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
}
inline Value softmax(const Value& v, int64_t axis) { return v.in().op("Softmax@8", {v}, {{"axis", axis}}); }
inline Value reduce_mean(const Value& v, const std::vector<int64_t>& axes) {
  return v.in().op("ReduceMean", {v, v.in().ints(axes)}, {{"keep_dims", true}});
}
// start, start + 1, ... up to but excluding `stop`; both are scalars.
inline Value range(const Value& start, const Value& stop, DType type) {
  Builder& in = start.in();
  return in.op("Range", {start, stop, in.scalar(1.0, start.type())}, {{"output_type", type}});
}

}  // namespace build

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
