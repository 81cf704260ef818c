// Fields of results and options as data: a struct lists its members once, and JSON, Python attributes, tables of the
// documentation, command-line options and keyword arguments follow from that list.
//
//   struct LayerSupport {
//     std::string layer;
//     bool supported = false;
//     static constexpr std::tuple fields{graft::field("layer", &LayerSupport::layer, "name of the layer"),
//                                        graft::field("supported", &LayerSupport::supported, "whether a kernel runs
//                                        it")};
//   };
//   graft::each_field(support, [](const auto& field, const auto& value) { ... field.name, field.doc ... });
//
// A result has the list `fields`, which may name functions without arguments, too. A struct of options has the list
// `options`; `options_of` names a member that is a struct of options itself.
#pragma once

#include <cstddef>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace graft {

// `M` is a pointer to a member, or to a const function without arguments.
template <class M>
struct FieldRow {
  const char* name;
  M member;
  const char* doc;
  // Names of the two parts of a list of pairs; without them it is a dictionary.
  const char *first = nullptr, *second = nullptr;
};
template <class M>
constexpr FieldRow<M> field(const char* name, M member, const char* doc) {
  return {name, member, doc};
}
template <class M>
constexpr FieldRow<M> pairs(const char* name, M member, const char* first, const char* second, const char* doc) {
  return {name, member, doc, first, second};
}

// An option of reading or converting. Its spellings on the command line are those of the Model Optimizer where it has
// the option: without dashes, separated by commas, and the first one is shown in messages.
template <class M>
struct OptionRow : FieldRow<M> {
  const char* spellings = nullptr;  // null: none
  const char* framework = "";       // that it applies to, or several separated by commas; empty: all
  const char* notation = nullptr;   // of its value on the command line; null: as the type has it
  constexpr OptionRow spelled(const char* names, const char* how = nullptr) const {
    OptionRow out = *this;
    out.spellings = names, out.notation = how;
    return out;
  }
  constexpr OptionRow of(const char* which) const {
    OptionRow out = *this;
    out.framework = which;
    return out;
  }
};
template <class M>
constexpr OptionRow<M> option(const char* name, M member, const char* doc) {
  return {{name, member, doc}};
}
template <class M>
struct OptionPart {
  M member;
};
template <class M>
constexpr OptionPart<M> options_of(M member) {
  return {member};
}

// A struct with a list of fields, or of options.
template <class T>
concept Described = requires {
  std::tuple_size<std::remove_cvref_t<decltype(T::fields)>>::value;
};

// `call(field, value)` for every field of a result.
template <Described T, class F>
constexpr void each_field(const T& of, F&& call) {
  std::apply([&](const auto&... f) { (call(f, std::invoke(f.member, of)), ...); }, T::fields);
}
// Whether an option has another value than its default, which is false, none or empty.
template <class T>
constexpr bool is_given(const T& value) {
  if constexpr (requires { value.empty(); }) return !value.empty();
  else if constexpr (requires { value.has_value(); }) return value.has_value();
  else return static_cast<bool>(value);
}
// `call(option, value)` for every option, those of members included; the value can be set unless `of` is const.
template <class T, class F>
constexpr void each_option(T& of, F&& call) {
  auto one = [&]<class Row>(const Row& row) {
    auto& value = std::invoke(row.member, of);
    if constexpr (requires { row.name; }) call(row, value);
    else each_option(value, call);
  };
  std::apply([&](const auto&... rows) { (one(rows), ...); }, std::remove_cvref_t<T>::options);
}

}  // namespace graft
