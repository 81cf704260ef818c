// The small values everything speaks in: element types, dimensions, shapes, text, and how to refuse.
//
//   Shape s{1, 3, Dim(), Dim::between(8, 64)};   // f32[1,3,?,8..64]
//   Dim out = (s[3] + 2 - 3) / 2 + 1;            // stays unknown, keeps bounds
//   if (!s[1].can_be(channels)) fail("input has ", s[1], " channels, the weights want ", channels);
//
// Everything here is header-only and hidden: it lives in the binary that includes it.
#pragma once

#include <charconv>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "abi.h"

namespace [[gnu::visibility("hidden")]] graft {

// ---- element types ----

enum class DType : graft_type {
  undefined = GRAFT_UNDEFINED,
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
  string = GRAFT_STRING,
  f8e4m3 = GRAFT_F8E4M3,
  f8e5m2 = GRAFT_F8E5M2,
  f8e4m3fnuz = GRAFT_F8E4M3FNUZ,
  f8e5m2fnuz = GRAFT_F8E5M2FNUZ,
  f8e8m0 = GRAFT_F8E8M0,
  f4e2m1 = GRAFT_F4E2M1,
  nf4 = GRAFT_NF4,
};

struct DTypeTraits {
  DType type;
  std::string_view name;
  int bits;  // of one element in memory
  enum Family : uint8_t { none, boolean, real, integer, unsigned_integer, text } family;
};

inline constexpr DTypeTraits dtype_table[] = {
    {DType::undefined, "dynamic", 0, DTypeTraits::none},
    {DType::boolean, "boolean", 8, DTypeTraits::boolean},
    {DType::f64, "f64", 64, DTypeTraits::real},
    {DType::f32, "f32", 32, DTypeTraits::real},
    {DType::f16, "f16", 16, DTypeTraits::real},
    {DType::bf16, "bf16", 16, DTypeTraits::real},
    {DType::i64, "i64", 64, DTypeTraits::integer},
    {DType::i32, "i32", 32, DTypeTraits::integer},
    {DType::i16, "i16", 16, DTypeTraits::integer},
    {DType::i8, "i8", 8, DTypeTraits::integer},
    {DType::i4, "i4", 4, DTypeTraits::integer},
    {DType::u64, "u64", 64, DTypeTraits::unsigned_integer},
    {DType::u32, "u32", 32, DTypeTraits::unsigned_integer},
    {DType::u16, "u16", 16, DTypeTraits::unsigned_integer},
    {DType::u8, "u8", 8, DTypeTraits::unsigned_integer},
    {DType::u4, "u4", 4, DTypeTraits::unsigned_integer},
    {DType::u1, "u1", 1, DTypeTraits::unsigned_integer},
    {DType::string, "string", 8 * sizeof(graft_str), DTypeTraits::text},
    {DType::f8e4m3, "f8e4m3", 8, DTypeTraits::real},
    {DType::f8e5m2, "f8e5m2", 8, DTypeTraits::real},
    {DType::f8e4m3fnuz, "f8e4m3fnuz", 8, DTypeTraits::real},
    {DType::f8e5m2fnuz, "f8e5m2fnuz", 8, DTypeTraits::real},
    {DType::f8e8m0, "f8e8m0", 8, DTypeTraits::real},
    {DType::f4e2m1, "f4e2m1", 4, DTypeTraits::real},
    {DType::nf4, "nf4", 4, DTypeTraits::real},
};

constexpr const DTypeTraits& traits(DType type) {
  auto i = static_cast<size_t>(type);
  return i < std::size(dtype_table) ? dtype_table[i] : dtype_table[0];
}
constexpr std::string_view name_of(DType type) { return traits(type).name; }
constexpr int bits_of(DType type) { return traits(type).bits; }
constexpr bool is_real(DType type) { return traits(type).family == DTypeTraits::real; }
constexpr bool is_integer(DType type) {
  return traits(type).family == DTypeTraits::integer || traits(type).family == DTypeTraits::unsigned_integer;
}
constexpr bool is_signed_integer(DType type) { return traits(type).family == DTypeTraits::integer; }
constexpr bool is_packed(DType type) { return bits_of(type) > 0 && bits_of(type) < 8; }

// The element type that a C++ type stands for.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  else if constexpr (std::is_same_v<T, float>) return DType::f32;
  else if constexpr (std::is_same_v<T, double>) return DType::f64;
  else if constexpr (std::is_same_v<T, graft_str>) return DType::string;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    return sizeof(T) == 8 ? DType::i64 : sizeof(T) == 4 ? DType::i32 : sizeof(T) == 2 ? DType::i16 : DType::i8;
  else if constexpr (std::is_integral_v<T>)
    return sizeof(T) == 8 ? DType::u64 : sizeof(T) == 4 ? DType::u32 : sizeof(T) == 2 ? DType::u16 : DType::u8;
  else return DType::undefined;
}

