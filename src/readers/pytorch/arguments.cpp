#include "readers/pytorch/arguments.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "readers/pytorch/tensors.hpp"

namespace graft {

using nlohmann::json;

const json& member(const json& object, std::string_view name) {
  if (!object.is_object()) throw_user("expected an object with '", name, "', got ", object.type_name());
  auto it = object.find(name);
  if (it == object.end()) throw_user("expected a member '", name, "' of an object");
  return *it;
}
std::string text_member(const json& object, std::string_view name) {
  const json& v = member(object, name);
  if (!v.is_string()) throw_user("expected a string as '", name, "', got ", v.type_name());
  return v.get<std::string>();
}
Tagged tagged(const json& v) {
  if (!v.is_object() || v.size() != 1) throw_user("expected an object with one member, got ", v.type_name());
  return {v.begin().key(), v.begin().value()};
}
std::string name_in(const json& v) {
  if (!v.is_object()) return {};
  for (const char* key : {"name", "as_name"})
    if (auto it = v.find(key); it != v.end() && it->is_string()) return it->get<std::string>();
  return {};
}
double number_in(const json& v) {
  if (v.is_number()) return v.get<double>();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (v == "Infinity") return infinity;
  if (v == "-Infinity") return -infinity;
  if (v == "NaN") return std::numeric_limits<double>::quiet_NaN();
  throw_user("expected a number, got ", v.type_name());
}

namespace {

int64_t integer_in(const json& v) {
  if (!v.is_number_integer()) throw_user("expected an integer, got ", v.type_name());
  return v.get<int64_t>();
}

Attribute scalar_type(const json& v) {
  DType type = pytorch_element_type(integer_in(v));
  if (type != DType::undefined) return Attribute(type);
  int64_t number = integer_in(v);
  return Attribute(number >= 9 && number <= 11 ? std::string("complex") : text("type ", number));
}

// Where a tensor lies and how it is laid out means nothing here.
bool is_placement(std::string_view tag) {
  return tag == "as_device" || tag == "as_layout" || tag == "as_memory_format" || tag == "as_none";
}

template <class T, class F>
Attribute list_of(const json& values, F f) {
  std::vector<T> out;
  for (const json& v : values) out.push_back(f(v));
  return Attribute(std::move(out));
}

}  // namespace

void Arguments::add_input(const std::string& name, std::string value) {
  inputs.push_back(std::move(value));
  names.push_back(name);
}

// Tensors, sizes and numbers, some of which may be values of the graph: {"as_name": "sym_size"} or {"as_int": 4}.
void Arguments::list(const std::string& name, const json& values) {
  if (!values.is_array()) throw_user("expected a list as argument '", name, "', got ", values.type_name());
  std::vector<double> numbers;
  bool whole = true, plain = true;
  for (size_t i = 0; i < values.size(); ++i) {
    const json* v = &values[i];
    if (v->is_object() && v->size() == 1 && v->contains("as_tensor")) v = &(*v)["as_tensor"];
    if (std::string given = name_in(*v); !given.empty()) {
      if (v->contains("name")) tensors.push_back(given), plain = false;
      add_input(text(name, '.', i), read_(given));
      numbers.push_back(0);
      continue;
    }
    if (v->is_object() && v->contains("as_none")) {
      plain = false;
      continue;
    }
    const json& n = v->is_object() ? tagged(*v).value : *v;
    whole &= n.is_number_integer() || n.is_boolean();
    numbers.push_back(n.is_boolean() ? n.get<bool>() : number_in(n));
  }
  if (!plain) return;
  if (!whole) return void(fields_.emplace_back(name, field_of(std::move(numbers))));
  fields_.emplace_back(name, field_of(std::vector<int64_t>(numbers.begin(), numbers.end())));
}

void Arguments::add(const std::string& name, const json& arg) {
  auto [tag, v] = tagged(arg);
  auto field = [&](Attribute a) { fields_.emplace_back(name, field_of(std::move(a))); };
  if (is_placement(tag)) return;
  if (tag == "as_tensor") {
    std::string given = name_in(v);
    tensors.push_back(given);
    return add_input(name, read_(given));
  }
  if (tag == "as_optional_tensor") return v.is_object() && v.contains("as_none") ? void() : add(name, v);
  if (tag == "as_sym_int" || tag == "as_sym_float" || tag == "as_sym_bool") {
    if (std::string given = name_in(v); !given.empty()) return add_input(name, read_(given));
    return add(name, v);
  }
  if (tag == "as_int") return field(integer_in(v));
  if (tag == "as_float") return field(number_in(v));
  if (tag == "as_bool" && v.is_boolean()) return field(v.get<bool>());
  if (tag == "as_string" && v.is_string()) return field(v.get<std::string>());
  if (tag == "as_operator" && v.is_string()) return field(v.get<std::string>());
  if (tag == "as_scalar_type") return field(scalar_type(v));
  if (tag == "as_ints" && v.is_array()) return field(list_of<int64_t>(v, integer_in));
  if (tag == "as_floats" && v.is_array()) return field(list_of<double>(v, number_in));
  if (tag == "as_strings" && v.is_array())
    return field(list_of<std::string>(v, [](const json& s) { return s.is_string() ? s.get<std::string>() : ""; }));
  if (tag == "as_bools" && v.is_array())
    return field(list_of<int64_t>(v, [](const json& b) { return int64_t{b.is_boolean() && b.get<bool>()}; }));
  if (tag == "as_tensors" || tag == "as_optional_tensors" || tag == "as_sym_ints" || tag == "as_sym_floats")
    return list(name, v);
  throw_unsupported("argument '", name, "' is of kind '", tag, "', which is not supported");
}

void Arguments::finish(RawNode& n, const std::string& overload) && {
  n.inputs = std::move(inputs);
  n.fields = std::move(fields_);
  if (!overload.empty()) n.fields.emplace_back("call.overload", field_of(overload));
  n.fields.emplace_back("call.inputs", field_of(std::move(names)));
}

}  // namespace graft
