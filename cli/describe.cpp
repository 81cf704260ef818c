#include "describe.hpp"

#include <graft/app/check.hpp>

#include "option_words.hpp"
#include "result_json.hpp"

namespace graft::cli {
namespace {

// "UnknownType::Layer", of a type of ours.
template <class T>
std::string type_name() {
  std::string_view s = __PRETTY_FUNCTION__;
  size_t at = s.find("T = ") + 4;
  s = s.substr(at, s.find_first_of(";]", at) - at);
  return std::string(s.starts_with("graft::") ? s.substr(7) : s);
}

template <class T>
struct Parts {
  using Item = void;
};
template <class T>
struct Parts<std::vector<T>> {
  using Item = T;
  static constexpr const char* words = "list of ";
};
template <class T>
struct Parts<std::map<std::string, T>> {
  using Item = T;
  static constexpr const char* words = "dict of ";
};
template <class T>
struct Parts<std::vector<std::pair<std::string, T>>> : Parts<std::map<std::string, T>> {};
template <class T>
struct Parts<std::optional<T>> {
  using Item = T;
  static constexpr const char* words = "optional ";
};
template <class A, class B>
struct Parts<std::pair<A, B>> {
  using Item = A;
  static constexpr const char* words = "pair of ";
};

// The type of a field or option, as the tables show it.
template <class T>
std::string type_word() {
  using Item = typename Parts<T>::Item;
  if constexpr (std::is_same_v<T, bool>) return "bool";
  else if constexpr (std::is_integral_v<T> || (std::is_enum_v<T> && !std::is_same_v<T, DType>)) return "int";
  else if constexpr (std::is_floating_point_v<T>) return "float";
  else if constexpr (std::is_convertible_v<T, std::string_view>) return "str";
  else if constexpr (std::is_void_v<Item>) return type_name<T>();
  else return Parts<T>::words + type_word<Item>();
}

// The tables of a result and of the results in it.
template <class T>
void add_tables(json& out) {
  if constexpr (!std::is_void_v<typename Parts<T>::Item>) add_tables<typename Parts<T>::Item>(out);
  else if constexpr (Described<T>) {
    std::string name = type_name<T>();
    if (out.contains(name)) return;
    out[name] = json::array();
    auto row = [&](const auto& f) {
      using Value = std::remove_cvref_t<std::invoke_result_t<decltype(f.member), const T&>>;
      std::string type = f.first ? text("list of (", f.first, ", ", f.second, ")") : type_word<Value>();
      out[name].push_back({{"name", f.name}, {"type", type}, {"doc", f.doc}});
      add_tables<Value>(out);
    };
    std::apply([&](const auto&... f) { (row(f), ...); }, T::fields);
  }
}
template <class... T>
json tables_of() {
  json out = json::object();
  (add_tables<T>(out), ...);
  return out;
}

template <class Options>
json rows_of() {
  json out = json::array();
  Options defaults;
  each_option(defaults, [&]<class T>(const auto& row, const T&) {
    json flags = json::array();
    if (row.spellings)
      for (std::string_view s : split(row.spellings, ',')) flags.push_back(flag_of(s));
    out.push_back({{"name", row.name},
                   {"type", type_word<T>()},
                   {"flags", flags},
                   {"framework", row.framework},
                   {"doc", row.doc}});
  });
  return out;
}

}  // namespace

std::string description() {
  json out{{"read", rows_of<ReadOptions>()},
           {"convert", rows_of<ConvertOptions>()},
           {"results", tables_of<Report, Explanation, QueryResult, ConvertReport, OpInfo, PassInfo, ExtensionInfo,
                                 ProfilingInfo, ReplacementOutcome, CheckedOperation>()}};
  return out.dump(1);
}

}  // namespace graft::cli
