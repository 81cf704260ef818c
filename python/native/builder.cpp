// Import rules and passes over the graph that are written in Python. graft/raw.py and graft/graph_pass.py give them
// their form.
#include <pybind11/stl.h>

#include <graft/pass.hpp>

#include "definition.hpp"
#include "values.hpp"

namespace graft::python {
namespace {

// A layer under import, or a graph that a pass changes, while the function runs.
class BuilderHandle {
 public:
  BuilderHandle(graft_builder* b, std::shared_ptr<bool> running) : b_(b), running_(std::move(running)) {}
  graft_builder* raw() const {
    if (!*running_) throw Error(ErrorKind::request, "a layer is only valid while its import rule runs");
    return b_;
  }

  // ---- the layer ----

  py::list field_names() const {
    const graft_named_value* list = nullptr;
    size_t n = host->layer_fields(raw(), &list);
    py::list out;
    for (size_t i = 0; i < n; ++i) out.append(text_object(list[i].name));
    return out;
  }
  bool has_field(const std::string& path) const { return host->field(raw(), str(path)) != nullptr; }
  py::object field(const std::string& path) const {
    const graft_value* v = host->field(raw(), str(path));
    if (!v) throw py::key_error(path);
    return field_object(*v);
  }
  py::list inputs() const {
    py::list out;
    for (size_t i = 0; i < host->layer_input_count(raw()); ++i) out.append(host->layer_input(raw(), i));
    return out;
  }

  // ---- values ----

  py::tuple info(graft_ref ref) const {
    graft_info i{};
    succeed(host->ref_info(raw(), ref, &i));
    return py::make_tuple(type_object(static_cast<DType>(i.type)), shape_object(i.shape));
  }
  py::object value(graft_ref ref) const {
    info(ref);
    const graft_tensor* t = host->ref_constant(raw(), ref);
    return t ? tensor_object(*t) : py::object(py::none());
  }

  // ---- nodes ----

  std::vector<graft_ref> add_node(const std::string& type, const std::string& opset,
                                  const std::vector<graft_ref>& inputs, const py::dict& attributes, py::handle outputs,
                                  size_t count, const std::string& name) {
    AttributesFromPython attrs(attributes, type);
    std::vector<Info> infos = infos_from(outputs);
    std::vector<graft_info> raw_infos;
    for (const Info& i : infos) raw_infos.push_back(i.raw());
    graft_new_node node{};
    node.size = sizeof node;
    node.op = str(type), node.opset = str(opset), node.name = str(name);
    node.inputs = inputs.data(), node.input_count = inputs.size();
    node.attrs = attrs.raw().data(), node.attr_count = attrs.raw().size();
    node.infos = raw_infos.data(), node.info_count = raw_infos.size();
    std::vector<graft_ref> out(infos.empty() ? count : infos.size());
    succeed(host->add_node(raw(), &node, out.data(), out.size()));
    return out;
  }
  graft_ref constant(py::handle value) {
    Tensor t = tensor_from(value, DType::undefined, "a constant");
    graft_ref r = host->add_constant(raw(), t.raw());
    if (!r) throw Error(ErrorKind::user, "the constant cannot be added");
    return r;
  }
  void set_output(size_t i, graft_ref ref) { succeed(host->set_layer_output(raw(), i, ref)); }

  // ---- a graph ----

  using NodeAddress = uintptr_t;
  static const graft_node* node(NodeAddress a) { return reinterpret_cast<const graft_node*>(a); }
  static NodeAddress address(const graft_node* n) { return reinterpret_cast<NodeAddress>(n); }

  py::list nodes() const {
    const graft_node* const* list = nullptr;
    size_t n = host->graph_nodes(raw(), &list);
    py::list out;
    for (size_t i = 0; i < n; ++i) out.append(address(list[i]));
    return out;
  }
  py::tuple node_title(NodeAddress a) const {
    raw();
    return py::make_tuple(text_object(host->node_name(node(a))), text_object(host->node_type(node(a))),
                          text_object(host->node_opset(node(a))));
  }
  py::dict attributes(NodeAddress a) const {
    raw();
    const graft_named_value* list = nullptr;
    size_t n = host->node_attributes(node(a), &list);
    py::dict out;
    for (size_t i = 0; i < n; ++i) out[text_object(list[i].name)] = field_object(list[i].value);
    return out;
  }
  py::list node_inputs(NodeAddress a) const {
    raw();
    py::list out;
    for (size_t i = 0; i < host->input_count(node(a)); ++i) out.append(host->node_input(raw(), node(a), i));
    return out;
  }
  py::list node_outputs(NodeAddress a) const {
    raw();
    py::list out;
    for (size_t i = 0; i < host->output_count(node(a)); ++i) out.append(host->node_output(raw(), node(a), i));
    return out;
  }
  py::object producer(graft_ref ref) const {
    info(ref);
    size_t output = 0;
    const graft_node* n = host->ref_producer(raw(), ref, &output);
    if (!n) return py::none();
    return py::make_tuple(address(n), output);
  }
  py::list consumers(graft_ref ref) const {
    info(ref);
    const graft_consumer* list = nullptr;
    size_t n = host->ref_consumers(raw(), ref, &list);
    py::list out;
    for (size_t i = 0; i < n; ++i)
      if (list[i].node) out.append(py::make_tuple(address(list[i].node), list[i].input));
    return out;
  }