// ---- refusing ----

// Thrown inside a binary, never across the border. `Error` (toolkit.hpp) is what an application sees.
struct Failure : std::exception {
  Failure(graft_status kind, std::string message, std::string hint = {})
      : kind(kind), message(std::move(message)), hint(std::move(hint)) {}
  const char* what() const noexcept override { return message.c_str(); }
  graft_status kind;
  std::string message;
  std::string hint;
};

class Dim;
class Shape;
void append_text(std::string& out, const Dim& dim);
void append_text(std::string& out, const Shape& shape);
inline void append_text(std::string& out, std::string_view s) { out += s; }
inline void append_text(std::string& out, const char* s) { out += s; }
inline void append_text(std::string& out, char c) { out += c; }
inline void append_text(std::string& out, graft_str s) { out.append(s.data, s.size); }
inline void append_text(std::string& out, bool b) { out += b ? "true" : "false"; }
inline void append_text(std::string& out, DType type) { out += name_of(type); }
template <class N>
requires(std::is_arithmetic_v<N> && !std::is_same_v<N, bool> &&
         !std::is_same_v<N, char>) void append_text(std::string& out, N number) {
  char buffer[64];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
}
template <class T>
requires(std::is_arithmetic_v<T>) void append_text(std::string& out, std::span<const T> list) {
  out += '[';
  for (size_t i = 0; i < list.size(); ++i) {
    if (i) out += ',';
    append_text(out, list[i]);
  }
  out += ']';
}
template <class T>
requires(std::is_arithmetic_v<T>) void append_text(std::string& out, const std::vector<T>& list) {
  append_text(out, std::span<const T>(list));
}

// Concatenates text, numbers, element types, dimensions, shapes and lists of numbers.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::string out;
  (append_text(out, parts), ...);
  return out;
}

// Refuses: lower-case start, no full stop; what was found, what was wanted.
template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw Failure{GRAFT_USER, text(parts...), {}};
}
// The request makes sense but is not something this code can do. A kernel declines this way.
template <class... Parts>
[[noreturn]] void unsupported(const Parts&... parts) {
  throw Failure{GRAFT_UNSUPPORTED, text(parts...), {}};
}

inline std::string_view view(graft_str s) { return {s.data, s.size}; }
constexpr graft_str str(std::string_view s) { return {s.data(), s.size()}; }

// ---- dimensions and shapes ----

class Dim {
 public:
  static constexpr int64_t unbounded = INT64_MAX;

  constexpr Dim() : d_{0, unbounded, 0, 0} {}
  Dim(int64_t value) : d_{value, value, 0, 0} {
    if (value < 0) fail("a dimension cannot be ", value);
  }
  constexpr explicit Dim(graft_dim d) : d_(d) {}
  static Dim between(int64_t min, int64_t max) { return Dim(graft_dim{min, max, 0, 0}); }
  static Dim symbolic(uint32_t symbol) { return Dim(graft_dim{0, unbounded, symbol, 0}); }

  bool known() const { return d_.min == d_.max; }
  int64_t value() const {
    if (!known()) fail("a dimension is not known");
    return d_.min;
  }
  int64_t min() const { return d_.min; }
  int64_t max() const { return d_.max; }
  uint32_t symbol() const { return d_.symbol; }
  bool can_be(int64_t value) const { return d_.min <= value && value <= d_.max; }
  // Certainly equal.
  bool same(const Dim& o) const {
    return (known() && o.known() && d_.min == o.d_.min) ||
           (!known() && !o.known() && d_.symbol && d_.symbol == o.d_.symbol);
  }
  bool operator==(const Dim& o) const { return d_.min == o.d_.min && d_.max == o.d_.max && d_.symbol == o.d_.symbol; }

  // Interval arithmetic; the symbol survives only where the value does.
  friend Dim operator+(const Dim& a, const Dim& b) {
    if (b.known() && b.d_.min == 0) return a;
    if (a.known() && a.d_.min == 0) return b;
    return between(sat_add(a.d_.min, b.d_.min), sat_add(a.d_.max, b.d_.max));
  }
  friend Dim operator-(const Dim& a, const Dim& b) {
    if (b.known() && b.d_.min == 0) return a;
    if (a.known() && b.known()) return Dim(a.d_.min - b.d_.min);
    int64_t low = b.d_.max >= a.d_.min ? 0 : a.d_.min - b.d_.max;
    int64_t high = a.d_.max == unbounded ? unbounded : a.d_.max - b.d_.min;
    return between(low, high < 0 ? 0 : high);
  }
  friend Dim operator*(const Dim& a, const Dim& b) {
    if (b.known() && b.d_.min == 1) return a;
    if (a.known() && a.d_.min == 1) return b;
    return between(sat_mul(a.d_.min, b.d_.min), sat_mul(a.d_.max, b.d_.max));
  }
  friend Dim operator/(const Dim& a, int64_t b) {  // rounds down
    if (b <= 0) fail("a dimension cannot be divided by ", b);
    if (b == 1) return a;
    return between(a.d_.min / b, a.d_.max == unbounded ? unbounded : a.d_.max / b);
  }
  static Dim divide_up(const Dim& a, int64_t b) {
    if (b == 1) return a;
    return (a + Dim(b - 1)) / b;
  }

