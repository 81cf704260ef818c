// What import rules of ATen operators share: arguments by name, with their defaults, and the type promotion of torch.
#pragma once

#include <charconv>
#include <cmath>
#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>
#include <limits>

#include "pytorch/defaults.hpp"

namespace graft::pt {

using Ints = std::vector<int64_t>;

class Call {
 public:
  explicit Call(Builder& layer) : in(layer) {
    names_ = layer.get<std::vector<std::string>>("call.inputs", {});
    if (names_.size() != layer.inputs()) fail("expected a name for each of ", layer.inputs(), " inputs");
  }
  Builder& in;

  // ---- tensors ----
  Value find(std::string_view name) {
    for (size_t i = 0; i < names_.size(); ++i)
      if (names_[i] == name) return in.input(i);
    return {};
  }
  Value operator[](std::string_view name) {
    Value v = find(name);
    if (!v) fail("expected a tensor as argument '", name, "'");
    return v;
  }
  // The items of a list; absent ones of a list of optional tensors are empty.
  std::vector<Value> list(std::string_view name) {
    std::vector<Value> out;
    for (size_t i = 0; i < names_.size(); ++i) {
      std::string_view n = names_[i];
      if (!n.starts_with(name) || n.size() <= name.size() + 1 || n[name.size()] != '.') continue;
      size_t at = 0;
      std::from_chars(n.data() + name.size() + 1, n.data() + n.size(), at);
      if (at > 1024 + names_.size()) fail("expected fewer items in '", name, "'");
      if (out.size() <= at) out.resize(at + 1);
      out[at] = in.input(i);
    }
    return out;
  }
  std::vector<Value> tensors(std::string_view name) {
    std::vector<Value> out = list(name);
    if (out.empty()) fail("expected tensors as argument '", name, "', got none");
    return out;
  }

  // ---- other arguments ----
  // Whether an argument is given and not None.
  bool given(std::string_view name) { return find(name) || in.has(name); }
  double real(std::string_view name) {
    if (in.has(name)) return in.get<double>(name);
    if (Value v = find(name)) return certain<double>(name, v);
    std::string_view text = default_text(name);
    double out = 0;
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
  }
  int64_t integer(std::string_view name) {
    if (in.has(name)) return in.get<int64_t>(name);
    if (Value v = find(name)) return certain<int64_t>(name, v);
    return static_cast<int64_t>(real(name));
  }
  bool flag(std::string_view name) {
    if (in.has(name)) return in.get<bool>(name);
    return default_of(in.type(), name) == "true";
  }
  std::string word(std::string_view name) {
    if (in.has(name)) return in.get<std::string>(name);
    return std::string(default_of(in.type(), name));
  }
  // A list of integers that are known; a single one stands for a list.
  Ints ints(std::string_view name) {
    Ints out;
    if (in.has(name)) out = in.get<Ints>(name);
    else if (std::string_view d = default_of(in.type(), name); !d.empty()) out = parsed(d);
    std::vector<Value> symbolic = list(name);
    if (Value one = find(name)) return {certain<int64_t>(name, one)};
    if (out.size() < symbolic.size()) out.resize(symbolic.size());
    for (size_t i = 0; i < symbolic.size(); ++i)
      if (symbolic[i]) out[i] = certain<int64_t>(name, symbolic[i]);
    return out;
  }
  // The same with as many values as there are axes.
  Ints per_axis(std::string_view name, size_t axes) {
    Ints out = ints(name);
    if (out.size() == 1) out.resize(axes, out[0]);
    if (out.size() != axes) fail("expected ", axes, " values of '", name, "', got ", out.size());
    return out;
  }
  // Sizes as a 1-D tensor; some may be computed by the model. -1 becomes `open`.
  Value sizes(std::string_view name, int64_t open = -1) {
    std::vector<Value> symbolic = list(name);
    if (Value one = find(name)) return reshape(convert(one, DType::i64), {1});
    Ints plain = symbolic.empty() ? ints_field(name) : in.has(name) ? in.get<Ints>(name) : Ints();
    for (int64_t& d : plain) d = d == -1 ? open : d;
    if (symbolic.empty()) return in.ints(plain);
    size_t n = std::max(plain.size(), symbolic.size());
    plain.resize(n), symbolic.resize(n);
    std::vector<Value> parts;
    for (size_t i = 0; i < n; ++i)
      parts.push_back(symbolic[i] ? reshape(convert(symbolic[i], DType::i64), {1}) : in.ints({plain[i]}));
    return build::concat(parts, 0);
  }
  // A size, index or number as a value.
  Value whole(std::string_view name) {
    if (Value v = find(name)) return as_scalar(convert(v, DType::i64));
    return in.scalar(integer(name));
  }
  std::optional<DType> dtype(std::string_view name = "dtype") {
    const graft_value* v = in.field(name);
    if (!v) return std::nullopt;
    if (v->kind == GRAFT_DTYPE) return static_cast<DType>(v->i);
    unsupported("element type '", v->kind == GRAFT_TEXT ? view(v->s) : "?", "' is not supported");
  }
  // An argument that is a number or a tensor of one, in this type.
  Value number(std::string_view name, DType type) {
    if (Value v = find(name)) return convert(v, type);
    const graft_value* f = in.field(name);
    if (f && f->kind == GRAFT_INT && type == DType::i64) return in.scalar(f->i);
    return in.scalar(real(name), type);
  }

