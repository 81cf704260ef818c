// Raw passes: rewrites of a framework's model before its import, when layers still have the framework's own types,
// names and fields.
//
//   // Mul(x, Tanh(Softplus(x)))  =>  com.acme::Mish(x)
//   void fuse_mish(FrameworkModel& model) {
//     for (FrameworkLayer mul : model.layers()) {
//       FrameworkLayer tanh = model.producer(mul.input(1));
//       FrameworkLayer plus = model.producer(tanh.input(0));
//       if (!mul.is("Mul") || !tanh.is("Tanh") || !plus.is("Softplus") || plus.input(0) != mul.input(0)) continue;
//       FrameworkLayer mish = model.add("Mish", mul.name(), {mul.input(0)}, mul.outputs(), {}, "com.acme");
//       model.remove(mul);
//     }
//   }
//   RawPass("raw_mish").frameworks({"onnx"}).doc("fuse the formula of Mish").apply(fuse_mish)
//
// Values are referred to by name: inputs of the model, constants, and outputs of layers. A raw pass can do what an
// import rule (rule.hpp) cannot: look at several layers at once. Passes over the imported graph are in pass.hpp.
//
// Raw passes run in the order of registration, after a model was cut and before the entries of a replacement file are
// applied, unless after_replacements() is set. Afterwards the model is verified: every input must have a producer, the
// names of values and of new layers must be unique, and there must be no cycle. Errors are thrown: `fail`,
// `unsupported` (types.hpp); the host adds the name of the pass and of the library.
//
// Models and layers are valid until the pass returns, on its thread.
#pragma once

#include "builder.hpp"

namespace [[gnu::visibility("hidden")]] graft {

class FrameworkModel;

namespace detail {
// `member`: the offset of a function that the first hosts with raw passes do not have.
inline const graft_raw_host& raw_host(size_t member = 0) {
  constexpr size_t least = offsetof(graft_host, raw) + sizeof(void*);
  if (host->size < least || !host->raw || host->raw->size < member + sizeof(void*))
    unsupported("this host does not support raw passes");
  return *host->raw;
}
}  // namespace detail

// A layer of the framework. Empty (false in a condition) if there is none: then `is` is false, inputs are empty names,
// and the other functions fail.
class FrameworkLayer {
 public:
  FrameworkLayer() = default;
  FrameworkLayer(graft_raw_model* model, graft_layer id) : model_(model), id_(id) {}
  explicit operator bool() const { return id_ != 0; }
  graft_layer id() const { return id_; }
  bool operator==(const FrameworkLayer&) const = default;

  bool is(std::string_view type, std::string_view domain = {}) const {
    if (!id_) return false;
    graft_raw_layer l = raw();
    return view(l.type) == type && view(l.domain) == domain;
  }
  std::string name() const { return std::string(view(raw().name)); }
  std::string type() const { return std::string(view(raw().type)); }
  std::string domain() const { return std::string(view(raw().domain)); }
  int64_t version() const { return raw().version; }      // operator-set version of its domain
  size_t weights() const { return raw().weight_count; }  // how many of the last inputs are stored with the layer
  std::vector<std::string> inputs() const { return strings(raw().inputs, raw().input_count); }
  std::vector<std::string> outputs() const { return strings(raw().outputs, raw().output_count); }
  // The name of an input or output; empty if it is absent.
  std::string input(size_t i) const {
    if (!id_) return {};
    graft_raw_layer l = raw();
    return i < l.input_count ? std::string(view(l.inputs[i])) : std::string();
  }
  std::string output(size_t i = 0) const {
    if (!id_) return {};
    graft_raw_layer l = raw();
    return i < l.output_count ? std::string(view(l.outputs[i])) : std::string();
  }

