// Properties of weights and constants that the linear rewrites need.
#pragma once

#include <graft/extension.hpp>

namespace graft {

inline std::optional<std::vector<int64_t>> static_dims(const Value& v) {
  Shape s = v.shape();
  if (!s.is_static()) return std::nullopt;
  return s.values();
}

// A constant of finite values, which can safely be folded into others.
inline bool is_plain_constant(const Value& v) {
  TensorView t = v ? v.constant() : TensorView();
  if (!t || !is_real(v.type()) || bits_of(v.type()) < 16 || t.size() == 0) return false;
  if (t.size() > (1 << 20))
    return true;  // large weights: checking every element is too slow, and trained weights are finite
  for (double x : t.to<double>())
    if (!std::isfinite(x)) return false;
  return true;
}

// If a constant, broadcast against a value of this rank, varies along `axis` only, returns its length there: 1 or that
// of the axis.
inline std::optional<int64_t> length_along(const Value& c, size_t rank, size_t axis) {
  auto dims = static_dims(c);
  if (!dims || dims->size() > rank) return std::nullopt;
  int64_t length = 1;
  for (size_t i = 0; i < dims->size(); ++i) {
    bool here = rank - dims->size() + i == axis;
    if (here) length = (*dims)[i];
    else if ((*dims)[i] != 1) return std::nullopt;
  }
  return length;
}

inline bool is_convolution(const NodeRef& n) { return n.is("Convolution") || n.is("GroupConvolution"); }
inline bool is_backprop(const NodeRef& n) {
  return n.is("ConvolutionBackpropData") || n.is("GroupConvolutionBackpropData");
}

// The operands of a commutative operation as {value, constant}; empty if neither is constant.
inline std::pair<Value, Value> with_constant(const NodeRef& n) {
  for (size_t i : {1, 0})
    if (n.inputs() == 2 && is_plain_constant(n.input(i)) && !n.input(1 - i).constant())
      return {n.input(1 - i), n.input(i)};
  return {};
}

}  // namespace graft
