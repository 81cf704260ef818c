// A framework's model in a raw pass that is written in Python. graft/raw.py gives it its form.
#include <graft/abi_raw_flags.h>
#include <pybind11/stl.h>

#include "definition.hpp"
#include "values.hpp"

namespace graft::python {
namespace {

// A model, or a sub-graph of one, while a pass runs.
class RawHandle {
 public:
  RawHandle(graft_raw_model* model, std::shared_ptr<bool> running) : model_(model), running_(std::move(running)) {}

  graft_raw_model* model() const {
    if (!*running_) throw Error(ErrorKind::request, "the model of a raw pass is only valid while the pass runs");
    return model_;
  }
  const graft_raw_host& h() const {
    model();
    return *host->raw;
  }
  py::object text_of(graft_str s) const { return text_object(s); }
  std::function<void*(const graft_tensor*)> keep() const {
    return [m = model()](const graft_tensor* t) { return host->raw->keep_tensor(m, t); };
  }

  py::list layers() const {
    const graft_layer* list = nullptr;
    size_t n = h().layers(model(), &list);
    py::list out;
    for (size_t i = 0; i < n; ++i) out.append(list[i]);
    return out;
  }
  graft_raw_layer read(graft_layer id) const {
    graft_raw_layer l{};
    l.size = sizeof l;
    succeed(h().layer(model(), id, &l));
    return l;
  }
  // Name, type, domain, version, weights, whether it is an operation, whether the mapping file has an entry for it.
  py::tuple layer(graft_layer id) const {
    graft_raw_layer l = read(id);
    return py::make_tuple(text_object(l.name), text_object(l.type), text_object(l.domain), l.version, l.weight_count,
                          (l.flags & GRAFT_RAW_OPERATION) != 0, (l.flags & GRAFT_RAW_MAPPED) != 0);
  }
  py::list inputs_of(graft_layer id) const {
    graft_raw_layer l = read(id);
    return names(l.inputs, l.input_count);
  }
  py::list outputs_of(graft_layer id) const {
    graft_raw_layer l = read(id);
    return names(l.outputs, l.output_count);
  }
  static py::list names(const graft_str* list, size_t n) {
    py::list out;
    for (size_t i = 0; i < n; ++i) out.append(text_object(list[i]));
    return out;
  }

  py::list field_names(graft_layer id) const {
    read(id);
    const graft_named_value* list = nullptr;
    size_t n = h().fields(model(), id, &list);
    py::list out;
    for (size_t i = 0; i < n; ++i) out.append(text_object(list[i].name));
    return out;
  }
  py::object field(graft_layer id, const std::string& path) const {
    read(id);
    const graft_value* v = h().field(model(), id, str(path));
    if (!v) throw py::key_error(path);
    if (v->kind != GRAFT_GRAPH) return field_object(*v, keep());
    py::list bodies;
    for (size_t i = 0; i < v->count; ++i) {
      graft_raw_model* body = h().body(model(), id, str(path), i);
      if (body) bodies.append(py::cast(RawHandle(body, running_)));
    }
    return bodies;
  }

  py::list values(bool outputs) const {
    const graft_raw_value* list = nullptr;
    size_t n = outputs ? h().outputs(model(), &list) : h().inputs(model(), &list);
    py::list out;
    for (size_t i = 0; i < n; ++i)
      out.append(py::make_tuple(text_object(list[i].name), type_object(static_cast<DType>(list[i].info.type)),
                                shape_object(list[i].info.shape), text_object(list[i].kind)));
    return out;
  }
  py::object value_info(const std::string& name) const {
    graft_info info{};
    if (!h().value_info(model(), str(name), &info)) return py::none();
    return py::make_tuple(type_object(static_cast<DType>(info.type)), shape_object(info.shape));
  }
  py::list constants() const {
    const graft_str* list = nullptr;
    size_t n = h().constants(model(), &list);
    return names(list, n);
  }
  bool has_constant(const std::string& name) const { return h().constant(model(), str(name)) != nullptr; }
  py::object constant(const std::string& name) const {
    const graft_tensor* t = h().constant(model(), str(name));
    if (!t) throw py::key_error(name);
    return tensor_object(*t, keep());
  }
  graft_layer producer(const std::string& value) const { return h().producer(model(), str(value)); }
  py::list consumers(const std::string& value) const {
    const graft_layer* list = nullptr;
    size_t n = h().consumers(model(), str(value), &list);
    py::list out;
    for (size_t i = 0; i < n; ++i) out.append(list[i]);
    return out;
  }
  py::list replacements() const {
    const graft_raw_replacement* list = nullptr;
    size_t n = h().replacements(model(), &list);
    py::list out;
    for (size_t i = 0; i < n; ++i)
      out.append(py::make_tuple(text_object(list[i].id), text_object(list[i].json), list[i].taken != 0));
    return out;
  }

