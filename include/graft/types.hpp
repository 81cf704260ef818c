// The vocabulary types of the SDK: element types, dimensions, shapes, strings, and how to report an error.
//
//   Shape s{1, 3, Dim(), Dim::between(8, 64)};   // [1,3,?,8..64]
//   Dim out = (s[3] + 2 - 3) / 2 + 1;            // stays unknown, keeps bounds
//   if (!s[1].can_be(channels)) fail("expected ", channels, " channels in the input, got ", s[1]);
//
// All of them are values: they own their contents, can be copied freely, and are as thread-safe as an int. Errors are
// thrown as Failure. Everything is header-only with hidden visibility: it becomes part of the binary that includes it,
// so a host and an extension never share these types; only the C structs of abi.h cross between them.
#pragma once

#if __cplusplus < 202002L
#error "the headers of Graft require C++20: compile with -std=c++20"
#include <graft_requires_cxx20>  // a missing file ends the compilation here, so that no other errors follow
#endif

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

// The type of a tensor's elements. `undefined` means "not known yet"; shape inference replaces it. The numeric values
// are those of abi.h and never change. Types below 8 bits (see is_packed) share bytes in memory.
enum class DType : graft_type {
  undefined = GRAFT_UNDEFINED,  // not known yet; printed as "dynamic"
  boolean = GRAFT_BOOLEAN,      // one byte, 0 or 1
  f64 = GRAFT_F64,              // IEEE 754 binary64
  f32 = GRAFT_F32,              // IEEE 754 binary32
  f16 = GRAFT_F16,              // IEEE 754 binary16
  bf16 = GRAFT_BF16,            // the upper half of an f32
  i64 = GRAFT_I64,              // signed integers, two's complement
  i32 = GRAFT_I32,
  i16 = GRAFT_I16,
  i8 = GRAFT_I8,
  i4 = GRAFT_I4,    // packed: two per byte, low nibble first
  u64 = GRAFT_U64,  // unsigned integers
  u32 = GRAFT_U32,
  u16 = GRAFT_U16,
  u8 = GRAFT_U8,
  u4 = GRAFT_U4,                  // packed like i4
  u1 = GRAFT_U1,                  // packed: eight per byte, highest bit first
  string = GRAFT_STRING,          // graft_str; the bytes belong to the tensor
  f8e4m3 = GRAFT_F8E4M3,          // OCP 8-bit float without infinity
  f8e5m2 = GRAFT_F8E5M2,          // OCP 8-bit float with infinity
  f8e4m3fnuz = GRAFT_F8E4M3FNUZ,  // ONNX variants without infinity and negative zero
  f8e5m2fnuz = GRAFT_F8E5M2FNUZ,
  f8e8m0 = GRAFT_F8E8M0,  // a power of two, used as a scale
  f4e2m1 = GRAFT_F4E2M1,  // packed 4-bit float
  nf4 = GRAFT_NF4,        // packed index into the 16 levels of a normal distribution
};

// What is known about an element type. The table is indexed by the numeric value of the type. To add a type, extend
// abi.h, the enum above, this table and the conversions of the host.
struct DTypeTraits {
  DType type;
  std::string_view name;
  int bits;  // of one element in memory
  enum Family : uint8_t { none, boolean, real, integer, unsigned_integer, text } family;
};

// The names are part of the IR format. The order must match the numeric values of abi.h.
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

// Out-of-range values, as a newer host may pass them, have the traits of `undefined`.
constexpr const DTypeTraits& traits(DType type) {
  auto i = static_cast<size_t>(type);
  return i < std::size(dtype_table) ? dtype_table[i] : dtype_table[0];
}
// The spelling of the IR and of the textual form: "f32", "i64", "boolean"; "dynamic" for undefined.
constexpr std::string_view name_of(DType type) { return traits(type).name; }
// Bits per element in memory; 0 for undefined. A tensor of n elements has (n * bits + 7) / 8 bytes.
constexpr int bits_of(DType type) { return traits(type).bits; }
// Floating-point types of any size, including 8-bit and 4-bit ones. Use these predicates instead of lists of types, so
// that new ones are covered:
//
//   if (!is_real(ctx.type(0))) fail("expected floating-point data, got ", ctx.type(0));
constexpr bool is_real(DType type) { return traits(type).family == DTypeTraits::real; }
// Signed and unsigned integers; not booleans.
constexpr bool is_integer(DType type) {
  return traits(type).family == DTypeTraits::integer || traits(type).family == DTypeTraits::unsigned_integer;
}
// Signed integers only, of any size.
constexpr bool is_signed_integer(DType type) { return traits(type).family == DTypeTraits::integer; }
// Whether several elements share a byte (4-bit and 1-bit types). Use TensorView::to or Cells to access them.
constexpr bool is_packed(DType type) { return bits_of(type) > 0 && bits_of(type) < 8; }