 private:
  template <class T>
  static T certain(std::string_view name, const Value& v) {
    auto all = v.values<T>();
    if (!all || all->size() != 1) {
      if (auto k = v.known(); k && k->rank() == 1 && (*k)[0].known()) return static_cast<T>((*k)[0].min());
      unsupported("argument '", name, "' must be known when the model is read, but it is computed by the model");
    }
    return (*all)[0];
  }
  std::string_view default_text(std::string_view name) {
    std::string_view d = default_of(in.type(), name);
    if (d.empty()) fail("argument '", name, "' is missing");
    return d;
  }
  Ints ints_field(std::string_view name) {
    if (in.has(name)) return in.get<Ints>(name);
    return parsed(default_of(in.type(), name));
  }
  static Ints parsed(std::string_view d) {
    Ints out;
    for (const char *p = d.data(), *end = p + d.size(); p < end;) {
      int64_t v = 0;
      auto [next, error] = std::from_chars(p, end, v);
      if (error == std::errc()) out.push_back(v), p = next;
      else ++p;
    }
    return out;
  }
  std::vector<std::string> names_;
};

// ---- element types ----

inline int category(DType t) { return t == DType::boolean ? 0 : is_integer(t) ? 1 : 2; }
inline bool is_float(DType t) { return category(t) == 2; }
inline int width_of(DType t) { return static_cast<int>(bits_of(t)); }
inline DType promote(DType a, DType b) {
  if (a == b || b == DType::undefined) return a;
  if (a == DType::undefined) return b;
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (category(a) == 2) {
    if (width_of(a) == width_of(b)) return DType::f32;  // f16 and bf16
    return width_of(a) > width_of(b) ? a : b;
  }
  auto is_signed = [](DType t) { return t == DType::i8 || t == DType::i16 || t == DType::i32 || t == DType::i64; };
  if (is_signed(a) == is_signed(b)) return width_of(a) > width_of(b) ? a : b;
  DType s = is_signed(a) ? a : b, u = is_signed(a) ? b : a;
  if (width_of(s) > width_of(u)) return s;
  return width_of(u) == 8 ? DType::i16 : width_of(u) == 16 ? DType::i32 : DType::i64;
}

// The type that operands are brought to: tensors with dimensions go before those without, and these before numbers.
class Promotion {
 public:
  Promotion& add(const Value& v) {
    Shape s = v.shape();
    bool scalar = s.ranked() && s.rank() == 0;
    // Numbers that the model computes are scalars of 64 bits.
    if (scalar && v.type() == DType::f64) return add_number(DType::f32);
    (scalar ? scalar_ : tensor_) = promote(scalar ? scalar_ : tensor_, v.type());
    return *this;
  }
  Promotion& add_number(DType t) { return number_ = promote(number_, t), *this; }
  // An argument that is a tensor or a number.
  Promotion& add(Call& c, std::string_view name) {
    if (Value v = c.find(name)) return add(v);
    const graft_value* f = c.in.field(name);
    if (!f) return *this;
    return add_number(f->kind == GRAFT_BOOL ? DType::boolean : f->kind == GRAFT_INT ? DType::i64 : DType::f32);
  }
  DType type() const {
    DType t = joined(tensor_, scalar_);
    return joined(t, number_);
  }