 private:
  graft_builder* b_;
  std::shared_ptr<bool> running_;
};

struct Callable {
  PyObject* function = nullptr;
  std::string what;
};

graft_status call(graft_builder* builder, void* user) {
  return guarded([&] {
    auto& callable = *static_cast<Callable*>(user);
    auto running = std::make_shared<bool>(true);
    struct End {
      std::shared_ptr<bool> running;
      ~End() { *running = false; }
    } end{running};
    py::gil_scoped_acquire gil;
    calling(callable.what, [&] { py::handle(callable.function)(BuilderHandle(builder, running)); });
  });
}

// Never destroyed, like all records.
struct PythonRule {
  Callable callable;
  std::string framework, domain, type;
  graft_rule record{};
};
Definition import_rule(const std::string& framework, const std::string& type, py::object function,
                       const std::string& origin, const std::string& domain, int64_t since,
                       std::optional<int64_t> until) {
  auto* rule = new PythonRule{{function.release().ptr(), "the import rule"}, framework, domain, type};
  graft_rule& r = rule->record;
  r.size = sizeof r;
  r.framework = str(rule->framework), r.domain = str(rule->domain), r.type = str(rule->type);
  r.since = since, r.until = until.value_or(INT64_MAX);
  r.user = &rule->callable;
  r.expand = call;
  return Definition(origin, {{&r}, {}, {}});
}

struct PythonPass {
  Callable callable;
  std::string name, doc;
  std::vector<std::string> before, after;
  std::vector<graft_str> before_names, after_names;
  graft_pass record{};
};
Definition graph_pass(const std::string& name, const std::string& phase, py::object function, const std::string& origin,
                      const std::string& doc, std::vector<std::string> before, std::vector<std::string> after) {
  constexpr std::string_view phases[] = {"front", "middle", "back", "write"};
  auto at = std::find(std::begin(phases), std::end(phases), phase);
  if (at == std::end(phases))
    throw py::value_error(
        text("expected front, middle, back or write as the phase of '", name, "', got '", phase, "'"));
  auto* pass = new PythonPass{{function.release().ptr(), "the pass"}, name, doc, std::move(before), std::move(after)};
  for (const std::string& s : pass->before) pass->before_names.push_back(str(s));
  for (const std::string& s : pass->after) pass->after_names.push_back(str(s));
  graft_pass& r = pass->record;
  r.size = sizeof r;
  r.name = str(pass->name), r.doc = str(pass->doc);
  r.phase = static_cast<int32_t>(at - std::begin(phases));
  r.before = pass->before_names.data(), r.before_count = pass->before_names.size();
  r.after = pass->after_names.data(), r.after_count = pass->after_names.size();
  r.user = &pass->callable;
  r.visit = call;
  return Definition(origin, {{}, {&r}, {}});
}

}  // namespace

void bind_builders(py::module_& m) {
  using B = BuilderHandle;
  py::class_<B>(m, "Builder")
      .def_property_readonly("name", [](const B& b) { return text_object(host->layer_name(b.raw())); })
      .def_property_readonly("type", [](const B& b) { return text_object(host->layer_type(b.raw())); })
      .def_property_readonly("version", [](const B& b) { return host->layer_version(b.raw()); })
      .def_property_readonly("weights", [](const B& b) { return host->layer_weight_count(b.raw()); })
      .def_property_readonly("output_count", [](const B& b) { return host->layer_output_count(b.raw()); })
      .def("output_used", [](const B& b, size_t i) { return host->layer_output_used(b.raw(), i) != 0; })
      .def("field_names", &B::field_names)
      .def("has_field", &B::has_field)
      .def("field", &B::field)
      .def("inputs", &B::inputs)
      .def("info", &B::info)
      .def("value", &B::value)
      .def("add_node", &B::add_node)
      .def("constant", &B::constant)
      .def("set_output", &B::set_output)
      .def("nodes", &B::nodes)
      .def("node", &B::node_title)
      .def("attributes", &B::attributes)
      .def("node_inputs", &B::node_inputs)
      .def("node_outputs", &B::node_outputs)
      .def("producer", &B::producer)
      .def("consumers", &B::consumers)
      .def("replace", [](B& b, graft_ref from, graft_ref to) { succeed(host->replace_ref(b.raw(), from, to)); })
      .def("set_node_input", [](B& b, B::NodeAddress n, size_t i,
                                graft_ref r) { succeed(host->set_node_input(b.raw(), B::node(n), i, r)); })
      .def("set_node_name", [](B& b, B::NodeAddress n, const std::string& name) {
        succeed(host->set_node_name(b.raw(), B::node(n), str(name)));
      });
  m.def("import_rule", &import_rule, py::arg("framework"), py::arg("type"), py::arg("function"), py::arg("origin"),
        py::arg("domain") = "", py::arg("since") = 0, py::arg("until") = py::none());
  m.def("graph_pass", &graph_pass, py::arg("name"), py::arg("phase"), py::arg("function"), py::arg("origin"),
        py::arg("doc") = "", py::arg("before") = std::vector<std::string>(),
        py::arg("after") = std::vector<std::string>());
}

}  // namespace graft::python
