// Helpers for passes that match formulas: their operations and numbers, and whether a part has other consumers.
//
//   // x * sigmoid(1.702 * x)  =>  a quick Gelu
//   for (size_t i : {0, 1})
//     if (NodeRef s = piece(at.input(i), "Sigmoid"))
//       if (WithNumber m = beside_number(piece(s.input(0), "Multiply")); m && near(m.number, 1.702, m.value.type()))
//       ...
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "pass.hpp"
#include "shapes.hpp"

namespace [[gnu::visibility("hidden")]] graft {

inline NodeRef made_by(const Value& v, std::string_view type) {
  NodeRef n = producer(v);
  return n.is(type) ? n : NodeRef();
}
// The same for a value with a single consumer: it disappears with the formula.
inline NodeRef piece(const Value& v, std::string_view type) {
  NodeRef n = made_by(v, type);
  return n && used_once(v) ? n : NodeRef();
}
// Whether these nodes are the only consumers of the value.
inline bool used_only_by(const Value& v, std::initializer_list<NodeRef> nodes) {
  for (const Consumer& r : consumers(v)) {
    bool listed = false;
    for (const NodeRef& n : nodes) listed |= n.raw() == r.node.raw();
    if (!listed) return false;
  }
  return true;
}

// The number held by a constant of one element.
inline std::optional<double> single(const Value& v) {
  if (!v) return std::nullopt;
  Shape s = v.shape();
  if (!s.is_static() || s.elements().value() != 1) return std::nullopt;
  return number(v);
}
// Equal to the number in a formula, within the precision of the element type.
inline bool near(double found, double wanted, DType type) {
  double share = type == DType::bf16 ? 4e-3 : type == DType::f16 ? 1e-3 : 5e-6;
  return std::fabs(found - wanted) <= share * std::fabs(wanted);
}
// The values of an integer constant: axes, orders, sizes.
inline std::optional<std::vector<int64_t>> whole_numbers(const Value& v) {
  if (!v || !is_integer(v.type())) return std::nullopt;
  return v.values<int64_t>();
}
// Non-negative axes, sorted.
inline std::optional<std::vector<size_t>> axes_of(const Value& v, size_t rank) {
  auto given = whole_numbers(v);
  if (!given || rank == 0) return std::nullopt;
  std::vector<size_t> axes = normalize_axes(*given, rank);
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

// A formula of x and single numbers has the shape of x, unless one of the numbers has a higher rank.
inline bool has_rank_of(const Value& y, const Value& x) {
  Shape a = y.shape(), b = x.shape();
  return a.ranked() && b.ranked() && a.rank() == b.rank();
}
// A floating-point formula whose result can be replaced by one with the shape of x.
inline bool suits(Rewrite& at, const Value& x) { return is_real(x.type()) && has_rank_of(at.self(), x); }

inline bool certainly_same(const Shape& a, const Shape& b) {
  if (!a.ranked() || !b.ranked() || a.rank() != b.rank()) return false;
  for (size_t i = 0; i < a.rank(); ++i)
    if (!a[i].same(b[i])) return false;
  return true;
}
// Whether `part` broadcasts to `whole` without changing it.
inline bool fills(const Shape& part, const Shape& whole) {
  if (!part.ranked() || !whole.ranked() || part.rank() > whole.rank()) return false;
  for (size_t i = 0; i < part.rank(); ++i) {
    const Dim& p = part[i];
    if (!(p.known() && p.value() == 1) && !p.same(whole[whole.rank() - part.rank() + i])) return false;
  }
  return true;
}

// The coefficients of 1, x, x^2 and x^3 if v is a polynomial of x.
using Polynomial = std::array<double, 4>;
inline std::optional<Polynomial> polynomial(const Value& v, const Value& x, int depth = 6) {
  if (v == x) return Polynomial{0, 1, 0, 0};
  if (auto n = single(v)) return Polynomial{*n, 0, 0, 0};
  NodeRef n = producer(v);
  if (depth == 0 || !n) return std::nullopt;
  Polynomial out{};
  if (n.is("Negative")) {
    auto a = polynomial(n.input(0), x, depth - 1);
    if (!a) return std::nullopt;
    for (size_t i = 0; i < 4; ++i) out[i] = -(*a)[i];
    return out;
  }
  if (!n.has(Trait::elementwise) || n.inputs() != 2) return std::nullopt;
  auto a = polynomial(n.input(0), x, depth - 1), b = polynomial(n.input(1), x, depth - 1);
  if (!a || !b) return std::nullopt;
  bool plain = (*b)[1] == 0 && (*b)[2] == 0 && (*b)[3] == 0;
  auto times = [](const Polynomial& p, const Polynomial& q) -> std::optional<Polynomial> {
    Polynomial product{};
    for (size_t i = 0; i < 4; ++i)
      for (size_t k = 0; k < 4; ++k) {
        if (p[i] == 0 || q[k] == 0) continue;
        if (i + k > 3) return std::nullopt;
        product[i + k] += p[i] * q[k];
      }
    return product;
  };
  if (n.is("Multiply")) return times(*a, *b);
  if (n.is("Power")) {
    double e = (*b)[0];
    if (!plain || e < 0 || e > 3 || e != std::floor(e)) return std::nullopt;
    std::optional<Polynomial> power = Polynomial{1, 0, 0, 0};
    for (int i = 0; i < static_cast<int>(e) && power; ++i) power = times(*power, *a);
    return power;
  }
  bool adds = n.is("Add"), subtracts = n.is("Subtract"), divides = n.is("Divide") && plain && (*b)[0] != 0;
  if (!adds && !subtracts && !divides) return std::nullopt;
  for (size_t i = 0; i < 4; ++i) out[i] = adds ? (*a)[i] + (*b)[i] : subtracts ? (*a)[i] - (*b)[i] : (*a)[i] / (*b)[0];
  return out;
}
inline bool near(const std::optional<Polynomial>& found, const Polynomial& wanted, DType type, double times = 1) {
  if (!found) return false;
  for (size_t i = 0; i < 4; ++i)
    if (!near((*found)[i] * times, wanted[i], type)) return false;
  return true;
}

// A product: one number and the other factors. A product with other consumers is treated as a factor.
struct Product {
  double number = 1;
  std::vector<Value> terms;
};
inline void multiply_out(const Value& v, bool below, Product& p, int depth) {
  if (auto n = single(v)) {
    p.number = below ? p.number / *n : p.number * *n;
    return;
  }
  NodeRef m = depth > 0 && !below ? producer(v) : NodeRef();
  bool product = m.is("Multiply"), quotient = m.is("Divide") && single(m.input(1));
  if ((!product && !quotient) || !used_once(v)) return p.terms.push_back(v);
  multiply_out(m.input(0), false, p, depth - 1);
  multiply_out(m.input(1), quotient, p, depth - 1);
}
// Of a Multiply, or of a Divide by a number; empty otherwise.
inline Product product(const NodeRef& n) {
  Product p;
  bool quotient = n.is("Divide");
  if (!n.is("Multiply") && !(quotient && single(n.input(1)))) return p;
  multiply_out(n.input(0), false, p, 3);
  multiply_out(n.input(1), quotient, p, 3);
  return p;
}

// The other operand of a Multiply, Add, Maximum or Minimum with a number.
struct WithNumber {
  Value value;
  double number = 0;
  explicit operator bool() const { return bool(value); }
};
inline WithNumber beside_number(const NodeRef& n) {
  for (size_t i : {1, 0})
    if (auto c = single(n.input(i)); c && !n.input(1 - i).constant()) return {n.input(1 - i), *c};
  return {};
}

// ---- weights and constants of linear operations ----

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
  if (t.type() == DType::f32) {
    const auto* bytes = reinterpret_cast<const char*>(t.data<const float>());  // of any alignment
    constexpr int64_t block = 64;  // tested without a branch, which the compiler can vectorize
    constexpr uint32_t exponent = 0x7f800000;
    uint32_t x[block] = {};
    for (int64_t i = 0, n = 0; i < t.size(); i += n) {
      n = std::min(block, t.size() - i);
      std::memcpy(x, bytes + i * static_cast<int64_t>(sizeof(float)), static_cast<size_t>(n) * sizeof(float));
      uint32_t bad = 0;
      for (int64_t j = 0; j < block; ++j) bad |= static_cast<uint32_t>((x[j] & exponent) == exponent);
      if (bad) return false;
    }
    return true;
  }
  std::vector<double> values = t.to<double>();
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
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