  // ---- fields, by (dotted) path, as in Builder ----
  bool has(std::string_view path) const { return field(path) != nullptr; }
  const graft_value* field(std::string_view path) const { return detail::raw_host().field(model_, id_, str(path)); }
  std::span<const graft_named_value> fields() const {
    const graft_named_value* list = nullptr;
    size_t n = detail::raw_host().fields(model_, id_, &list);
    return {list, n};
  }
  template <class T>
  T get(std::string_view path) const {
    const graft_value* v = field(path);
    if (!v) fail("layer '", name(), "' (", type(), ") has no field '", path, "'");
    return field_as<T>(path, *v);
  }
  template <class T>
  T get(std::string_view path, T fallback) const {
    const graft_value* v = field(path);
    return v ? field_as<T>(path, *v) : fallback;
  }

  // ---- changes ----
  void set(std::string_view path, const AttrValue& value) {
    graft_value v = value.raw();
    check(detail::raw_host().set_field(model_, id_, str(path), &v));
  }
  void erase(std::string_view path) { check(detail::raw_host().set_field(model_, id_, str(path), nullptr)); }
  // Copies a field of any kind, sub-graphs too.
  void copy(const FrameworkLayer& from, std::string_view path, std::string_view to = {}) {
    check(detail::raw_host().copy_field(model_, from.id_, str(path), id_, str(to.empty() ? path : to)));
  }
  void rename(std::string_view name) {
    change([&](graft_raw_layer& l) { l.name = str(name); });
  }
  void set_type(std::string_view type, std::string_view domain = {}) {
    change([&](graft_raw_layer& l) { l.type = str(type), l.domain = str(domain); });
  }
  void set_inputs(const std::vector<std::string>& names) {
    std::vector<graft_str> list = strs(names);
    change([&](graft_raw_layer& l) {
      l.inputs = list.data(), l.input_count = list.size();
      l.weight_count = std::min(l.weight_count, list.size());
    });
  }
  void set_input(size_t i, const std::string& name) {
    std::vector<std::string> all = inputs();
    if (i >= all.size()) all.resize(i + 1);
    all[i] = name;
    set_inputs(all);
  }
  void set_outputs(const std::vector<std::string>& names) {
    std::vector<graft_str> list = strs(names);
    change([&](graft_raw_layer& l) { l.outputs = list.data(), l.output_count = list.size(); });
  }

  // Where the layer is in its file, for messages; in the unit of the reader (reader.hpp).
  void set_position(size_t position) {
    auto set = detail::raw_host(offsetof(graft_raw_host, set_position)).set_position;
    check(set(model_, id_, static_cast<int64_t>(position)));
  }

  static std::vector<graft_str> strs(const std::vector<std::string>& names) {
    std::vector<graft_str> out;
    for (const std::string& n : names) out.push_back(str(n));
    return out;
  }

 private:
  static std::vector<std::string> strings(const graft_str* items, size_t count) {
    std::vector<std::string> out;
    for (size_t i = 0; i < count; ++i) out.emplace_back(view(items[i]));
    return out;
  }
  graft_raw_layer raw() const {
    if (!id_) fail("expected a layer, but there is none");
    graft_raw_layer l{};
    l.size = sizeof l;
    check(detail::raw_host().layer(model_, id_, &l));
    return l;
  }
  template <class F>
  void change(F&& f) {
    graft_raw_layer l = raw();
    f(l);
    check(detail::raw_host().set_layer(model_, id_, &l));
  }
  graft_raw_model* model_ = nullptr;
  graft_layer id_ = 0;
};

// An input or output of the model.
struct FrameworkValue {
  std::string name;
  Info info;
  std::string kind = {};  // empty: a tensor; otherwise "sequence", "optional", ...
};

// An entry of the replacement file (--transformations_config).
class FrameworkReplacement {
 public:
  FrameworkReplacement(graft_raw_model* model, size_t index, const graft_raw_replacement& r)
      : model_(model), index_(index), r_(r) {}
  std::string_view id() const { return view(r_.id); }
  std::string_view json() const { return view(r_.json); }  // the whole entry
  bool taken() const { return r_.taken; }
  // One of its custom_attributes, by (dotted) path.
  template <class T>
  T get(std::string_view path, T fallback) const {
    for (size_t i = 0; i < r_.attribute_count; ++i)
      if (view(r_.attributes[i].name) == path) return field_as<T>(path, r_.attributes[i].value);
    return fallback;
  }
  // The entry is handled by this pass: the host neither applies nor refuses it.
  void take() { check(detail::raw_host().take_replacement(model_, index_)); }