  const graft_dim& raw() const { return d_; }

 private:
  static int64_t sat_add(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_add_overflow(a, b, &r) ? unbounded : r;
  }
  static int64_t sat_mul(int64_t a, int64_t b) {
    int64_t r;
    if (a == 0 || b == 0) return 0;
    return __builtin_mul_overflow(a, b, &r) ? unbounded : r;
  }
  graft_dim d_;
};
static_assert(sizeof(Dim) == sizeof(graft_dim));

// A list of dimensions, or nothing known at all.
class Shape {
 public:
  Shape() = default;  // the scalar shape
  Shape(std::initializer_list<Dim> dims) : dims_(dims) {}
  explicit Shape(std::vector<Dim> dims) : dims_(std::move(dims)) {}
  static Shape unknown() {
    Shape s;
    s.ranked_ = false;
    return s;
  }
  static Shape of_rank(size_t rank) { return Shape(std::vector<Dim>(rank)); }
  static Shape of(std::span<const int64_t> dims) {
    Shape s;
    s.dims_.assign(dims.begin(), dims.end());
    return s;
  }
  explicit Shape(const graft_shape& s) : ranked_(s.rank >= 0) {
    for (int32_t i = 0; i < s.rank; ++i) dims_.push_back(Dim(s.dims[i]));
  }

  bool ranked() const { return ranked_; }
  size_t rank() const {
    if (!ranked_) fail("the rank is not known");
    return dims_.size();
  }
  bool is_static() const {
    if (!ranked_) return false;
    for (const Dim& d : dims_)
      if (!d.known()) return false;
    return true;
  }
  // Refuses an axis that the shape does not have: ranks come from files.
  const Dim& operator[](size_t i) const {
    if (i >= dims_.size()) no_axis(i);
    return dims_[i];
  }
  Dim& operator[](size_t i) {
    if (i >= dims_.size()) no_axis(i);
    return dims_[i];
  }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }
  auto begin() { return dims_.begin(); }
  auto end() { return dims_.end(); }
  void push_back(Dim d) { dims_.push_back(d); }
  std::vector<Dim>& dims() { return dims_; }
  const std::vector<Dim>& dims() const { return dims_; }
  bool operator==(const Shape&) const = default;

  Dim elements() const {
    if (!ranked_) return Dim();
    Dim n = 1;
    for (const Dim& d : dims_) n = n * d;
    return n;
  }
  std::vector<int64_t> values() const {
    std::vector<int64_t> v;
    v.reserve(dims_.size());
    for (const Dim& d : dims_) v.push_back(d.value());
    return v;
  }
  graft_shape raw() const {
    return {ranked_ ? static_cast<int32_t>(dims_.size()) : -1, 0, reinterpret_cast<const graft_dim*>(dims_.data())};
  }

 private:
  [[noreturn]] void no_axis(size_t i) const;

  bool ranked_ = true;
  std::vector<Dim> dims_;
};

// "7", "?", "8..64", "2..", "..9": the spelling of the IR.
inline void append_text(std::string& out, const Dim& d) {
  if (d.known()) return append_text(out, d.min());
  if (d.min() == 0 && d.max() == Dim::unbounded) {
    out += '?';
    return;
  }
  if (d.min() != 0) append_text(out, d.min());
  out += "..";
  if (d.max() != Dim::unbounded) append_text(out, d.max());
}
// "[1,3,?]", or "[...]" when the rank is not known.
inline void append_text(std::string& out, const Shape& s) {
  out += '[';
  if (!s.ranked()) out += "...";
  bool first = true;
  for (const Dim& d : s) {
    if (!first) out += ',';
    first = false;
    append_text(out, d);
  }
  out += ']';
}

inline void Shape::no_axis(size_t i) const {
  if (!ranked_) fail("expected a known rank, got ", *this);
  // An index counted from the end of a shape that is too short wraps around.
  if (i > INT32_MAX) fail("expected a higher rank than ", dims_.size(), ", got shape ", *this);
  fail("expected a rank of at least ", i + 1, ", got shape ", *this);
}

// Type and shape of a value.
struct Info {
  DType type = DType::undefined;
  Shape shape = Shape::unknown();
  bool operator==(const Info&) const = default;
  graft_info raw() const { return {static_cast<graft_type>(type), 0, shape.raw()}; }
  static Info from(const graft_info& i) { return {static_cast<DType>(i.type), Shape(i.shape)}; }
};
inline void append_text(std::string& out, const Info& info) {
  append_text(out, info.type);
  append_text(out, info.shape);
}

}  // namespace graft