// The element type that corresponds to a C++ type; undefined for types that are no element type.
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

// The exception that SDK code throws and catches:
//
//   throw Failure{GRAFT_USER, "expected a matrix, got a scalar", "reshape the input to [1,1]"};   // with a hint
//
// It never crosses the boundary between host and extension: `guarded` (context.hpp) converts it to a status there.
// Applications see graft::Error (error.hpp) instead. An empty message means that the host already knows the reason.
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
// Overloads of append_text define how a value appears in messages. Numbers use the shortest representation that
// round-trips, independent of the locale.
void append_text(std::string& out, const Dim& dim);
void append_text(std::string& out, const Shape& shape);
// Strings are inserted as they are, without quotes: put them between ' in the message.
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
// Lists of numbers are printed like shapes: "[1,2,3]".
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

// Concatenates strings, numbers, element types, dimensions, shapes and lists of numbers:
//
//   text("expected ", 3, " axes, got shape ", Shape{1, Dim()})   // "expected 3 axes, got shape [1,?]"
//
// To make another type printable, overload append_text in its namespace.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::string out;
  (append_text(out, parts), ...);
  return out;
}

// Reports an error of the user or the model by throwing a Failure. Messages start in lower case, have no full stop, and
// say what was expected and what was found:
//
//   if (scale <= 0) fail("expected a positive scale, got ", scale);
//
// The host adds where it happened (attribute, node, file), so the message need not.
template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw Failure{GRAFT_USER, text(parts...), {}};
}
// Reports that something is valid but not supported here. A kernel uses it to decline a node (the reason is shown by
// `graft explain`), a pass to leave a node unchanged.
template <class... Parts>
[[noreturn]] void unsupported(const Parts&... parts) {
  throw Failure{GRAFT_UNSUPPORTED, text(parts...), {}};
}

// Conversions between graft_str and string_view. Neither copies: the result is valid as long as the characters are.
//
//   host->attribute(node, str("alpha"))        // to the host
//   std::string name(view(record->name));      // from the host
inline std::string_view view(graft_str s) { return {s.data, s.size}; }
constexpr graft_str str(std::string_view s) { return {s.data(), s.size()}; }

// ---- dimensions and shapes ----

// A dimension: a known size, or any size between two bounds.
//
//   Dim(3)                  // 3
//   Dim()                   // unknown: 0 to unbounded
//   Dim::between(8, 64)     // 8..64
//
// Two unknown dimensions with the same nonzero symbol are equal even though their size is unknown ("batch"). Shape
// functions should use the arithmetic below and `can_be` instead of requiring `known()`.
class Dim {
 public:
  // The upper bound of a dimension about which nothing is known.
  static constexpr int64_t unbounded = INT64_MAX;

  // Unknown: from 0 to unbounded.
  constexpr Dim() : d_{0, unbounded, 0, 0} {}
  // A known size. Implicit, so that numbers can be used as dimensions; fails if it is negative.
  Dim(int64_t value) : d_{value, value, 0, 0} {
    if (value < 0) fail("expected a non-negative dimension, got ", value);
  }
  // From the C form, taken as it is.
  constexpr explicit Dim(graft_dim d) : d_(d) {}
  // The bounds are inclusive. They are not checked, and unlike a size they may be negative (see `known_output`).
  static Dim between(int64_t min, int64_t max) { return Dim(graft_dim{min, max, 0, 0}); }
  // An unknown dimension that equals all others with the same symbol. Symbols are numbered by the host; 0 means none.
  static Dim symbolic(uint32_t symbol) { return Dim(graft_dim{0, unbounded, symbol, 0}); }

