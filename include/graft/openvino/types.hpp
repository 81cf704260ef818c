// Element types, shapes and tensors with the names of OpenVINO.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>

#include "../extension.hpp"

// Visible, so that classes of users that derive from these need no attribute.
namespace [[gnu::visibility("default")]] ov {

class Exception : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
class AssertFailure : public Exception {
 public:
  using Exception::Exception;
};
class NotImplemented : public AssertFailure {
 public:
  using AssertFailure::AssertFailure;
};

namespace util {
template <class... Parts>
std::string message(const Parts&... parts) {
  std::ostringstream out;
  ((out << parts), ...);
  return out.str();
}
}  // namespace util

namespace element {

// The numbers are those of Graft's element types.
enum class Type_t : graft_type {
  undefined = GRAFT_UNDEFINED,
  dynamic = GRAFT_UNDEFINED,
  boolean = GRAFT_BOOLEAN,
  f64 = GRAFT_F64,
  f32 = GRAFT_F32,
  f16 = GRAFT_F16,
  bf16 = GRAFT_BF16,
  i64 = GRAFT_I64,
  i32 = GRAFT_I32,
  i16 = GRAFT_I16,
  i8 = GRAFT_I8,
  i4 = GRAFT_I4,
  u64 = GRAFT_U64,
  u32 = GRAFT_U32,
  u16 = GRAFT_U16,
  u8 = GRAFT_U8,
  u4 = GRAFT_U4,
  u1 = GRAFT_U1,
  string = GRAFT_STRING
};

class Type {
 public:
  constexpr Type() = default;
  constexpr Type(Type_t t) : t_(t) {}
  constexpr explicit Type(graft::DType t) : t_(static_cast<Type_t>(t)) {}

  constexpr operator Type_t() const { return t_; }
  constexpr graft::DType dtype() const { return static_cast<graft::DType>(t_); }
  constexpr bool operator==(const Type& o) const { return t_ == o.t_; }
  constexpr bool operator==(Type_t o) const { return t_ == o; }
  constexpr bool operator<(const Type& o) const { return t_ < o.t_; }
  bool is_static() const { return t_ != Type_t::dynamic; }
  bool is_dynamic() const { return t_ == Type_t::dynamic; }
  bool is_real() const { return graft::is_real(dtype()); }
  bool is_integral_number() const { return graft::is_integer(dtype()); }
  bool is_integral() const { return is_integral_number() || t_ == Type_t::boolean; }
  bool is_signed() const { return is_real() || graft::is_signed_integer(dtype()); }
  size_t bitwidth() const { return static_cast<size_t>(graft::bits_of(dtype())); }
  size_t size() const { return (bitwidth() + 7) / 8; }
  std::string get_type_name() const { return std::string(graft::name_of(dtype())); }
  std::string to_string() const { return get_type_name(); }
  size_t hash() const { return static_cast<size_t>(t_); }
  bool compatible(const Type& o) const { return is_dynamic() || o.is_dynamic() || t_ == o.t_; }
  static bool merge(Type& to, const Type& a, const Type& b) {
    if (!a.compatible(b)) return false;
    to = a.is_dynamic() ? b : a;
    return true;
  }

 private:
  Type_t t_ = Type_t::dynamic;
};
inline std::ostream& operator<<(std::ostream& out, const Type& t) { return out << t.get_type_name(); }

inline constexpr Type undefined(Type_t::undefined), dynamic(Type_t::dynamic), boolean(Type_t::boolean),
    bf16(Type_t::bf16), f16(Type_t::f16), f32(Type_t::f32), f64(Type_t::f64), i4(Type_t::i4), i8(Type_t::i8),
    i16(Type_t::i16), i32(Type_t::i32), i64(Type_t::i64), u1(Type_t::u1), u4(Type_t::u4), u8(Type_t::u8),
    u16(Type_t::u16), u32(Type_t::u32), u64(Type_t::u64), string(Type_t::string);

template <class T>
Type from() {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, char>) return boolean;
  else return Type(graft::dtype_of<T>());
}
using TypeVector = std::vector<Type>;

}  // namespace element

class Shape : public std::vector<size_t> {
 public:
  using std::vector<size_t>::vector;
  Shape() = default;
  Shape(const std::vector<size_t>& dims) : std::vector<size_t>(dims) {}
  std::string to_string() const {
    std::string out = "[";
    for (size_t d : *this) out += (out.size() > 1 ? "," : "") + std::to_string(d);
    return out + "]";
  }
};
inline std::ostream& operator<<(std::ostream& out, const Shape& s) { return out << s.to_string(); }
class Strides : public std::vector<size_t> {
 public:
  using std::vector<size_t>::vector;
};
class CoordinateDiff : public std::vector<std::ptrdiff_t> {
 public:
  using std::vector<std::ptrdiff_t>::vector;
};
class AxisVector : public std::vector<size_t> {
 public:
  using std::vector<size_t>::vector;
};
class AxisSet : public std::set<size_t> {
 public:
  using std::set<size_t>::set;
};
inline size_t shape_size(const std::vector<size_t>& dims) {
  size_t n = 1;
  for (size_t d : dims) n *= d;
  return n;
}