 private:
  graft_raw_model* model_;
  size_t index_;
  graft_raw_replacement r_;
};

class FrameworkModel {
 public:
  explicit FrameworkModel(graft_raw_model* m) : m_(m) {}
  FrameworkModel(const FrameworkModel&) = delete;

  std::string_view framework() const { return view(h().framework(m_)); }  // "onnx", "caffe", "tensorflow"
  std::string_view path() const { return view(h().path(m_)); }
  // In the order of the file; added ones at the end.
  std::vector<FrameworkLayer> layers() const {
    const graft_layer* list = nullptr;
    size_t n = h().layers(m_, &list);
    std::vector<FrameworkLayer> out;
    for (size_t i = 0; i < n; ++i) out.emplace_back(m_, list[i]);
    return out;
  }
  // The layer that produces a value; empty for inputs, constants and unknown names.
  FrameworkLayer producer(std::string_view value) const { return {m_, h().producer(m_, str(value))}; }
  // The layers that consume a value, also in their sub-graphs.
  std::vector<FrameworkLayer> consumers(std::string_view value) const {
    const graft_layer* list = nullptr;
    size_t n = h().consumers(m_, str(value), &list);
    std::vector<FrameworkLayer> out;
    for (size_t i = 0; i < n; ++i) out.emplace_back(m_, list[i]);
    return out;
  }
  bool is_output(std::string_view value) const {
    for (const FrameworkValue& v : outputs())
      if (v.name == value) return true;
    return false;
  }
  // Whether one layer consumes the value and nothing else does.
  bool used_once(std::string_view value) const { return consumers(value).size() == 1 && !is_output(value); }
  std::vector<FrameworkValue> inputs() const { return values(h().inputs); }
  std::vector<FrameworkValue> outputs() const { return values(h().outputs); }
  // A value stored in the file (an initializer of ONNX, a blob of Caffe); empty if the name is not one of a constant.
  TensorView constant(std::string_view name) const { return TensorView(h().constant(m_, str(name))); }
  // Type and shape that the file declares for a value.
  std::optional<Info> info(std::string_view value) const {
    graft_info i;
    if (h().value_info(m_, str(value), &i)) return Info::from(i);
    return std::nullopt;
  }
  std::vector<FrameworkReplacement> replacements() const {
    const graft_raw_replacement* list = nullptr;
    size_t n = h().replacements(m_, &list);
    std::vector<FrameworkReplacement> out;
    for (size_t i = 0; i < n; ++i) out.emplace_back(m_, i, list[i]);
    return out;
  }

  // ---- changes ----
  // Adds a layer of the framework.
  FrameworkLayer add(std::string_view type, std::string_view name, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs, const std::vector<NamedAttr>& fields = {},
                     std::string_view domain = {}) {
    return add_layer(type, name, domain, inputs, outputs, fields, 0, {});
  }
  // Adds one of Graft's operations: "Elu", "Elu@1" or "Twist@acme". With `infos`, the operation may be unknown: the
  // node then gets these outputs and is written to the IR as it is.
  FrameworkLayer add_operation(std::string_view op, std::string_view name, const std::vector<std::string>& inputs,
                               const std::vector<std::string>& outputs, const std::vector<NamedAttr>& attributes = {},
                               const std::vector<Info>& infos = {}) {
    return add_layer(op, name, {}, inputs, outputs, attributes, GRAFT_RAW_OPERATION, infos);
  }
  void remove(const FrameworkLayer& layer) { check(h().remove_layer(m_, layer.id())); }
  void add_constant(std::string_view name, TensorView t) { check(h().add_constant(m_, str(name), t.raw())); }
  // Makes all consumers of `from` consume `to`. An output of the model keeps its name: the producer of `to` takes it
  // over.
  void replace(std::string_view from, std::string_view to) { check(h().replace_value(m_, str(from), str(to))); }
  void set_inputs(const std::vector<FrameworkValue>& inputs) {
    std::vector<graft_raw_value> list;
    for (const FrameworkValue& v : inputs) list.push_back({str(v.name), {}, v.info.raw()});
    check(h().set_inputs(m_, list.data(), list.size()));
  }
  void set_outputs(const std::vector<std::string>& names) {
    std::vector<graft_str> list = FrameworkLayer::strs(names);
    check(h().set_outputs(m_, list.data(), list.size()));
  }
  // Type and shape that the file declares for a value, and the operator-set version of a domain: for readers.
  void set_info(std::string_view value, const Info& info) {
    graft_info raw = info.raw();
    check(detail::raw_host(offsetof(graft_raw_host, set_value_info)).set_value_info(m_, str(value), &raw));
  }
  void set_version(std::string_view domain, int64_t version) {
    check(detail::raw_host(offsetof(graft_raw_host, set_version)).set_version(m_, str(domain), version));
  }
  graft_raw_model* raw() const { return m_; }