  // ---- changes ----

  graft_layer add_layer(const std::string& type, const std::string& name, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const std::string& domain, size_t weights,
                        bool operation, py::handle infos) {
    std::vector<graft_str> in = strs(inputs), out = strs(outputs);
    graft_raw_layer l{};
    l.size = sizeof l;
    l.flags = operation ? GRAFT_RAW_OPERATION : 0;
    l.name = str(name), l.type = str(type), l.domain = str(domain);
    l.inputs = in.data(), l.input_count = in.size();
    l.outputs = out.data(), l.output_count = out.size();
    l.weight_count = weights;
    std::vector<Info> given = infos_from(infos);
    std::vector<graft_info> raw;
    for (const Info& i : given) raw.push_back(i.raw());
    graft_layer id = 0;
    succeed(h().add_layer(model(), &l, raw.data(), raw.size(), &id));
    return id;
  }
  void set_layer(graft_layer id, const std::string& what, py::handle value) {
    graft_raw_layer l = read(id);
    std::string text;
    std::vector<std::string> all;
    std::vector<graft_str> list;
    if (what == "inputs" || what == "outputs") {
      all = py::cast<std::vector<std::string>>(value);
      list = strs(all);
      (what == "inputs" ? l.inputs : l.outputs) = list.data();
      (what == "inputs" ? l.input_count : l.output_count) = list.size();
      l.weight_count = std::min(l.weight_count, l.input_count);
    } else if (what == "weights") {
      l.weight_count = py::cast<size_t>(value);
    } else {
      text = py::cast<std::string>(value);
      (what == "name" ? l.name : what == "type" ? l.type : l.domain) = str(text);
    }
    succeed(h().set_layer(model(), id, &l));
  }
  void set_field(graft_layer id, const std::string& path, py::handle value) {
    graft_raw_layer l = read(id);
    ValueFromPython given(value, text("field '", path, "' of layer '", view(l.name), "'"), false);
    graft_value v = given.raw();
    succeed(h().set_field(model(), id, str(path), &v));
  }
  void set_inputs(const py::list& ports) {
    std::vector<std::string> texts;
    std::vector<Info> infos;
    for (py::handle p : ports) {
      texts.push_back(py::cast<std::string>(p.attr("name")));
      py::object type = p.attr("dtype");
      infos.push_back({type.is_none() ? DType::undefined : parse_type(type), shape_from(p.attr("shape"))});
    }
    std::vector<graft_raw_value> raw;
    for (size_t i = 0; i < texts.size(); ++i) raw.push_back({str(texts[i]), {}, infos[i].raw()});
    succeed(h().set_inputs(model(), raw.data(), raw.size()));
  }
  void set_outputs(const std::vector<std::string>& values) {
    std::vector<graft_str> list = strs(values);
    succeed(h().set_outputs(model(), list.data(), list.size()));
  }
  void add_constant(const std::string& name, py::handle value) {
    Tensor t = tensor_from(value, DType::undefined, text("constant '", name, "'"));
    succeed(h().add_constant(model(), str(name), t.raw()));
  }