  // Whether the size is known, that is, both bounds are equal.
  bool known() const { return d_.min == d_.max; }
  // The size; fails if it is unknown, so test `known()` first.
  int64_t value() const {
    if (!known()) fail("the dimension is unknown, but its value is required here");
    return d_.min;
  }
  // The inclusive bounds; equal if the size is known, and 0 and `unbounded` if nothing is known.
  int64_t min() const { return d_.min; }
  int64_t max() const { return d_.max; }
  uint32_t symbol() const { return d_.symbol; }
  // Whether this value lies within the bounds. Use it to detect what cannot be valid, and accept what may be:
  //
  //   if (!shape[0].can_be(1)) fail("expected a batch of 1, got ", shape[0]);
  bool can_be(int64_t value) const { return d_.min <= value && value <= d_.max; }
  // Certainly equal: both known with the same size, or unknown with the same symbol. Two unknown dimensions without a
  // symbol are not `same`, although they are `==`.
  bool same(const Dim& o) const {
    return (known() && o.known() && d_.min == o.d_.min) ||
           (!known() && !o.known() && d_.symbol && d_.symbol == o.d_.symbol);
  }
  // Equal as descriptions: the same bounds and symbol. Compare sizes with `same` or `can_be`.
  bool operator==(const Dim& o) const { return d_.min == o.d_.min && d_.max == o.d_.max && d_.symbol == o.d_.symbol; }

  // Interval arithmetic, saturating at `unbounded`:
  //
  //   Dim::between(2, 4) + 3          // 5..7
  //   Dim::between(2, 4) * Dim()      // ?
  //   (Dim() - 3) / 2 + 1             // 1..
  //
  // The symbol survives only operations that keep the value (x + 0, x * 1).
  friend Dim operator+(const Dim& a, const Dim& b) {
    if (b.known() && b.d_.min == 0) return a;
    if (a.known() && a.d_.min == 0) return b;
    return between(sat_add(a.d_.min, b.d_.min), sat_add(a.d_.max, b.d_.max));
  }
  // Never negative for unknown operands; fails if two known sizes have a negative difference.
  friend Dim operator-(const Dim& a, const Dim& b) {
    if (b.known() && b.d_.min == 0) return a;
    if (a.known() && b.known()) return Dim(sat_sub(a.d_.min, b.d_.min));
    int64_t low = b.d_.max >= a.d_.min ? 0 : sat_sub(a.d_.min, b.d_.max);
    int64_t high = a.d_.max == unbounded ? unbounded : sat_sub(a.d_.max, b.d_.min);
    return between(low, high < 0 ? 0 : high);
  }
  friend Dim operator*(const Dim& a, const Dim& b) {
    if (b.known() && b.d_.min == 1) return a;
    if (a.known() && a.d_.min == 1) return b;
    return between(sat_mul(a.d_.min, b.d_.min), sat_mul(a.d_.max, b.d_.max));
  }
  // Rounds down; fails for a divisor below 1.
  friend Dim operator/(const Dim& a, int64_t b) {  // rounds down
    if (b <= 0) fail("expected a positive divisor of a dimension, got ", b);
    if (b == 1) return a;
    return between(a.d_.min / b, a.d_.max == unbounded ? unbounded : a.d_.max / b);
  }
  // Rounds up.
  static Dim divide_up(const Dim& a, int64_t b) {
    if (b <= 0) fail("expected a positive divisor of a dimension, got ", b);
    return b == 1 ? a : (a + Dim(b - 1)) / b;
  }

  const graft_dim& raw() const { return d_; }

 private:
  static int64_t sat_add(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_add_overflow(a, b, &r) ? unbounded : r;
  }
  static int64_t sat_sub(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_sub_overflow(a, b, &r) ? (a < 0 ? INT64_MIN : unbounded) : r;
  }
  static int64_t sat_mul(int64_t a, int64_t b) {
    int64_t r;
    if (a == 0 || b == 0) return 0;
    return __builtin_mul_overflow(a, b, &r) ? unbounded : r;
  }
  graft_dim d_;
};
static_assert(sizeof(Dim) == sizeof(graft_dim));

