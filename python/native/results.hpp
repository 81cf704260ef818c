// Results as dictionaries, from their fields; the classes in graft/reports.py give them a form.
#pragma once

#include <pybind11/stl.h>

#include <graft/app/convert.hpp>
#include <graft/app/operations.hpp>
#include <graft/app/query.hpp>
#include <map>

#include "definition.hpp"

namespace graft::python {

py::object shape_object(const Shape& s);

// A text of the library with options as keyword arguments: `shapes[data]=[1,3]` becomes shapes={'data': '[1,3]'}.
std::string in_keywords(std::string_view text);

// A graft.Error.
py::object exception_object(const Error& e);

py::object value_object(const Info& i);
py::object value_object(const Port& p);
inline py::object value_object(const Error& e) { return exception_object(e); }
inline py::object value_object(const Attribute& a) { return attribute_object(a); }
inline py::object value_object(const std::string& s) { return str_object(s); }
inline py::object value_object(std::string_view s) { return str_object(s); }
template <class T>
requires(std::is_arithmetic_v<T>) py::object value_object(T v) { return py::cast(v); }
template <class T>
requires(std::is_enum_v<T>) py::object value_object(T v) { return py::cast(static_cast<std::underlying_type_t<T>>(v)); }
template <Described T>
py::dict result_dict(const T& result);
// An object of graft.reports.Record.
py::object record(const py::dict& fields);
template <Described T>
py::object value_object(const T& result) {
  return record(result_dict(result));
}
template <class T>
py::object value_object(const std::optional<T>& v) {
  return v ? value_object(*v) : py::none();
}
template <class T>
py::list value_object(const std::vector<T>& list) {
  py::list out;
  for (const T& v : list) out.append(value_object(v));
  return out;
}
template <class T>
py::dict value_object(const std::map<std::string, T>& values) {
  py::dict out;
  for (const auto& [key, v] : values) out[str_object(key)] = value_object(v);
  return out;
}

template <class F, class T>
py::object field_object(const F&, const T& value) {
  return value_object(value);
}
// Pairs: records with the names of both parts, or one dictionary.
template <class F, class T>
py::object field_object(const F& field, const std::vector<std::pair<std::string, T>>& list) {
  py::list records;
  py::dict values;
  for (const auto& [a, b] : list) {
    if (!field.first) {
      values[str_object(a)] = value_object(b);
      continue;
    }
    py::dict one;
    one[field.first] = str_object(a), one[field.second] = value_object(b);
    records.append(record(one));
  }
  return field.first ? py::object(records) : py::object(values);
}
template <Described T>
py::dict result_dict(const T& result) {
  py::dict out;
  each_field(result, [&](const auto& f, const auto& value) { out[f.name] = field_object(f, value); });
  if constexpr (requires { result.to_text(); }) out["text"] = in_keywords(result.to_text());
  return out;
}

// The arguments of the classes that a list is made of.
template <Described T>
py::list result_dicts(const std::vector<T>& results) {
  py::list out;
  for (const T& r : results) out.append(result_dict(r));
  return out;
}

}  // namespace graft::python