// A dimension: a size, or any size between two bounds.
class Dimension {
 public:
  using value_type = int64_t;
  Dimension() = default;
  Dimension(int64_t size) {
    if (size >= 0) d_ = graft::Dim(size);
  }
  Dimension(int64_t min, int64_t max)
      : d_(max < 0 ? graft::Dim::between(min, INT64_MAX) : graft::Dim::between(min, max)) {}
  explicit Dimension(const graft::Dim& d) : d_(d) {}

  static Dimension dynamic() { return {}; }
  const graft::Dim& dim() const { return d_; }
  bool is_static() const { return d_.known(); }
  bool is_dynamic() const { return !d_.known(); }
  int64_t get_length() const {
    if (is_dynamic()) throw Exception("a dynamic dimension has no length");
    return d_.value();
  }
  int64_t get_min_length() const { return d_.min(); }
  int64_t get_max_length() const { return d_.max() == INT64_MAX ? -1 : d_.max(); }
  bool compatible(const Dimension& o) const { return d_.min() <= o.d_.max() && o.d_.min() <= d_.max(); }
  bool same_scheme(const Dimension& o) const { return (is_dynamic() && o.is_dynamic()) || *this == o; }
  bool operator==(const Dimension& o) const { return d_.min() == o.d_.min() && d_.max() == o.d_.max(); }
  static bool merge(Dimension& to, const Dimension& a, const Dimension& b) {
    if (!a.compatible(b)) return false;
    to = Dimension(graft::Dim::between(std::max(a.d_.min(), b.d_.min()), std::min(a.d_.max(), b.d_.max())));
    return true;
  }
  Dimension operator+(const Dimension& o) const { return Dimension(d_ + o.d_); }
  Dimension operator-(const Dimension& o) const { return Dimension(d_ - o.d_); }
  Dimension operator*(const Dimension& o) const { return Dimension(d_ * o.d_); }
  Dimension operator/(int64_t n) const { return Dimension(d_ / n); }
  Dimension& operator+=(const Dimension& o) { return *this = *this + o; }
  Dimension& operator*=(const Dimension& o) { return *this = *this * o; }

 private:
  graft::Dim d_;
};
using Rank = Dimension;
inline std::ostream& operator<<(std::ostream& out, const Dimension& d) { return out << graft::text(d.dim()); }

class PartialShape {
 public:
  PartialShape() = default;
  PartialShape(std::initializer_list<Dimension> dims) : dims_(dims) {}
  PartialShape(std::vector<Dimension> dims) : dims_(std::move(dims)) {}
  PartialShape(const Shape& s) : dims_(s.begin(), s.end()) {}
  explicit PartialShape(const graft::Shape& s) : ranked_(s.ranked()) {
    if (ranked_)
      for (const graft::Dim& d : s) dims_.emplace_back(d);
  }
  static PartialShape dynamic(Rank rank = Rank::dynamic()) {
    PartialShape s;
    s.ranked_ = rank.is_static();
    if (s.ranked_) s.dims_.resize(static_cast<size_t>(rank.get_length()));
    return s;
  }
  graft::Shape shape() const {
    if (!ranked_) return graft::Shape::unknown();
    graft::Shape s;
    for (const Dimension& d : dims_) s.push_back(d.dim());
    return s;
  }

  Rank rank() const { return ranked_ ? Rank(static_cast<int64_t>(dims_.size())) : Rank::dynamic(); }
  bool is_static() const {
    bool all = ranked_;
    for (const Dimension& d : dims_) all = all && d.is_static();
    return all;
  }
  bool is_dynamic() const { return !is_static(); }
  Shape to_shape() const {
    if (is_dynamic()) throw Exception("to_shape was called on a dynamic shape");
    Shape s;
    for (const Dimension& d : dims_) s.push_back(static_cast<size_t>(d.get_length()));
    return s;
  }
  Shape get_shape() const { return to_shape(); }
  Shape get_min_shape() const { return bounds(&Dimension::get_min_length); }
  Shape get_max_shape() const { return bounds(&Dimension::get_max_length); }
  size_t size() const { return checked().size(); }
  Dimension& operator[](size_t i) { return checked().at(i); }
  const Dimension& operator[](size_t i) const { return checked().at(i); }
  auto begin() { return checked().begin(); }
  auto end() { return checked().end(); }
  auto begin() const { return checked().begin(); }
  auto end() const { return checked().end(); }
  void push_back(const Dimension& d) { checked().push_back(d); }
  void resize(size_t n) { checked().resize(n); }
  void insert(std::vector<Dimension>::iterator at, const Dimension& d) { checked().insert(at, d); }
  bool compatible(const PartialShape& o) const { return PartialShape(*this).merge(o); }
  bool same_scheme(const PartialShape& o) const {
    if (!ranked_ || !o.ranked_) return ranked_ == o.ranked_;
    return std::equal(begin(), end(), o.begin(), o.end(), [](auto& a, auto& b) { return a.same_scheme(b); });
  }
  bool operator==(const PartialShape& o) const { return ranked_ == o.ranked_ && dims_ == o.dims_; }
  bool refines(const PartialShape& o) const { return compatible(o); }
  static bool merge_into(PartialShape& to, const PartialShape& from) { return to.merge(from); }
  std::string to_string() const { return graft::text(shape()); }