 private:
  static const graft_raw_host& h() { return detail::raw_host(); }
  template <class List>
  std::vector<FrameworkValue> values(List list_values) const {
    const graft_raw_value* list = nullptr;
    size_t n = list_values(m_, &list);
    std::vector<FrameworkValue> out;
    for (size_t i = 0; i < n; ++i)
      out.push_back({std::string(view(list[i].name)), Info::from(list[i].info), std::string(view(list[i].kind))});
    return out;
  }
  FrameworkLayer add_layer(std::string_view type, std::string_view name, std::string_view domain,
                           const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                           const std::vector<NamedAttr>& fields, uint32_t flags, const std::vector<Info>& infos) {
    std::vector<graft_str> in = FrameworkLayer::strs(inputs), out = FrameworkLayer::strs(outputs);
    graft_raw_layer l{};
    l.size = sizeof l;
    l.flags = flags;
    l.name = str(name), l.type = str(type), l.domain = str(domain);
    l.inputs = in.data(), l.input_count = in.size();
    l.outputs = out.data(), l.output_count = out.size();
    std::vector<graft_info> raw_infos;
    for (const Info& i : infos) raw_infos.push_back(i.raw());
    graft_layer id = 0;
    check(h().add_layer(m_, &l, raw_infos.data(), raw_infos.size(), &id));
    FrameworkLayer added(m_, id);
    for (const NamedAttr& f : fields) added.set(f.name, f.value);
    return added;
  }
  graft_raw_model* m_;
};

// The definition of a raw pass. The functions change it and return it. Strings are referenced, not copied: use
// literals.
class RawPass {
 public:
  explicit RawPass(std::string_view name) {
    r_.size = sizeof r_;
    r_.name = str(name);
  }
  // One line in the imperative, shown by `graft convert --list-passes`.
  RawPass& doc(std::string_view d) { return r_.doc = str(d), *this; }
  // The frameworks whose models the pass is for; the default is all.
  RawPass& frameworks(std::initializer_list<std::string_view> names) {
    for (std::string_view n : names) frameworks_.push_back(str(n));
    return *this;
  }
  // Runs after the entries of the replacement file that no pass handles.
  RawPass& after_replacements() { return r_.flags |= GRAFT_RAW_AFTER_REPLACEMENTS, *this; }
  RawPass& apply(void (*f)(FrameworkModel&)) {
    r_.user = reinterpret_cast<void*>(f);
    r_.apply = [](graft_raw_model* m, void* user) {
      return guarded([&] {
        FrameworkModel model(m);
        reinterpret_cast<void (*)(FrameworkModel&)>(user)(model);
      });
    };
    return *this;
  }
  // The C record, which refers to this object: valid until it is moved or destroyed.
  const graft_raw_pass* seal() {
    r_.frameworks = frameworks_.data(), r_.framework_count = frameworks_.size();
    return &r_;
  }

 private:
  graft_raw_pass r_{};
  std::vector<graft_str> frameworks_;
};

}  // namespace graft
