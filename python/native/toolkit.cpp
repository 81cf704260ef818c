// The toolkit as the package sees it: handles, and plain dictionaries that the classes in graft/*.py give a form.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <graft/text.hpp>

#include "definition.hpp"
#include "request.hpp"

namespace graft::python {
namespace {

using Unlocked = py::call_guard<py::gil_scoped_release>;

// ---- to Python ----

py::object dim_object(const Dim& d) {
  if (d.known()) return py::int_(d.value());
  if (d.min() == 0 && d.max() == INT64_MAX) return py::none();
  return py::make_tuple(d.min(), d.max() == INT64_MAX ? py::object(py::none()) : py::object(py::int_(d.max())));
}
py::object shape_object(const Shape& s) {
  if (!s.ranked()) return py::none();
  py::tuple out(s.rank());
  for (size_t i = 0; i < s.rank(); ++i) out[i] = dim_object(s[i]);
  return out;
}
py::dict info_dict(const Info& i) {
  return py::dict(py::arg("dtype") = std::string(name_of(i.type)), py::arg("shape") = shape_object(i.shape),
                  py::arg("text") = text(i.type, i.shape));
}
py::list infos(const std::vector<Info>& list) {
  py::list out;
  for (const Info& i : list) out.append(info_dict(i));
  return out;
}
py::dict port_dict(const Port& p) {
  return py::dict(py::arg("name") = p.name, py::arg("names") = p.names, py::arg("any_name") = p.any_name(),
                  py::arg("dtype") = std::string(name_of(p.type)), py::arg("shape") = shape_object(p.shape),
                  py::arg("text") = text(p.type, p.shape));
}
py::list ports(const std::vector<Port>& list) {
  py::list out;
  for (const Port& p : list) out.append(port_dict(p));
  return out;
}
py::list unknown_types(const std::vector<UnknownType>& list) {
  py::list out;
  for (const UnknownType& u : list) {
    py::list layers;
    for (const UnknownType::Layer& l : u.layers) {
      py::dict fields;
      for (const auto& [name, value] : l.fields) fields[py::str(name)] = attribute_object(value);
      for (const auto& [name, what] : l.other_fields) fields[py::str(name)] = py::str(what);
      py::list inputs;
      for (const auto& i : l.inputs) inputs.append(i ? py::object(info_dict(*i)) : py::object(py::none()));
      layers.append(py::dict(py::arg("name") = l.name, py::arg("fields") = fields, py::arg("inputs") = inputs,
                             py::arg("outputs") = l.outputs, py::arg("weights") = l.weights));
    }
    out.append(py::dict(py::arg("type") = u.type, py::arg("domain") = u.domain, py::arg("version") = u.version,
                        py::arg("layers") = layers, py::arg("note") = u.note));
  }
  return out;
}
py::dict report_dict(const Report& r) {
  py::list claims, problems;
  for (const Claim& c : r.claims)
    claims.append(py::dict(py::arg("layer") = c.layer, py::arg("type") = c.type, py::arg("domain") = c.domain,
                           py::arg("by") = c.by, py::arg("operations") = c.operations,
                           py::arg("extension") = c.extension, py::arg("added_by") = c.added_by));
  py::list raw_passes;
  for (const RawPassEffect& e : r.raw_passes)
    raw_passes.append(py::dict(py::arg("name") = e.pass, py::arg("extension") = e.extension, py::arg("added") = e.added,
                               py::arg("removed") = e.removed, py::arg("changed") = e.changed,
                               py::arg("replacements") = e.replacements));
  for (const Problem& p : r.problems)
    problems.append(py::dict(py::arg("layer") = p.layer, py::arg("type") = p.type,
                             py::arg("message") = p.error.report(), py::arg("after") = p.after));
  return py::dict(py::arg("layers") = r.layers, py::arg("complete") = r.complete(),
                  py::arg("unknown") = unknown_types(r.unknown), py::arg("problems") = problems,
                  py::arg("claims") = claims, py::arg("warnings") = r.warnings, py::arg("overridden") = r.overridden,
                  py::arg("passed_on") = unknown_types(r.passed_on), py::arg("raw_passes") = raw_passes,
                  py::arg("text") = r.to_text(), py::arg("claims_text") = r.claims_text());
}
py::list effects(const std::vector<PassEffect>& list) {
  py::list out;
  for (const PassEffect& e : list)
    out.append(py::dict(py::arg("name") = e.pass, py::arg("changes") = e.changes,
                        py::arg("nodes_before") = e.nodes_before, py::arg("nodes_after") = e.nodes_after,
                        py::arg("places") = e.places));
  return out;
}
py::dict explanation_dict(const Explanation& e) {
  py::list choices;
  for (const Choice& c : e.choices)
    choices.append(py::dict(py::arg("node") = c.node, py::arg("type") = c.type, py::arg("opset") = c.opset,
                            py::arg("device") = c.device, py::arg("kernel") = c.kernel,
                            py::arg("declined") = c.declined, py::arg("inputs") = infos(c.inputs),
                            py::arg("outputs") = infos(c.outputs), py::arg("note") = c.note,
                            py::arg("producers") = c.producers, py::arg("part") = c.part));
  py::list parts, crossings;
  for (const ModelPart& p : e.parts)
    parts.append(
        py::dict(py::arg("device") = p.device, py::arg("phase") = p.phase, py::arg("operations") = p.operations));
  for (const Crossing& c : e.crossings)
    crossings.append(py::dict(py::arg("value") = c.value, py::arg("source") = c.from, py::arg("target") = c.to,
                              py::arg("info") = info_dict(c.info), py::arg("bytes") = c.bytes,
                              py::arg("copied") = c.copied));
  return py::dict(py::arg("device") = e.device, py::arg("passes") = effects(e.passes), py::arg("choices") = choices,
                  py::arg("arena_bytes") = e.arena_bytes, py::arg("unshared_bytes") = e.unshared_bytes,
                  py::arg("constant_bytes") = e.constant_bytes, py::arg("parts") = parts,
                  py::arg("crossings") = crossings, py::arg("dot") = e.to_dot(), py::arg("svg") = e.to_svg(),
                  py::arg("text") = e.to_text());
}
py::dict query_dict(const QueryResult& q) {
  py::list layers;
  for (const LayerSupport& l : q.layers)
    layers.append(py::dict(py::arg("layer") = l.layer, py::arg("type") = l.type, py::arg("supported") = l.supported,
                           py::arg("device") = l.device, py::arg("reason") = l.reason));
  return py::dict(py::arg("device") = q.device, py::arg("layers") = layers, py::arg("supported") = q.supported(),
                  py::arg("assigned") = q.assigned(), py::arg("text") = q.to_text());
}
py::dict convert_dict(const ConvertReport& r) {
  return py::dict(py::arg("xml") = r.xml, py::arg("bin") = r.bin, py::arg("framework") = r.framework,
                  py::arg("file_layers") = r.file_layers, py::arg("ir_layers") = r.ir_layers,
                  py::arg("by_extensions") = r.by_extensions, py::arg("ir_version") = r.ir_version,
                  py::arg("opset") = r.opset, py::arg("inputs") = ports(r.inputs),
                  py::arg("outputs") = ports(r.outputs), py::arg("passes") = effects(r.passes),
                  py::arg("transposes") = r.transposes, py::arg("unknown") = unknown_types(r.unknown),
                  py::arg("warnings") = r.warnings, py::arg("text") = r.to_text());
}
py::dict rule_dict(const RuleInfo& r) {
  return py::dict(py::arg("framework") = r.framework, py::arg("layer") = r.layer(), py::arg("versions") = r.versions(),
                  py::arg("imported_as") = r.imported_as(), py::arg("where") = r.where(), py::arg("origin") = r.from);
}
py::dict op_dict(const OpInfo& o) {
  py::list attributes, kernels, rules;
  for (const AttributeInfo& a : o.attributes)
    attributes.append(py::dict(py::arg("name") = a.name, py::arg("kind") = a.kind, py::arg("doc") = a.doc,
                               py::arg("default") = a.fallback, py::arg("allowed") = a.allowed));
  for (const KernelInfo& k : o.kernels) kernels.append(py::make_tuple(k.device, k.name));
  for (const RuleInfo& r : o.rules) rules.append(rule_dict(r));
  return py::dict(py::arg("name") = o.name, py::arg("opset") = o.opset, py::arg("doc") = o.doc,
                  py::arg("attributes") = attributes, py::arg("kernels") = kernels, py::arg("rules") = rules,
                  py::arg("frameworks") = o.frameworks(), py::arg("origin") = o.from,
                  py::arg("overrides") = o.overrides, py::arg("text") = o.to_text());
}

// ---- from Python ----

// Takes an option out of a dictionary; what is left at the end is unknown.
template <class T>
void take(py::dict& options, const char* name, T& out) {
  if (!options.contains(name)) return;
  py::object v = options[name];
  PyDict_DelItemString(options.ptr(), name);
  if (v.is_none()) return;
  try {
    out = py::cast<T>(v);
  } catch (const py::cast_error&) {
    throw Error(ErrorKind::request, text("option '", name, "': unexpected value ", std::string(py::repr(v))));
  }
}
void refuse_rest(const py::dict& options) {
  for (auto item : options)
    throw Error(ErrorKind::request, text("unknown option '", std::string(py::str(item.first)), "'"));
}

Dim to_dim(py::handle v) {
  if (v.is_none()) return Dim();
  if (py::isinstance<py::tuple>(v)) {
    auto [low, high] = py::cast<std::pair<int64_t, std::optional<int64_t>>>(v);
    return Dim::between(low, high.value_or(INT64_MAX));
  }
  auto n = py::cast<int64_t>(v);
  return n == -1 ? Dim() : Dim(n);
}
Shape to_shape(py::handle v) {
  if (v.is_none()) return Shape::unknown();
  if (py::isinstance<py::str>(v)) {
    auto s = parse_shape(py::cast<std::string>(v));
    if (!s) throw Error(ErrorKind::request, text("expected a shape, got '", py::cast<std::string>(v), "'"));
    return *s;
  }
  std::vector<Dim> dims;
  for (py::handle d : py::cast<py::sequence>(v)) dims.push_back(to_dim(d));
  return Shape(std::move(dims));
}
std::map<std::string, Shape> to_shapes(const py::dict& d) {
  std::map<std::string, Shape> out;
  for (auto [name, shape] : d) out[py::cast<std::string>(name)] = to_shape(shape);
  return out;
}

ReadOptions read_options(py::dict given) {
  auto options = given.attr("copy")().cast<py::dict>();
  ReadOptions out;
  py::dict shapes, types, constants;
  take(options, "shapes", shapes), take(options, "types", types), take(options, "constants", constants);
  out.shapes = to_shapes(shapes);
  for (auto [name, type] : types) out.types[py::cast<std::string>(name)] = parse_type(type);
  for (auto [name, value] : constants) {
    auto key = py::cast<std::string>(name);
    out.constants[key] = tensor_from(value, DType::undefined, text("the constant '", key, "'")).clone();
  }
  py::list cut;
  take(options, "inputs", cut);
  for (py::handle entry : cut) {
    CutInput in;
    if (py::isinstance<py::str>(entry)) in.place = py::cast<std::string>(entry);
    else {
      auto fields = py::cast<py::dict>(entry).attr("copy")().cast<py::dict>();
      take(fields, "name", in.place);
      py::object shape = py::none(), type = py::none();
      take(fields, "shape", shape), take(fields, "dtype", type);
      if (!shape.is_none()) in.shape = to_shape(shape);
      if (!type.is_none()) in.type = parse_type(type);
      refuse_rest(fields);
    }
    out.cut.inputs.push_back(std::move(in));
  }
  take(options, "outputs", out.cut.outputs);
  take(options, "more_outputs", out.cut.more_outputs);
  take(options, "batch", out.cut.batch);
  take(options, "items", out.items), take(options, "absent", out.absent);
  take(options, "mapping", out.mapping), take(options, "nested_names", out.nested_names);
  take(options, "replacements", out.replacements), take(options, "allow_unmatched", out.allow_unmatched);
  take(options, "checkpoint", out.checkpoint), take(options, "tags", out.tags);
  take(options, "signature", out.signature), take(options, "disabled_passes", out.disabled_passes);
  take(options, "save_parameters", out.save_parameters), take(options, "counts", out.counts);
  take(options, "remove_output_softmax", out.remove_output_softmax);
  take(options, "streaming", out.streaming), take(options, "remove_memory", out.remove_memory);
  take(options, "limits", out.limits);
  refuse_rest(options);
  return out;
}

std::vector<ChannelValues> channel_values(py::object v) {
  std::vector<ChannelValues> out;
  if (v.is_none()) return out;
  if (py::isinstance<py::dict>(v))
    for (auto [name, values] : py::cast<py::dict>(v))
      out.push_back({py::cast<std::string>(name), py::cast<std::vector<double>>(values)});
  else out.push_back({"", py::cast<std::vector<double>>(v)});
  return out;
}

ConvertOptions convert_options(py::dict given) {
  auto options = given.attr("copy")().cast<py::dict>();
  ConvertOptions out;
  py::object mean = py::none(), scale = py::none();
  take(options, "mean", mean), take(options, "scale", scale);
  out.preprocess.mean = channel_values(mean);
  if (py::isinstance<py::float_>(scale) || py::isinstance<py::int_>(scale))
    out.preprocess.scale_all = py::cast<double>(scale);
  else out.preprocess.scale = channel_values(scale);
  take(options, "reverse_channels", out.preprocess.reverse_channels);
  take(options, "channels_first", out.channels_first);
  take(options, "disabled_passes", out.disabled_passes), take(options, "enabled_passes", out.enabled_passes);
  take(options, "keep", out.keep), take(options, "compress_to_f16", out.compress_to_f16);
  take(options, "ir_version", out.ir_version), take(options, "max_opset", out.max_opset);
  take(options, "target", out.target);
  take(options, "stub_unknown", out.stub_unknown), take(options, "name", out.name);
  refuse_rest(options);
  return out;
}

Options compile_options(py::dict given) {
  auto options = given.attr("copy")().cast<py::dict>();
  Options out;
  take(options, "streams", out.streams), take(options, "threads", out.threads);
  take(options, "profile", out.profile), take(options, "passes", out.passes);
  take(options, "disabled_passes", out.disabled_passes), take(options, "affinities", out.affinities);
  refuse_rest(options);
  return out;
}

// Calls the library without the GIL.
template <class F>
auto unlocked(F&& f) {
  py::gil_scoped_release release;
  return f();
}

using PyModel = Released<Model>;
using PyCompiled = Released<CompiledModel>;

// The model for values of these shapes, lengths and structures, the values that are still inputs, and notes.
py::tuple fit(PyModel& s, const py::sequence& given) {
  std::vector<Group> groups = s->input_groups();
  std::vector<Port> ports = s->inputs();
  if (given.size() != groups.size())
    throw Error(ErrorKind::user, text("expected ", groups.size(), " input values, got ", given.size()));
  std::vector<Datum> values;
  for (size_t i = 0; i < groups.size(); ++i)
    values.push_back(datum_from(py::object(given[i]), &groups[i], ports, text("input '", groups[i].name, "'")));
  Fitted fitted = unlocked([&] { return fit_model(*s, std::move(values)); });
  py::list left;
  for (const Datum& d : fitted.values) left.append(object_of(d));
  return py::make_tuple(PyModel(std::move(fitted.model)), left, fitted.notes);
}

void bind_models(py::module_& m) {
  py::class_<PyModel>(m, "Model")
      .def_property_readonly("name", [](PyModel& s) { return unlocked([&] { return s->name(); }); })
      .def_property_readonly("framework", [](PyModel& s) { return unlocked([&] { return s->framework(); }); })
      .def_property_readonly("path", [](PyModel& s) { return unlocked([&] { return s->path(); }); })
      .def_property_readonly("node_count", [](PyModel& s) { return unlocked([&] { return s->node_count(); }); })
      .def("streaming",
           [](PyModel& s) -> py::object {
             auto found = unlocked([&] { return s->streaming(); });
             if (!found) return py::none();
             return py::dict(py::arg("left") = found->left, py::arg("right") = found->right);
           })
      .def("inputs", [](PyModel& s) { return ports(unlocked([&] { return s->inputs(); })); })
      .def("outputs", [](PyModel& s) { return ports(unlocked([&] { return s->outputs(); })); })
      .def("input_groups", [](PyModel& s) { return group_dicts(s->input_groups(), s->inputs()); })
      .def("output_groups", [](PyModel& s) { return group_dicts(s->output_groups(), s->outputs()); })
      .def("fit", &fit)
      .def("unknown_layers", [](PyModel& s) { return unlocked([&] { return s->unknown_layers(); }); })
      .def("report", [](PyModel& s) { return report_dict(unlocked([&] { return s->report(); })); })
      .def("require_complete", [](PyModel& s) { unlocked([&] { s->require_complete(); }); })
      .def("reshape",
           [](PyModel& s, const py::dict& shapes) {
             auto all = to_shapes(shapes);
             unlocked([&] { s->reshape(all); });
           })
      .def("add_output", [](PyModel& s, const std::string& n) { return unlocked([&] { return s->add_output(n); }); })
      .def("save_ir", [](PyModel& s, const std::string& path) { unlocked([&] { s->save_ir(path); }); })
      .def("through_ir", [](PyModel& s) { return PyModel(unlocked([&] { return s->through_ir(); })); })
      .def("to_text", [](PyModel& s) { return unlocked([&] { return s->to_text(); }); });

  py::class_<PyCompiled>(m, "CompiledModel")
      .def_property_readonly("device", [](PyCompiled& s) { return unlocked([&] { return s->device(); }); })
      .def("inputs", [](PyCompiled& s) { return ports(unlocked([&] { return s->inputs(); })); })
      .def("outputs", [](PyCompiled& s) { return ports(unlocked([&] { return s->outputs(); })); })
      .def("input_groups", [](PyCompiled& s) { return group_dicts(s->input_groups(), s->inputs()); })
      .def("output_groups", [](PyCompiled& s) { return group_dicts(s->output_groups(), s->outputs()); })
      .def("explain", [](PyCompiled& s, const std::vector<std::vector<int64_t>>& dims) {
        return explanation_dict(unlocked([&] { return s->explain(dims); }));
      });
}

void bind_core(py::module_& m) {
  py::class_<Core>(m, "Core")
      .def(py::init([] { return unlocked([] { return Core(); }); }))
      .def("add_library",
           [](Core& c, const std::string& path) {
             return static_cast<uint64_t>(unlocked([&] { return c.add_extension(path); }));
           })
      .def("add_definition",
           [](Core& c, const Definition& d) {
             return static_cast<uint64_t>(unlocked([&] { return c.add_extension(d.entry()); }));
           })
      .def("remove", [](Core& c, uint64_t id) { unlocked([&] { c.remove_extension(static_cast<ExtensionId>(id)); }); })
      .def("extensions",
           [](Core& c) {
             py::list out;
             for (const ExtensionInfo& e : unlocked([&] { return c.extensions(); }))
               out.append(py::dict(py::arg("id") = static_cast<uint64_t>(e.id), py::arg("name") = e.name,
                                   py::arg("version") = e.version, py::arg("path") = e.path,
                                   py::arg("operations") = e.operations, py::arg("kernels") = e.kernels,
                                   py::arg("rules") = e.rules, py::arg("passes") = e.passes));
             return out;
           })
      .def("read_model",
           [](Core& c, const std::vector<std::string>& files, const py::dict& options) {
             ReadOptions how = read_options(options);
             return PyModel(unlocked([&] { return c.read_model(files, how); }));
           })
      .def("compile_model",
           [](Core& c, PyModel& model, const std::string& device, const py::dict& options) {
             Options how = compile_options(options);
             return PyCompiled(unlocked([&] { return c.compile_model(*model, device, how); }));
           })
      .def("query_model",
           [](Core& c, PyModel& model, const std::string& device, const py::dict& options) {
             Options how = compile_options(options);
             return query_dict(unlocked([&] { return c.query_model(*model, device, how); }));
           })
      .def("set_property",
           [](Core& c, const std::string& device, const Core::Properties& properties) {
             unlocked([&] { device.empty() ? c.set_property(properties) : c.set_property(device, properties); });
           })
      .def("get_property",
           [](Core& c, const std::string& device, const std::string& name) {
             return unlocked([&] { return c.get_property(device, name); });
           })
      .def("convert_model",
           [](Core& c, PyModel& model, const std::string& xml, const py::dict& options) {
             ConvertOptions how = convert_options(options);
             return convert_dict(unlocked([&] {
               c.check(how);
               return convert_model(*model, xml, how);
             }));
           })
      .def("operations",
           [](Core& c) {
             py::list out;
             for (const OpInfo& o : unlocked([&] { return c.operations(); })) out.append(op_dict(o));
             return out;
           })
      .def("rules",
           [](Core& c) {
             py::list out;
             for (const RuleInfo& r : unlocked([&] { return c.rules(); })) out.append(rule_dict(r));
             return out;
           })
      .def("passes",
           [](Core& c) {
             py::list out;
             for (const PassInfo& p : unlocked([&] { return c.passes(); }))
               out.append(py::dict(py::arg("name") = p.name, py::arg("doc") = p.doc, py::arg("phase") = p.phase,
                                   py::arg("origin") = p.by, py::arg("on_request") = p.on_request));
             return out;
           })
      .def("devices", [](Core& c) { return unlocked([&] { return c.get_available_devices(); }); })
      .def("device_description",
           [](Core& c, const std::string& d) { return unlocked([&] { return c.device_description(d); }); });
}

void bind_request(py::module_& m) {
  py::class_<Request>(m, "InferRequest")
      .def(py::init([](PyCompiled& s) {
        return std::make_unique<Request>(unlocked([&] { return s->create_infer_request(); }), *s);
      }))
      .def("infer", &Request::infer)
      .def("start_async", &Request::start_async)
      .def("wait", &Request::wait)
      .def("wait_for", &Request::wait_for)
      .def("cancel", [](Request& r) { r.raw().cancel(); })
      .def("set_callback", &Request::set_callback)
      .def("results", &Request::results)
      .def("get", &Request::get)
      .def("input", &Request::input)
      .def("output", &Request::output)
      .def("set", &Request::set)
      .def("set_input", &Request::set_input)
      .def("set_output", &Request::set_output)
      .def("reset_state", [](Request& r) { unlocked([&] { r.raw().reset_state(); }); })
      .def("profile", [](Request& r) {
        py::list out;
        auto all = unlocked([&] { return r.raw().get_profiling_info(); });
        for (const ProfilingInfo& p : all)
          out.append(py::dict(py::arg("node") = p.node_name, py::arg("type") = p.node_type,
                              py::arg("kernel") = p.kernel, py::arg("microseconds") = p.microseconds,
                              py::arg("calls") = p.calls));
        return py::make_tuple(out, profile_text(all));
      });
}

}  // namespace

void bind_toolkit(py::module_& m) {
  bind_models(m);
  bind_core(m);
  bind_request(m);
  m.def("recognize_format", &recognize_format, Unlocked());
  m.def("read_tensor", [](const std::string& path) { return read_tensor(path); }, Unlocked());
  m.def("set_log", [](py::object listener, int last) {
    if (listener.is_none()) {
      py::gil_scoped_release release;
      return set_log_listener({});
    }
    std::shared_ptr<const void> kept = keeper(std::move(listener));
    LogListener call = [kept](LogLevel level, std::string_view message) {
      py::gil_scoped_acquire gil;
      try {
        py::handle(static_cast<PyObject*>(const_cast<void*>(kept.get())))(static_cast<int>(level),
                                                                          py::str(message.data(), message.size()));
      } catch (py::error_already_set& e) {
        e.discard_as_unraisable("graft log listener");
      }
    };
    py::gil_scoped_release release;
    set_log_listener(std::move(call), static_cast<LogLevel>(last));
  });
}

}  // namespace graft::python