 private:
  static DType joined(DType high, DType low) {
    if (high == DType::undefined) return low;
    if (low == DType::undefined || category(low) <= category(high)) return high;
    return low;
  }
  DType tensor_ = DType::undefined, scalar_ = DType::undefined, number_ = DType::undefined;
};

// Whole numbers become f32 where only a float makes sense.
inline Value as_float(const Value& v) { return is_float(v.type()) ? v : convert(v, DType::f32); }

// ---- shapes ----

inline int64_t axis_of(int64_t axis, size_t rank) {
  auto r = static_cast<int64_t>(std::max<size_t>(rank, 1));
  if (axis < -r || axis >= r) fail("expected an axis of ", -r, " to ", r - 1, ", got ", axis);
  return axis < 0 ? axis + r : axis;
}
inline Ints axes_of(Ints axes, size_t rank) {
  for (int64_t& a : axes) a = axis_of(a, rank);
  return axes;
}
inline Ints counting_to(size_t n) {
  Ints out;
  for (size_t i = 0; i < n; ++i) out.push_back(static_cast<int64_t>(i));
  return out;
}
inline Value at_least_1d(const Value& v) { return v.rank() == 0 ? reshape(v, {1}) : v; }
inline Value reshape_to(const Value& v, const Value& target) {
  return v.in().op("Reshape", {v, target}, {{"special_zero", false}});
}
inline Value same_shape(const Value& v, const Value& as) {
  Shape s = as.shape();
  return s.is_static() ? reshape(v, s.values()) : reshape_to(v, shape_of(as));
}
inline Value flat(const Value& v) { return reshape(v, {-1}); }
inline Value swapped(const Value& v, int64_t a, int64_t b) {
  Ints order = counting_to(v.rank());
  a = axis_of(a, order.size()), b = axis_of(b, order.size());
  if (a == b || order.empty()) return v;
  std::swap(order[static_cast<size_t>(a)], order[static_cast<size_t>(b)]);
  return transpose(v, order);
}
// The number of elements along axes, as a scalar of this type.
inline Value count_along(const Value& v, const Ints& axes, DType type) {
  Builder& in = v.in();
  if (axes.empty()) return in.scalar(1.0, type);
  Value n = in.op("ReduceProd", {build::dims(v, axes), in.ints({0})}, {{"keep_dims", false}});
  return convert(n, type);
}
inline Value filled_like(const Value& v, double number, DType type) {
  return build::fill(v.in(), number, type, shape_of(v));
}
inline Value broadcast_to(const Value& v, const Value& like) { return build::broadcast(v, shape_of(like)); }
inline Value expanded(const Value& v, const Value& target) {
  return v.in().op("Broadcast", {v, target}, {{"mode", "bidirectional"}});
}
inline Value reduce(std::string_view op, const Value& v, const Ints& axes, bool keep) {
  if (axes.empty()) return v;
  return v.in().op(op, {v, v.in().ints(axes)}, {{"keep_dims", keep}});
}
inline Value unary_op(std::string_view op, const Value& v) { return v.in().op(op, {v}); }
inline Value binary_op(std::string_view op, const Value& a, const Value& b) { return a.in().op(op, {a, b}); }
inline Value absolute(const Value& v) { return unary_op("Abs", v); }
inline Value where(const Value& c, const Value& a, const Value& b) { return build::select(c, a, b); }
inline Value sign_not(const Value& v) { return unary_op("LogicalNot", v); }
inline Value less(const Value& a, double b) { return binary_op("Less", a, like(a, b)); }
inline Value greater(const Value& a, double b) { return binary_op("Greater", a, like(a, b)); }
inline Value equals(const Value& a, double b) { return binary_op("Equal", a, like(a, b)); }
inline Value truth_of(const Value& v) { return v.type() == DType::boolean ? v : binary_op("NotEqual", v, like(v, 0)); }
inline Value truncated(const Value& v) {
  if (!is_float(v.type())) return v;
  return where(less(v, 0), unary_op("Ceiling", v), unary_op("Floor", v));
}
inline std::vector<Value> top_k(const Value& v, const Value& k, int64_t axis, bool largest, std::string_view sort) {
  return v.in().ops("TopK@11", {v, k},
                    {{"axis", axis},
                     {"mode", largest ? "max" : "min"},
                     {"sort", sort},
                     {"index_element_type", DType::i64},
                     {"stable", true}},
                    2);
}

// ---- what rules of several files need ----

inline constexpr double pi = 3.14159265358979323846, ln2 = 0.69314718055994530942;
// In 64 bits: near zero the result is small.
inline Value log1p_of(const Value& x) { return convert(unary_op("Log", convert(x, DType::f64) + 1.0), x.type()); }

// One value per channel, for images with so many spatial axes.
inline Value by_channel(const Value& v, size_t axes) {
  Ints dims(axes + 2, 1);
  dims[1] = -1;
  return reshape(v, dims);
}
// 2 of "aten::max_pool2d"
inline size_t axes_in_name(std::string_view type) {
  for (char ch : type)
    if (ch >= '1' && ch <= '3') return static_cast<size_t>(ch - '0');
  fail("expected an operator over 1 to 3 axes");
}
inline void check_positive(std::string_view name, const Ints& list) {
  for (int64_t v : list)
    if (v < 1 || v > 1 << 24) fail("expected '", name, "' of 1 to ", 1 << 24, ", got ", v);
}
// As atleast_1d, atleast_2d and atleast_3d.
inline Value with_rank_of_at_least(const Value& x, size_t rank) {
  size_t r = x.rank();
  if (r >= rank) return x;
  if (rank == 1) return reshape(x, {1});
  if (rank == 2) return r == 0 ? reshape(x, {1, 1}) : unsqueeze(x, {0});
  if (r == 0) return reshape(x, {1, 1, 1});
  return r == 1 ? unsqueeze(x, {0, 2}) : unsqueeze(x, {2});
}
inline int64_t known_size(const Value& x, int64_t axis) {
  Shape s = x.shape();
  const Dim& d = s[static_cast<size_t>(axis_of(axis, x.rank()))];
  if (!d.known()) needs_shape("the size of an axis is unknown, but this conversion requires it");
  return d.value();
}
// Negative indices count from the end.
inline Value natural_index(const Value& index, const Value& size) {
  Value i = convert(index, DType::i64);
  return where(less(i, 0), i + size, i);
}
// The place of each element in order.
inline Value positions_of(const Value& x) {
  Builder& in = x.in();
  Value n = in.op("ReduceProd", {shape_of(x), in.ints({0})}, {{"keep_dims", false}});
  return same_shape(counting(n, DType::i64), x);
}
inline Value norm_over(const Value& x, double p, const Ints& axes, bool keep) {
  Value size = absolute(x);
  if (std::isinf(p)) return reduce(p > 0 ? "ReduceMax" : "ReduceMin", size, axes, keep);
  if (p == 0) return reduce("ReduceSum", convert(truth_of(x), x.type()), axes, keep);
  if (p == 1) return reduce("ReduceSum", size, axes, keep);
  if (p == 2) return unary_op("Sqrt", reduce("ReduceSum", x * x, axes, keep));
  Value sum = reduce("ReduceSum", binary_op("Power", size, like(x, p)), axes, keep);
  return binary_op("Power", sum, like(x, 1 / p));
}

// ---- rules ----

// Arguments without effect on values here.
inline Rule rule_of(std::string_view type) {
  Rule r = torch(type);
  for (std::string_view path : {"pin_memory", "non_blocking", "cudnn_enabled", "cudnn_enable", "generator"})
    r.ignore(path);
  return r;
}
template <class F>
Definitions rules(std::initializer_list<std::string_view> types, F expand,
                  std::initializer_list<std::string_view> ignored = {}) {
  Definitions out;
  for (std::string_view t : types) {
    Rule r = rule_of(t);
    for (std::string_view path : ignored) r.ignore(path);
    out += r.expand(expand);
  }
  return out;
}

}  // namespace graft::pt
