// JSON of results, from their fields.
#pragma once

#include <graft/app/convert.hpp>
#include <graft/app/operations.hpp>
#include <graft/app/query.hpp>
#include <map>
#include <nlohmann/json.hpp>

namespace graft::cli {

using nlohmann::json;

json shape_json(const Shape& s);
json value_json(const Shape& s);
json value_json(const Info& i);
json value_json(const Port& p);
json value_json(const Attribute& a);
json value_json(const Error& e);

inline json value_json(const std::string& s) { return s; }
inline json value_json(std::string_view s) { return std::string(s); }
template <class T>
requires(std::is_arithmetic_v<T>) json value_json(T v) { return v; }
template <class T>
requires(std::is_enum_v<T>) json value_json(T v) { return static_cast<std::underlying_type_t<T>>(v); }
template <Described T>
json value_json(const T& result);
template <class T>
json value_json(const std::optional<T>& v) {
  return v ? value_json(*v) : json();
}
template <class T>
json value_json(const std::vector<T>& list) {
  json out = json::array();
  for (const T& v : list) out.push_back(value_json(v));
  return out;
}
template <class T>
json value_json(const std::map<std::string, T>& values) {
  json out = json::object();
  for (const auto& [key, v] : values) out[key] = value_json(v);
  return out;
}

template <class F, class T>
json field_json(const F&, const T& value) {
  return value_json(value);
}
// Pairs: objects with the names of both parts, or one object.
template <class F, class T>
json field_json(const F& field, const std::vector<std::pair<std::string, T>>& list) {
  json out = field.first ? json::array() : json::object();
  for (const auto& [a, b] : list) {
    if (field.first) out.push_back({{field.first, a}, {field.second, value_json(b)}});
    else out[a] = value_json(b);
  }
  return out;
}
// Adds the fields to an object.
template <Described T>
void add_fields(json& out, const T& result) {
  each_field(result, [&](const auto& f, const auto& value) { out[f.name] = field_json(f, value); });
}
template <Described T>
json value_json(const T& result) {
  json out = json::object();
  add_fields(out, result);
  return out;
}

}  // namespace graft::cli
