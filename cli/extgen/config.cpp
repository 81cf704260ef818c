#include "config.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <set>

#include "command.hpp"
#include "names.hpp"

namespace graft::cli::extgen {
namespace {

using nlohmann::json;
using Check = void (*)(const std::string& where, const std::string& name);

std::string kind_of(const json& j) {
  if (j.is_object()) return "an object";
  if (j.is_array()) return "an array";
  if (j.is_string()) return "a string";
  if (j.is_boolean()) return "a boolean";
  return j.is_null() ? "null" : "a number";
}

// Refuses a second key of the same name, which the library would let win, and deep nesting, which would exhaust the
// stack when it is destroyed.
class Guard {
 public:
  explicit Guard(const std::string& path) : path_(path) {}
  bool operator()(int depth, json::parse_event_t event, json& parsed) {
    constexpr int deepest = 16;
    using E = json::parse_event_t;
    if ((event == E::object_start || event == E::array_start) && depth >= deepest)
      throw UsageError(text(path_, ": expected at most ", deepest, " levels of nesting, got more"));
    if (event == E::object_start) open_.emplace_back();
    if (event == E::object_end) open_.pop_back();
    if (event == E::key && !open_.back().insert(parsed.get<std::string>()).second)
      throw UsageError(text(path_, ": the key '", parsed.get<std::string>(), "' is a duplicate"));
    return true;
  }

 private:
  const std::string& path_;
  std::vector<std::set<std::string>> open_;
};

json parse(const std::string& path) {
  constexpr size_t largest = size_t{16} << 20;
  std::error_code ec;
  if (!std::filesystem::exists(path, ec)) throw UsageError(text("file not found: '", path, "'"));
  if (std::filesystem::is_directory(path, ec))
    throw UsageError(text("expected a configuration file, got the directory '", path, "'"));
  std::string content = read_text_file(path, largest);
  Guard guard(path);
  json out;
  try {
    out = json::parse(content, [&](int depth, json::parse_event_t e, json& j) { return guard(depth, e, j); });
  } catch (const json::parse_error& e) {
    // The byte is that of the last character read, counted from 1.
    size_t at = std::min(e.byte > 0 ? e.byte - 1 : 0, content.size());
    auto line = 1 + std::count(content.begin(), content.begin() + static_cast<ptrdiff_t>(at), '\n');
    size_t begin = at == 0 ? std::string::npos : content.rfind('\n', at - 1);
    size_t column = at - (begin == std::string::npos ? 0 : begin + 1) + 1;
    std::string what = e.what();
    size_t reason = what.rfind(": ");
    // The library's text ends with what it expected.
    if (size_t s = what.find("syntax error"); s != what.npos && what.find(" - ", s) != what.npos)
      reason = what.find(" - ", s) + 1;
    throw UsageError(text(path, ":", line, ":", column, ": invalid JSON: ", what.substr(reason + 2)));
  }
  if (!out.is_object()) throw UsageError(text(path, ": expected an object, got ", kind_of(out)));
  return out;
}

// An object of the file: its keys are taken one by one, and what is left is unknown.
class Section {
 public:
  Section(const std::string& file, std::string name, const json& value)
      : file_(file), name_(std::move(name)), value_(value) {
    if (!value.is_object()) throw UsageError(text(file, ": '", name_, "': expected an object, got ", kind_of(value)));
  }
  std::string where(const std::string& key) const { return text(file_, ": '", name_, ".", key, "'"); }

  // The value of a key, of which `others` are other spellings; null: there is none.
  const json* find(const std::string& key, const std::vector<std::string>& others = {}) {
    known_.push_back(key);
    const json* out = value_.contains(key) ? &value_[key] : nullptr;
    for (const std::string& o : others) {
      spellings_.push_back(o);
      if (!value_.contains(o)) continue;
      if (out) throw UsageError(text(where(o), " is a duplicate of '", key, "'"));
      out = &value_[o];
    }
    return out;
  }
  std::string word(const std::string& key, bool required, Check check) {
    const json* v = find(key);
    if (!v && required) throw UsageError(text(where(key), " is missing"));
    if (!v) return {};
    if (!v->is_string()) throw UsageError(text(where(key), ": expected a string, got ", kind_of(*v)));
    std::string s = v->get<std::string>();
    check(where(key), s);
    return s;
  }
  bool flag(const std::string& key, bool preset, const std::vector<std::string>& others = {}) {
    const json* v = find(key, others);
    if (!v) return preset;
    if (!v->is_boolean()) throw UsageError(text(where(key), ": expected true or false, got ", kind_of(*v)));
    return v->get<bool>();
  }
  const json& array(const std::string& key) {
    static const json none = json::array();
    const json* v = find(key);
    if (v && !v->is_array()) throw UsageError(text(where(key), ": expected an array, got ", kind_of(*v)));
    return v ? *v : none;
  }
  std::vector<std::string> names(const std::string& key) {
    std::vector<std::string> out;
    for (const json& v : array(key)) {
      if (!v.is_string()) throw UsageError(text(where(key), ": expected strings, got ", kind_of(v)));
      check_identifier(where(key), v.get<std::string>());
      if (std::find(out.begin(), out.end(), v.get<std::string>()) != out.end())
        throw UsageError(text(where(key), ": '", v.get<std::string>(), "' is a duplicate"));
      out.push_back(v.get<std::string>());
    }
    return out;
  }
  // A key that needs another one.
  void warn_without(bool useless, const std::string& key, const std::string& reason) const {
    if (useless && value_.contains(key))
      std::fprintf(stderr, "warning: %s has no effect: %s\n", where(key).c_str(), reason.c_str());
  }
  void finish() const {
    for (const auto& [key, value] : value_.items()) {
      if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
      if (std::find(spellings_.begin(), spellings_.end(), key) != spellings_.end()) continue;
      auto close = nearest(key, known_);
      throw UsageError(text(file_, ": '", name_, "' has the unknown key '", on_one_line(key), "'"),
                       close ? text("did you mean ", *close, "?") : text("known keys: ", join(known_, ", ")));
    }
  }