// The dimensions of a tensor, or an unknown rank.
//
//   Shape()                     // scalar: rank 0, one element
//   Shape{2, Dim(), 4}          // [2,?,4]
//   Shape::of_rank(3)           // [?,?,?]
//   Shape::unknown()            // [...]: not even the rank is known
//
// Indexing an unranked shape is undefined; test `ranked()` first.
class Shape {
 public:
  Shape() = default;  // the scalar shape
  Shape(std::initializer_list<Dim> dims) : dims_(dims) {}
  explicit Shape(std::vector<Dim> dims) : dims_(std::move(dims)) {}
  // Not even the rank is known.
  static Shape unknown() {
    Shape s;
    s.ranked_ = false;
    return s;
  }
  // A known rank with unknown dimensions. Fails for ranks that no tensor has, because it may come from a dimension:
  // that of the target shape of a Reshape.
  static Shape of_rank(size_t rank) {
    constexpr size_t most = 1024;
    if (rank > most) fail("expected a rank of at most ", most, ", got ", rank);
    return Shape(std::vector<Dim>(rank));
  }
  // A shape whose dimensions are all known.
  static Shape of(std::span<const int64_t> dims) {
    Shape s;
    s.dims_.assign(dims.begin(), dims.end());
    return s;
  }
  // A copy of a shape from the host; it does not refer to the host's memory.
  explicit Shape(const graft_shape& s) : ranked_(s.rank >= 0) {
    for (int32_t i = 0; i < s.rank; ++i) dims_.push_back(Dim(s.dims[i]));
  }

  // Whether the rank is known. Everything below except elements() and is_static() requires it.
  bool ranked() const { return ranked_; }
  // Fails if the rank is unknown.
  size_t rank() const {
    if (!ranked_) fail("the rank is unknown, but it is required here");
    return dims_.size();
  }
  // Whether the rank and all dimensions are known.
  bool is_static() const {
    if (!ranked_) return false;
    for (const Dim& d : dims_)
      if (!d.known()) return false;
    return true;
  }
  // Fails for an axis that the shape does not have, because ranks come from untrusted files. Negative axes: see
  // normalize_axis (shapes.hpp).
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

  // The number of elements, as far as it is known; 1 for a scalar.
  Dim elements() const {
    if (!ranked_) return Dim();
    Dim n = 1;
    for (const Dim& d : dims_) n = n * d;
    return n;
  }
  // All dimensions as numbers; fails unless is_static(). For code that runs when shapes are final, such as kernels.
  std::vector<int64_t> values() const {
    std::vector<int64_t> v;
    v.reserve(dims_.size());
    for (const Dim& d : dims_) v.push_back(d.value());
    return v;
  }
  // The C form, which refers to this object: valid until it is changed or destroyed.
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
// "[1,3,?]", or "[...]" if the rank is unknown.
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

// The order of a tensor's elements in memory. Dimensions are listed as the operation defines them, whatever the layout.
// Kernels get plain tensors unless they declare others (Kernel::layouts).
enum class Layout : int32_t {
  plain = GRAFT_PLAIN,                  // row-major
  channels_last = GRAFT_CHANNELS_LAST,  // dimension 1 varies fastest: [N, H, W, C]
  any = GRAFT_ANY_LAYOUT                // in Kernel::layouts only: see there
};

// The type and shape of a value: all that shape inference knows about it. By default neither is known. Printed as
// "f32[1,3,?]".
struct Info {
  DType type = DType::undefined;
  Shape shape = Shape::unknown();
  bool operator==(const Info&) const = default;
  // The C form refers to the shape of this object: valid until it is changed or destroyed.
  graft_info raw() const { return {static_cast<graft_type>(type), 0, shape.raw()}; }
  static Info from(const graft_info& i) { return {static_cast<DType>(i.type), Shape(i.shape)}; }
};
inline void append_text(std::string& out, const Info& info) {
  append_text(out, info.type);
  append_text(out, info.shape);
}

}  // namespace graft
