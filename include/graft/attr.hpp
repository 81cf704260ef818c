// Attributes: a plain struct with default values, and a list that names its members.
//
//   struct Pad {
//     enum Mode { constant, edge, reflect } mode = constant;
//     std::vector<int64_t> pads;
//     float value = 0;
//     std::optional<int64_t> axis;
//     static constexpr std::tuple schema{
//         graft::attr("mode", &Pad::mode, "padding method").one_of("constant", "edge", "reflect"),
//         graft::attr("pads", &Pad::pads, "elements to add at both ends").required().at_least(0),
//         graft::attr("value", &Pad::value, "padding value for mode 'constant'"),
//         graft::attr("axis", &Pad::axis, "axis to pad; absent: all")};
//   };
//
// That is the only place where an attribute is described: the IR, the textual form, import rules, `graft ops` and all
// checks follow from it. Functions of the operation receive the struct with all values set and checked.
//
// A member may be
//  - bool, an integer, float or double, std::string,
//  - an enum, whose values are named in order by `one_of`,
//  - DType, Shape, TensorView,
//  - a vector of int64_t, float, double, std::string or DType,
//  - std::optional of any of these; then the attribute may be absent, which differs from its default.
//
// Names, order, defaults and allowed strings are part of the IR format: those of built-in operations are the ones of
// the OpenVINO opsets. The IR writes every attribute in the order of the schema.
//
// Errors: a value of the wrong kind or outside its bounds is rejected by the host before any function sees it.
// Everything here is immutable after loading or local to a call, so there is nothing to synchronize.
#pragma once

#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "tensor.hpp"

namespace [[gnu::visibility("hidden")]] graft {

// Whether T is a std::optional, and of what.
template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {
  using inner = T;
};

// The kind of attribute value that a member type is stored as; GRAFT_NONE for types that no attribute can have. All
// integers are stored as int64_t and all floating-point numbers as double; the schema remembers which are f32, so that
// they print with fewer digits.
template <class T>
constexpr graft_kind kind_of() {
  if constexpr (is_optional<T>::value) return kind_of<typename is_optional<T>::inner>();
  else if constexpr (std::is_same_v<T, bool>) return GRAFT_BOOL;
  else if constexpr (std::is_same_v<T, DType>) return GRAFT_DTYPE;
  else if constexpr (std::is_enum_v<T> || std::is_same_v<T, std::string>) return GRAFT_TEXT;
  else if constexpr (std::is_integral_v<T>) return GRAFT_INT;
  else if constexpr (std::is_floating_point_v<T>) return GRAFT_FLOAT;
  else if constexpr (std::is_same_v<T, Shape>) return GRAFT_SHAPE;
  else if constexpr (std::is_same_v<T, TensorView>) return GRAFT_TENSOR;
  else if constexpr (std::is_same_v<T, std::vector<int64_t>>) return GRAFT_INTS;
  else if constexpr (std::is_same_v<T, std::vector<float>> || std::is_same_v<T, std::vector<double>>)
    return GRAFT_FLOATS;
  else if constexpr (std::is_same_v<T, std::vector<std::string>>) return GRAFT_TEXTS;
  else if constexpr (std::is_same_v<T, std::vector<DType>>) return GRAFT_DTYPES;
  else return GRAFT_NONE;
}

// One entry of a schema. The functions below return a changed copy, so that they can be chained:
//
//   attr("mode", &Pad::mode, "padding method").one_of("constant", "edge", "reflect").required()
//
// Strings are referenced, not copied: use literals.
template <class Owner, class Member>
struct AttrSpec {
  // See the list of member types at the top of this file.
  static_assert(
      kind_of<Member>() != GRAFT_NONE,
      "an attribute cannot have this type: use bool, an integer, float, double, std::string, an enum, DType, "
      "Shape, TensorView, std::optional of these, or a vector of int64_t, float, double, std::string or DType");
  std::string_view name;
  Member Owner::*member;
  std::string_view doc;
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  std::array<graft_str, 12> words{};
  size_t word_count = 0;
  bool is_required = false;