 private:
  bool merge(const PartialShape& o) {
    if (!o.ranked_) return true;
    if (!ranked_) return *this = o, true;
    bool fits = dims_.size() == o.dims_.size();
    for (size_t i = 0; fits && i < dims_.size(); ++i) fits = Dimension::merge(dims_[i], dims_[i], o.dims_[i]);
    return fits;
  }
  Shape bounds(int64_t (Dimension::*end)() const) const {
    Shape s;
    for (const Dimension& d : checked()) s.push_back(static_cast<size_t>((d.*end)()));
    return s;
  }
  const std::vector<Dimension>& checked() const {
    if (!ranked_) throw Exception("a shape of dynamic rank has no dimensions");
    return dims_;
  }
  std::vector<Dimension>& checked() {
    if (!ranked_) throw Exception("a shape of dynamic rank has no dimensions");
    return dims_;
  }
  bool ranked_ = true;
  std::vector<Dimension> dims_;
};
inline std::ostream& operator<<(std::ostream& out, const PartialShape& s) { return out << s.to_string(); }

// Dense memory with a type and a shape; copies share it.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const element::Type& type, const Shape& shape)
      : s_(std::make_shared<State>(State{type, shape, {}, nullptr, {}})) {
    s_->own.resize(get_byte_size() + 8);
    s_->data = s_->own.data();
  }
  Tensor(const element::Type& type, const Shape& shape, void* data)
      : s_(std::make_shared<State>(State{type, shape, {}, data, {}})) {}
  // Memory of Graft that exists once the shape is set.
  Tensor(const element::Type& type, std::function<void*(const Shape&)> allocate)
      : s_(std::make_shared<State>(State{type, {}, {}, nullptr, std::move(allocate)})) {}

  explicit operator bool() const { return s_ != nullptr; }
  bool operator!() const { return !s_; }
  element::Type get_element_type() const { return state().type; }
  const Shape& get_shape() const { return state().shape; }
  size_t get_size() const { return shape_size(get_shape()); }
  size_t get_byte_size() const { return (get_size() * get_element_type().bitwidth() + 7) / 8; }
  Strides get_strides() const {
    Strides strides(get_shape().size());
    size_t step = get_element_type().size();
    for (size_t i = strides.size(); i-- > 0; step *= get_shape()[i]) strides[i] = step;
    return strides;
  }
  bool is_continuous() const { return true; }
  void set_shape(const Shape& shape) {
    State& s = state();
    if (s.allocate && !s.data) s.shape = shape, s.data = s.allocate(shape);
    else if (!s.own.empty()) {
      s.shape = shape;
      s.own.resize(get_byte_size() + 8);
      s.data = s.own.data();
    } else if (s.shape != shape)
      throw Exception(
          util::message("expected the shape ", s.shape, " that validate_and_infer_types gave, got ", shape));
  }
  void* data(const element::Type& type = {}) const {
    if (type.is_static() && type != get_element_type())
      throw Exception(util::message("expected a tensor of ", type, ", got ", get_element_type()));
    if (!state().data && state().allocate)
      throw Exception("the output has a data-dependent shape: call set_shape before data");
    return state().data;
  }
  template <class T>
  T* data() const {
    using Plain = std::remove_const_t<T>;
    constexpr bool byte = std::is_same_v<Plain, bool> || std::is_same_v<Plain, char>;
    bool fits = byte ? get_element_type().size() == 1
                     : std::is_same_v<Plain, void> || sizeof(T) * 8 == get_element_type().bitwidth();
    if (!fits) throw Exception(util::message("expected elements of ", sizeof(T), " bytes, got ", get_element_type()));
    return static_cast<T*>(data());
  }
  void copy_to(Tensor to) const {
    to.set_shape(get_shape());
    if (get_byte_size()) std::memcpy(to.data(), data(), get_byte_size());
  }

 private:
  struct State {
    element::Type type;
    Shape shape;
    std::vector<unsigned char> own;
    void* data;
    std::function<void*(const Shape&)> allocate;
  };
  State& state() const {
    if (!s_) throw Exception("the tensor is empty");
    return *s_;
  }
  std::shared_ptr<State> s_;
};
using TensorVector = std::vector<Tensor>;

}  // namespace ov