 private:
  static std::vector<graft_str> strs(const std::vector<std::string>& names) {
    std::vector<graft_str> out;
    for (const std::string& n : names) out.push_back(str(n));
    return out;
  }
  graft_raw_model* model_;
  std::shared_ptr<bool> running_;
};

// Never destroyed: models may be read until the process ends.
struct PythonRawPass {
  std::string name, doc;
  std::vector<std::string> frameworks;
  std::vector<graft_str> framework_names;
  PyObject* function = nullptr;
  graft_raw_pass record{};
};

graft_status apply(graft_raw_model* model, void* user) {
  return guarded([&] {
    auto& pass = *static_cast<PythonRawPass*>(user);
    auto running = std::make_shared<bool>(true);
    struct End {
      std::shared_ptr<bool> running;
      ~End() { *running = false; }
    } end{running};
    py::gil_scoped_acquire gil;
    calling("the raw pass", [&] { py::handle(pass.function)(RawHandle(model, running)); });
  });
}

Definition raw_pass(const std::string& name, std::vector<std::string> frameworks, py::object function,
                    const std::string& origin, const std::string& doc, bool after_replacements) {
  if (name.empty()) throw py::value_error("expected a name of the raw pass, got an empty one");
  auto* pass = new PythonRawPass{name, doc, std::move(frameworks), {}, function.release().ptr()};
  for (const std::string& f : pass->frameworks) pass->framework_names.push_back(str(f));
  graft_raw_pass& r = pass->record;
  r.size = sizeof r;
  r.flags = after_replacements ? GRAFT_RAW_AFTER_REPLACEMENTS : 0;
  r.name = str(pass->name), r.doc = str(pass->doc);
  r.frameworks = pass->framework_names.data(), r.framework_count = pass->framework_names.size();
  r.user = pass;
  r.apply = apply;
  return Definition(origin, {{}, {}, {&r}});
}

}  // namespace

void bind_raw(py::module_& m) {
  using H = RawHandle;
  py::class_<H>(m, "RawModel")
      .def_property_readonly("framework", [](const H& r) { return text_object(r.h().framework(r.model())); })
      .def_property_readonly("path", [](const H& r) { return text_object(r.h().path(r.model())); })
      .def("layers", &H::layers)
      .def("layer", &H::layer)
      .def("inputs_of", &H::inputs_of)
      .def("outputs_of", &H::outputs_of)
      .def("field_names", &H::field_names)
      .def("field", &H::field)
      .def("inputs", [](const H& r) { return r.values(false); })
      .def("outputs", [](const H& r) { return r.values(true); })
      .def("value_info", &H::value_info)
      .def("constants", &H::constants)
      .def("has_constant", &H::has_constant)
      .def("constant", &H::constant)
      .def("producer", &H::producer)
      .def("consumers", &H::consumers)
      .def("replacements", &H::replacements)
      .def("add_layer", &H::add_layer)
      .def("remove_layer", [](H& r, graft_layer id) { succeed(r.h().remove_layer(r.model(), id)); })
      .def("set_layer", &H::set_layer)
      .def("set_field", &H::set_field)
      .def("remove_field", [](H& r, graft_layer id,
                              const std::string& path) { succeed(r.h().set_field(r.model(), id, str(path), nullptr)); })
      .def("copy_field",
           [](H& r, graft_layer from, const std::string& path, graft_layer to, const std::string& to_path) {
             succeed(r.h().copy_field(r.model(), from, str(path), to, str(to_path)));
           })
      .def("add_constant", &H::add_constant)
      .def("remove_constant",
           [](H& r, const std::string& name) { succeed(r.h().remove_constant(r.model(), str(name))); })
      .def("replace_value", [](H& r, const std::string& from,
                               const std::string& to) { succeed(r.h().replace_value(r.model(), str(from), str(to))); })
      .def("set_inputs", &H::set_inputs)
      .def("set_outputs", &H::set_outputs)
      .def("take_replacement", [](H& r, size_t index) { succeed(r.h().take_replacement(r.model(), index)); });
  m.def("raw_pass", &raw_pass, py::arg("name"), py::arg("frameworks"), py::arg("function"), py::arg("origin"),
        py::arg("doc") = "", py::arg("after_replacements") = false);
}

}  // namespace graft::python