  // Inclusive bounds of a number, or of each element of a list. The error names the attribute, the bound and the
  // value.
  constexpr AttrSpec at_least(double v) const {
    return with([&](AttrSpec& s) { s.min = v; });
  }
  constexpr AttrSpec at_most(double v) const {
    return with([&](AttrSpec& s) { s.max = v; });
  }
  constexpr AttrSpec between(double a, double b) const { return at_least(a).at_most(b); }
  // The allowed strings; for an enum, the names of its values in numeric order. At most 12. Any other string is
  // rejected with the list of allowed ones.
  template <class... W>
  constexpr AttrSpec one_of(W... w) const {
    return with([&](AttrSpec& s) { ((s.words[s.word_count++] = str(std::string_view(w))), ...); });
  }
  // The attribute has no default: a node without it is invalid. Tensors are always required, since they have no
  // sensible default.
  constexpr AttrSpec required() const {
    return with([](AttrSpec& s) { s.is_required = true; });
  }

 private:
  template <class F>
  constexpr AttrSpec with(F change) const {
    AttrSpec copy = *this;
    change(copy);
    return copy;
  }
};

// Describes a member of an attribute struct.
//
// `name` is how the IR spells it. `doc` is a short noun phrase or imperative without a full stop, as shown by `graft
// ops NAME`; it need not repeat the default, the bounds or the allowed strings, which are shown as well.
template <class Owner, class Member>
constexpr AttrSpec<Owner, Member> attr(std::string_view name, Member Owner::*member, std::string_view doc) {
  return {name, member, doc};
}

// For operations without attributes, and for code that reads them by name.
struct NoAttributes {
  static constexpr std::tuple<> schema{};
};

// ---- between members and values ----

// A floating-point value as an integer; fails if it is not one. Text formats do not distinguish 2 from 2.0.
inline int64_t whole_number(double v) {
  if (!(v >= -0x1p63 && v < 0x1p63) || v != std::trunc(v)) fail("expected an integer, got ", v);
  return static_cast<int64_t>(v);
}
// An integer as a narrower type; fails if it does not fit.
template <class T>
T narrow(int64_t v) {
  if (!std::in_range<T>(v))
    fail("expected an integer from ", +std::numeric_limits<T>::min(), " to ", +std::numeric_limits<T>::max(), ", got ",
         v);
  return static_cast<T>(v);
}

// Sets a member from a value whose kind the host has checked.
template <class T>
void read_value(const graft_value& v, T& out, std::span<const graft_str> words = {}) {
  if constexpr (is_optional<T>::value) {
    out.emplace();
    read_value(v, *out, words);
  } else if constexpr (std::is_same_v<T, bool>) out = v.i != 0;
  else if constexpr (std::is_same_v<T, DType>) out = static_cast<DType>(v.i);
  else if constexpr (std::is_enum_v<T>) {
    size_t i = 0;
    while (i < words.size() && view(words[i]) != view(v.s)) ++i;
    if (i == words.size()) fail("expected a word that `one_of` lists, got '", view(v.s), "'");
    out = static_cast<T>(i);
  } else if constexpr (std::is_same_v<T, std::string>) out = view(v.s);
  else if constexpr (std::is_integral_v<T>) out = narrow<T>(v.kind == GRAFT_FLOAT ? whole_number(v.f) : v.i);
  else if constexpr (std::is_floating_point_v<T>)
    out = static_cast<T>(v.kind == GRAFT_FLOAT ? v.f : static_cast<double>(v.i));
  else if constexpr (std::is_same_v<T, Shape>) out = Shape(v.shape);
  else if constexpr (std::is_same_v<T, TensorView>) out = TensorView(v.tensor);
  else if constexpr (kind_of<T>() != GRAFT_NONE) {
    out.clear();
    for (size_t i = 0; i < v.count; ++i) {
      if constexpr (std::is_same_v<T, std::vector<std::string>>)
        out.emplace_back(view(static_cast<const graft_str*>(v.items)[i]));
      else if constexpr (std::is_same_v<T, std::vector<DType>>)
        out.push_back(static_cast<DType>(static_cast<const graft_type*>(v.items)[i]));
      else if (v.kind == GRAFT_INTS)
        out.push_back(static_cast<typename T::value_type>(static_cast<const int64_t*>(v.items)[i]));
      else if (v.kind == GRAFT_FLOATS) {
        double number = static_cast<const double*>(v.items)[i];
        if constexpr (std::is_integral_v<typename T::value_type>) out.push_back(whole_number(number));
        else out.push_back(static_cast<typename T::value_type>(number));
      }
    }
  }
}

// An attribute value that owns its contents, as written when creating a node:
//
//   layer.op("Softmax", {x}, {{"axis", -1}})
//   layer.op("Pad", {x}, {{"mode", "edge"}, {"pads", std::vector<int64_t>{1, 2}}})
//
// Constructors are implicit on purpose. Tensors are referenced, not copied, and must outlive the value; everything else
// is copied. It can be copied and moved itself.
class AttrValue {
 public:
  AttrValue(bool b) { v_.kind = GRAFT_BOOL, v_.i = b; }
  template <class N>
  requires(std::is_integral_v<N> && !std::is_same_v<N, bool>) AttrValue(N i) {
    v_.kind = GRAFT_INT, v_.i = static_cast<int64_t>(i);
  }
  template <class N>
  requires(std::is_floating_point_v<N>) AttrValue(N f) { v_.kind = GRAFT_FLOAT, v_.f = f; }
  AttrValue(const char* s) : AttrValue(std::string(s)) {}
  AttrValue(std::string s) : text_(std::move(s)) { v_.kind = GRAFT_TEXT; }
  AttrValue(std::string_view s) : AttrValue(std::string(s)) {}
  AttrValue(DType t) { v_.kind = GRAFT_DTYPE, v_.i = static_cast<graft_type>(t); }
  AttrValue(Shape s) : shape_(std::move(s)) { v_.kind = GRAFT_SHAPE; }
  AttrValue(TensorView t) { v_.kind = GRAFT_TENSOR, v_.tensor = t.raw(); }
  AttrValue(std::vector<int64_t> i) : ints_(std::move(i)) { v_.kind = GRAFT_INTS; }
  AttrValue(std::vector<double> f) : floats_(std::move(f)) { v_.kind = GRAFT_FLOATS; }
  AttrValue(const std::vector<float>& f) : floats_(f.begin(), f.end()) { v_.kind = GRAFT_FLOATS; }
  AttrValue(const std::vector<std::string>& t) : texts_(t) { v_.kind = GRAFT_TEXTS; }
  AttrValue(const std::vector<DType>& t) {
    v_.kind = GRAFT_DTYPES;
    for (DType x : t) types_.push_back(static_cast<graft_type>(x));
  }

