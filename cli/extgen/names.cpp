#include "names.hpp"

#include <algorithm>
#include <cmath>

#include "command.hpp"
#include "source_text.hpp"

namespace graft::cli::extgen {
namespace {

constexpr size_t longest = 200;

[[noreturn]] void refuse(const std::string& where, std::string_view expected, const std::string& got,
                         const std::string& hint = {}) {
  std::string shown = got.size() > longest ? got.substr(0, 40) + "..." : got;
  throw UsageError(text(where, ": expected ", expected, ", got '", on_one_line(shown), "'"), hint);
}

bool is_dotted_path(std::string_view s) {
  if (s.empty() || s.ends_with('.')) return false;
  for (std::string_view part : split(s, '.'))
    if (!is_identifier(part)) return false;
  return true;
}

bool is_layer_type(std::string_view s) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  auto other = [](char c) {
    return (c >= '0' && c <= '9') || std::string_view(".>/:-").find(c) != std::string_view::npos;
  };
  if (s.empty() || !letter(s[0])) return false;
  return std::all_of(s.begin(), s.end(), [&](char c) { return letter(c) || other(c); });
}

void check_type(const std::string& where, const Parameter& p, const std::vector<std::string>& types) {
  if (std::find(types.begin(), types.end(), p.type) != types.end()) return;
  auto close = nearest(p.type, types);
  refuse(text(where, ": type of '", p.new_name, "'"), text("one of ", join(types, ", ")), p.type,
         close ? text("did you mean ", *close, "?") : "");
}

bool all_of_kind(const nlohmann::json& list, bool (*kind)(const nlohmann::json&)) {
  return list.is_array() && std::all_of(list.begin(), list.end(), kind);
}
bool is_whole(const nlohmann::json& j) { return j.is_number_integer(); }
bool is_numeric(const nlohmann::json& j) { return j.is_number(); }

bool fits(const nlohmann::json& value, const std::string& type) {
  if (type == "int") return is_whole(value);
  if (type == "float") return is_numeric(value);
  if (type == "bool") return value.is_boolean() || is_whole(value);
  if (type == "listint") return is_whole(value) || all_of_kind(value, is_whole);
  if (type == "listfloat") return is_numeric(value) || all_of_kind(value, is_numeric);
  return true;
}

}  // namespace

const char* name_of(Framework f) {
  constexpr const char* names[] = {"Caffe", "MXNet", "TensorFlow", "ONNX", "Kaldi"};
  return names[static_cast<size_t>(f)];
}
const char* folder_of(Framework f) {
  constexpr const char* names[] = {"caffe", "mxnet", "tf", "onnx", "kaldi"};
  return names[static_cast<size_t>(f)];
}
const char* name_of(Device d) {
  constexpr const char* names[] = {"CPU", "GPU", "VPU"};
  return names[static_cast<size_t>(d)];
}
const char* folder_of(Device d) {
  constexpr const char* names[] = {"cpu", "gpu", "vpu"};
  return names[static_cast<size_t>(d)];
}

const std::vector<std::string>& types_of(Framework f) {
  static const std::vector<std::string> none,
      tf = {"b",       "f",       "i",      "s",      "shape",  "type",   "padding",    "batch",
            "channel", "spatial", "list.b", "list.f", "list.i", "list.s", "list.shape", "list.type"},
      onnx = {"f", "i", "s", "t", "floats", "ints", "strings"}, kaldi = {"int", "float", "bool", "vector", "matrix"};
  return f == Framework::tf ? tf : f == Framework::onnx ? onnx : f == Framework::kaldi ? kaldi : none;
}
const std::vector<std::string>& types_of(Device d) {
  static const std::vector<std::string> all = {"int", "float", "bool", "string", "listfloat", "listint"},
                                        scalars = {"int", "float"};
  return d == Device::vpu ? scalars : all;
}

void check_operation(const std::string& where, const std::string& name) {
  if (!is_dotted_path(name) || name.size() > longest)
    refuse(where, "an operation name of letters, digits and _", name, "for example: Cosh");
  if (is_reserved_word(last_part(name))) refuse(where, "an operation name that is no reserved word of C++", name);
}
void check_layer(const std::string& where, const std::string& name) {
  if (!is_layer_type(name) || name.size() > longest)
    refuse(where, "a layer type of letters, digits and _ . > / : -", name, "for example: Cosh");
}
void check_identifier(const std::string& where, const std::string& name) {
  if (!is_identifier(name) || name.size() > longest) refuse(where, "a name of letters, digits and _", name);
}
void check_path(const std::string& where, const std::string& name) {
  if (!is_dotted_path(name) || name.size() > longest)
    refuse(where, "names of letters, digits and _, joined by dots", name);
}

void check_parameter(const std::string& where, Framework f, const Parameter& p) {
  if (f == Framework::onnx) check_layer(where, p.old_name);
  else check_path(where, p.old_name);
  check_identifier(where, p.new_name);
  if (!p.type.empty() && !types_of(f).empty()) check_type(where, p, types_of(f));
}
void check_parameter(const std::string& where, Device d, const Parameter& p) {
  check_identifier(where, p.new_name);
  check_type(where, p, types_of(d));
  if (!p.preset.is_null() && !fits(p.preset, p.type))
    refuse(text(where, ": default of '", p.new_name, "'"), "a value of type " + p.type, p.preset.dump());
}

std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }
std::string file_stem(const std::string& name) {
  std::string out;
  for (char c : to_lower(name)) out += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ? c : '_';
  return out;
}

std::string python_value(const nlohmann::json& value) {
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_string()) return python_literal(value.get<std::string>());
  if (!value.is_array()) return value.dump();
  std::vector<std::string> parts;
  for (const nlohmann::json& v : value) parts.push_back(python_value(v));
  return "[" + join(parts, ", ") + "]";
}

std::string cpp_value(const nlohmann::json& value, const std::string& type) {
  if (type == "string") return cpp_literal(plain_value(value));
  if (type == "bool") return plain_value(value) == "0" || plain_value(value) == "false" ? "false" : "true";
  if (!type.starts_with("list")) return type == "float" ? text("static_cast<float>(", value.dump(), ")") : value.dump();
  std::vector<std::string> parts;
  for (const nlohmann::json& v : value.is_array() ? value : nlohmann::json::array({value}))
    parts.push_back(type == "listfloat" ? text("static_cast<float>(", v.dump(), ")") : v.dump());
  return "{" + join(parts, ", ") + "}";
}

std::string plain_value(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::vector<std::string> parts;
  for (const nlohmann::json& v : value) parts.push_back(plain_value(v));
  return join(parts, ",");
}

nlohmann::json typed_value(const std::string& word) {
  if (auto i = parse_int(word)) return *i;
  if (auto n = parse_number(word); n && std::isfinite(*n)) return *n;
  if (word == "true" || word == "false") return word == "true";
  if (word.find(',') == word.npos) return word;
  nlohmann::json list = nlohmann::json::array();
  for (std::string_view part : split(word, ',')) {
    nlohmann::json v = typed_value(std::string(trim(part)));
    if (!v.is_number()) return word;
    list.push_back(v);
  }
  return list;
}

}  // namespace graft::cli::extgen