 private:
  const std::string& file_;
  std::string name_;
  const json& value_;
  std::vector<std::string> known_, spellings_;
};

bool is_simple(const json& v) {
  return v.is_primitive() ||
         (v.is_array() && std::all_of(v.begin(), v.end(), [](const json& i) { return i.is_primitive(); }));
}

// The list `params`; `read` takes the keys of an entry.
std::vector<Parameter> parameters(const std::string& file, Section& s, const std::string& name,
                                  const std::function<void(Section&, Parameter&)>& read) {
  std::vector<Parameter> out;
  for (const json& v : s.array("params")) {
    Section entry(file, text(name, ".params[", out.size(), "]"), v);
    Parameter p;
    read(entry, p);
    entry.finish();
    for (const Parameter& other : out)
      if (other.new_name == p.new_name)
        throw UsageError(text(s.where("params"), ": '", p.new_name, "' is a duplicate"));
    out.push_back(std::move(p));
  }
  return out;
}

void any_name(const std::string&, const std::string&) {}  // for names that are checked later

void read_preset(Section& entry, Parameter& p) {
  const json* v = entry.find("default");
  if (v && !is_simple(*v))
    throw UsageError(
        text(entry.where("default"), ": expected a number, string, boolean or array of them, got ", kind_of(*v)));
  if (v) p.preset = *v;
}

std::vector<Parameter> framework_parameters(const std::string& file, Section& s, const std::string& name, Framework f) {
  return parameters(file, s, name, [&](Section& entry, Parameter& p) {
    p.old_name = entry.word("old_name", true, any_name);
    p.new_name = entry.word("new_name", false, any_name);
    if (p.new_name.empty()) p.new_name = last_part(p.old_name);
    if (!types_of(f).empty()) p.type = entry.word("type", false, any_name);
    if (f != Framework::tf && f != Framework::kaldi) read_preset(entry, p);
    check_parameter(entry.where("old_name"), f, p);
  });
}

Extractor extractor(const std::string& file, const std::string& name, const json& value, Framework f) {
  Section s(file, name, value);
  Extractor e;
  e.framework = f;
  e.op = s.word("op", true, check_layer);
  e.layer = s.word("layer", false, check_layer);
  if (e.layer.empty()) e.layer = e.op;
  else check_operation(s.where("op"), e.op);
  if (f == Framework::caffe) {
    e.special = s.flag("pythonic", false);
    e.module = s.word("module", e.special, check_path);
    e.message = s.word("param_name", !e.special, check_identifier);
    s.warn_without(!e.special, "module", "pythonic is false");
    s.warn_without(e.special, "param_name", "pythonic is true");
  }
  if (f == Framework::mxnet) e.special = s.flag("custom", false);
  if (f == Framework::tf) {
    e.op_class = s.word("op_class_name", false, check_identifier);
    e.op_path = s.word("op_class_path", !e.op_class.empty(), check_path);
    if (e.op_class.empty() && !e.op_path.empty()) throw UsageError(text(s.where("op_class_name"), " is missing"));
  }
  if (f != Framework::kaldi)
    e.copy_all =
        s.flag(f == Framework::tf ? "all_copy" : "allCopy", false, {f == Framework::tf ? "allCopy" : "all_copy"});
  if (f == Framework::caffe || f == Framework::mxnet) {
    e.omit_unset = s.flag("omitDefault", false);
    e.rename = s.flag("rename", false);
  }
  if (f == Framework::caffe) {
    e.flatten = s.flag("flatten", false);
    s.warn_without(e.flatten && !e.copy_all, "flatten", "allCopy is false");
  }
  e.parameters = framework_parameters(file, s, name, f);
  bool renames = e.rename || f == Framework::onnx;
  if (e.copy_all && !renames && !e.parameters.empty())
    throw UsageError(text(s.where("params"), " has no effect: all parameters are copied"),
                     f == Framework::tf ? "set all_copy to false" : "set allCopy to false, or rename to true");
  s.finish();
  return e;
}

// An extractor refers to the operation of the same file, unless it names a class of its own.
void join_operation(const std::string& file, Specification& spec) {
  for (Extractor& e : spec.extractors) {
    if (!e.op_class.empty() || last_part(e.op) == last_part(spec.operation->op)) continue;
    if (e.layer != e.op)
      throw UsageError(text(file, ": the ", name_of(e.framework), " extractor refers to the operation '", e.op,
                            "', but 'mo_op.op' is '", spec.operation->op, "'"));
    e.op = spec.operation->op;
  }
}

Operation operation(const std::string& file, const json& value) {
  Section s(file, "mo_op", value);
  Operation o;
  o.op = s.word("op", true, check_operation);
  o.pythonic = s.flag("pythonic", false);
  o.attributes = s.names("supported_attrs");
  o.internal = s.names("internal_attrs");
  for (const std::string& n : o.internal)
    if (std::find(o.attributes.begin(), o.attributes.end(), n) != o.attributes.end())
      throw UsageError(text(s.where("internal_attrs"), ": '", n, "' is also in supported_attrs"));
  o.changes_shape = s.flag("change_shape", false);
  o.has_infer = s.flag("has_infer", true);
  s.finish();
  return o;
}

Device device(const std::string& where, const json& v) {
  std::string word = v.is_string() ? to_lower(v.get<std::string>()) : "";
  if (word == "cpu") return Device::cpu;
  if (word == "cldnn" || word == "gpu") return Device::gpu;
  if (word == "vpu" || word == "myriad") return Device::vpu;
  throw UsageError(text(where, ": expected cpu, cldnn or vpu, got ",
                        v.is_string() ? text("'", on_one_line(word), "'") : kind_of(v)));
}

void kernels(const std::string& file, const json& value, Specification& spec) {
  Section s(file, "ie_op", value);
  Kernel k;
  k.op = s.word("op", true, check_operation);
  s.flag("pythonic", false);  // says something about the operation, not about the kernel
  const json* plugins = s.find("plugin");
  if (!plugins) throw UsageError(text(s.where("plugin"), " is missing"), "one of cpu, cldnn, vpu, or an array of them");
  std::vector<Device> devices;
  for (const json& v : plugins->is_array() ? *plugins : json::array({*plugins})) {
    devices.push_back(device(s.where("plugin"), v));
    if (std::count(devices.begin(), devices.end(), devices.back()) > 1)
      throw UsageError(text(s.where("plugin"), ": ", v.dump(), " is a duplicate"));
  }
  if (devices.empty()) throw UsageError(text(s.where("plugin"), ": expected a plugin, got an empty array"));
  k.parameters = parameters(file, s, "ie_op", [&](Section& entry, Parameter& p) {
    p.new_name = entry.word("name", true, any_name);
    p.type = entry.word("type", true, any_name);
    read_preset(entry, p);
    for (Device d : devices) check_parameter(entry.where("name"), d, p);
  });
  s.finish();
  for (Device d : devices) {
    k.device = d;
    spec.kernels.push_back(k);
  }
}

const std::vector<std::pair<std::string, Framework>>& extractor_keys() {
  static const std::vector<std::pair<std::string, Framework>> all = {{"mo_caffe_extractor", Framework::caffe},
                                                                     {"mo_mxnet_extractor", Framework::mxnet},
                                                                     {"mo_tf_extractor", Framework::tf},
                                                                     {"mo_onnx_extractor", Framework::onnx},
                                                                     {"mo_kaldi_extractor", Framework::kaldi}};
  return all;
}

}  // namespace

Config read_config(const std::string& path) {
  json all = parse(path);
  Config out;
  std::vector<std::string> known = {"mo_op", "ie_op", "output_dir"};
  for (const auto& [key, f] : extractor_keys()) {
    known.push_back(key);
    if (all.contains(key)) out.spec.extractors.push_back(extractor(path, key, all[key], f));
  }
  if (all.contains("mo_op")) out.spec.operation = operation(path, all["mo_op"]);
  if (out.spec.operation) join_operation(path, out.spec);
  if (all.contains("ie_op")) kernels(path, all["ie_op"], out.spec);
  if (all.contains("output_dir")) {
    const json& v = all["output_dir"];
    if (!v.is_string() || v.get<std::string>().empty())
      throw UsageError(
          text(path, ": 'output_dir': expected a directory, got ", v.is_string() ? "an empty string" : kind_of(v)));
    out.output_dir = v.get<std::string>();
  }
  for (const auto& [key, value] : all.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    auto close = nearest(key, known);
    throw UsageError(text(path, ": unknown key '", on_one_line(key), "'"),
                     close ? text("did you mean ", *close, "?") : text("known keys: ", join(known, ", ")));
  }
  if (out.spec.extractors.empty() && !out.spec.operation && out.spec.kernels.empty())
    throw UsageError(text(path, ": nothing to generate"), text("known keys: ", join(known, ", ")));
  return out;
}

}  // namespace graft::cli::extgen