  // Refers to a value that is stored elsewhere and outlives this object.
  explicit AttrValue(const graft_value& v) : v_(v), elsewhere_(true) {}

  // The C form, which refers to this object: valid until it is moved, changed or destroyed, or until the next call.
  graft_value raw() const {
    graft_value v = v_;
    if (elsewhere_) return v;
    if (v.kind == GRAFT_TEXT) v.s = str(text_);
    if (v.kind == GRAFT_SHAPE) v.shape = shape_.raw();
    if (v.kind == GRAFT_INTS) v.items = ints_.data(), v.count = ints_.size();
    if (v.kind == GRAFT_FLOATS) v.items = floats_.data(), v.count = floats_.size();
    if (v.kind == GRAFT_DTYPES) v.items = types_.data(), v.count = types_.size();
    if (v.kind == GRAFT_TEXTS) {
      strs_.clear();
      for (const std::string& t : texts_) strs_.push_back(str(t));
      v.items = strs_.data(), v.count = strs_.size();
    }
    return v;
  }

 private:
  graft_value v_{};
  bool elsewhere_ = false;
  std::string text_;
  Shape shape_;
  std::vector<int64_t> ints_;
  std::vector<double> floats_;
  std::vector<graft_type> types_;
  std::vector<std::string> texts_;
  mutable std::vector<graft_str> strs_;
};

// The default of a member as a value; an enum becomes its name.
template <class T>
AttrValue default_value(const T& member, std::span<const graft_str> words) {
  if constexpr (kind_of<T>() == GRAFT_NONE) return AttrValue(false);  // AttrSpec refuses to compile
  else if constexpr (std::is_enum_v<T> && !std::is_same_v<T, DType>)
    return AttrValue(static_cast<size_t>(member) < words.size() ? view(words[static_cast<size_t>(member)]) : "");
  else return AttrValue(member);
}

// Fills the attribute struct of a node. `look_up(name)` returns a const graft_value*, or null if the attribute is
// absent, in which case the member keeps its default:
//
//   Elu a = read_attributes<Elu>([&](std::string_view name) { return host->attribute(node, str(name)); });
template <class A, class LookUp>
A read_attributes(LookUp look_up) {
  A a;
  std::apply(
      [&](const auto&... spec) {
        [[maybe_unused]] auto one = [&](const auto& s) {
          const graft_value* v = look_up(s.name);
          if (!v) return;
          try {
            read_value(*v, a.*(s.member), std::span(s.words.data(), s.word_count));
          } catch (Failure& f) {
            f.message = text("attribute '", s.name, "': ", f.message);
            throw;
          }
        };
        (one(spec), ...);
      },
      A::schema);
  return a;
}

}  // namespace graft
