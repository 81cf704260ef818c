// The toolkit as the package sees it: handles, and plain dictionaries that the classes in graft/*.py give a form.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <graft/text.hpp>

#include "definition.hpp"
#include "layout_text.hpp"
#include "request.hpp"
#include "results.hpp"

namespace graft::python {
namespace {

using Unlocked = py::call_guard<py::gil_scoped_release>;

// ---- to Python ----

py::dict report_dict(const Report& r) {
  py::dict out = result_dict(r);
  out["claims_text"] = in_keywords(r.claims_text());
  return out;
}
py::dict explanation_dict(const Explanation& e) {
  py::dict out = result_dict(e);
  out["dot"] = e.to_dot(), out["svg"] = e.to_svg();
  return out;
}

// ---- from Python ----

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

// The value of an option, by the type of its member; throws py::cast_error for a value of another type. `name` is that
// of the option.
template <class T>
void set(T& out, py::handle v, const char*) {
  out = py::cast<T>(v);
}
void set(Shape& out, py::handle v, const char*) { out = to_shape(v); }
void set(DType& out, py::handle v, const char*) { out = parse_type(v); }
template <class T>
void set(std::optional<T>& out, py::handle v, const char* name) {
  set(out.emplace(), v, name);
}
template <class T>
void set(std::map<std::string, T>& out, py::handle v, const char* name) {
  for (auto [key, value] : py::cast<py::dict>(v)) set(out[py::cast<std::string>(key)], value, name);
}
void set(std::vector<std::pair<std::string, std::string>>& out, py::handle v, const char*) {
  for (auto [key, value] : py::cast<py::dict>(v))
    out.emplace_back(py::cast<std::string>(key), py::cast<std::string>(value));
}
void set(std::map<std::string, Tensor>& out, py::handle v, const char*) {
  for (auto [name, value] : py::cast<py::dict>(v)) {
    auto key = py::cast<std::string>(name);
    out[key] = tensor_from(value, DType::undefined, text("the constant '", key, "'")).clone();
  }
}
void set(Tensor& out, py::handle v, const char* name) {
  out = tensor_from(v, DType::f32, text("option '", name, "'")).clone();
}
// A list, or a dictionary by input.
void set(std::vector<ChannelValues>& out, py::handle v, const char*) {
  if (!py::isinstance<py::dict>(v)) return (void)out.push_back({"", py::cast<std::vector<double>>(v)});
  for (auto [name, values] : py::cast<py::dict>(v))
    out.push_back({py::cast<std::string>(name), py::cast<std::vector<double>>(values)});
}

void set(std::vector<CutInput>& out, py::handle v, const char* name);
void set(std::vector<LayoutRequest>& out, py::handle v, const char* name);

// Takes an option out of a dictionary; what is left at the end is unknown.
template <class T>
void take(py::dict& options, const char* name, T& out) {
  if (!options.contains(name)) return;
  py::object v = options[name];
  PyDict_DelItemString(options.ptr(), name);
  if (v.is_none()) return;
  auto refuse = [&] {
    throw Error(ErrorKind::request, text("option '", name, "': unexpected value ", printed(py::repr(v))));
  };
  try {
    set(out, v, name);
  } catch (const py::cast_error&) {
    refuse();
  } catch (py::error_already_set& e) {  // of a dictionary or list made of it
    if (!e.matches(PyExc_TypeError) && !e.matches(PyExc_ValueError)) throw;
    refuse();
  }
}
void refuse_rest(const py::dict& options, const std::vector<std::string>& known) {
  for (auto item : options) {
    std::string name = printed(item.first);
    auto close = nearest(name, known);
    throw Error(ErrorKind::request, text("unknown option '", name, "'"),
                close ? text("did you mean ", *close, "?") : text("options are ", join(known, ", ")));
  }
}

// Names, or dictionaries with name, shape and dtype.
void set(std::vector<CutInput>& out, py::handle v, const char*) {
  for (py::handle entry : py::cast<py::list>(v)) {
    CutInput& in = out.emplace_back();
    if (py::isinstance<py::str>(entry)) {
      in.place = py::cast<std::string>(entry);
      continue;
    }
    auto parts = py::cast<py::dict>(entry).attr("copy")().cast<py::dict>();
    take(parts, "name", in.place), take(parts, "shape", in.shape), take(parts, "dtype", in.type);
    refuse_rest(parts, {"name", "shape", "dtype"});
  }
}
// "nhwc->nchw" for all inputs, a dictionary by input or output, or a list of either or of dictionaries with name,
// source and target, which may be lists of the names of dimensions.
void set(std::vector<LayoutRequest>& out, py::handle v, const char* name) {
  auto take_names = [](py::dict& parts, const char* which, std::vector<std::string>& names) {
    if (!parts.contains(which) || !py::isinstance<py::str>(parts[which])) return take(parts, which, names);
    std::string s;
    take(parts, which, s);
    names = cli::layout_entries(s, s);
  };
  if (py::isinstance<py::str>(v)) return (void)out.push_back(cli::layout_change(py::cast<std::string>(v)));
  if (py::isinstance<py::list>(v) || py::isinstance<py::tuple>(v)) {
    for (py::handle entry : v) set(out, entry, name);
    return;
  }
  auto parts = py::cast<py::dict>(v).attr("copy")().cast<py::dict>();
  if (parts.contains("source")) {
    LayoutRequest& l = out.emplace_back();
    take(parts, "name", l.name), take_names(parts, "source", l.source), take_names(parts, "target", l.target);
    return refuse_rest(parts, {"name", "source", "target"});
  }
  for (auto [key, layout] : parts) {
    out.push_back(cli::layout_change(py::cast<std::string>(layout)));
    out.back().name = py::cast<std::string>(key);
  }
}

// All options of a struct that has rows.
template <class O>
O options_from(const py::dict& given) {
  auto options = given.attr("copy")().cast<py::dict>();
  O out;
  std::vector<std::string> names;
  each_option(out, [&](const auto& row, auto& value) {
    names.emplace_back(row.name);
    take(options, row.name, value);
  });
  refuse_rest(options, names);
  return out;
}
ReadOptions read_options(const py::dict& given) { return options_from<ReadOptions>(given); }
// A number as `scale` is for all inputs.
ConvertOptions convert_options(const py::dict& given) {
  auto options = given.attr("copy")().cast<py::dict>();
  if (options.contains("scale") &&
      (py::isinstance<py::float_>(options["scale"]) || py::isinstance<py::int_>(options["scale"]))) {
    options["scale_all"] = options["scale"];
    PyDict_DelItemString(options.ptr(), "scale");
  }
  return options_from<ConvertOptions>(options);
}

Options compile_options(py::dict given) {
  auto options = given.attr("copy")().cast<py::dict>();
  Options out;
  take(options, "streams", out.streams), take(options, "threads", out.threads);
  std::string hint = "none";
  take(options, "hint", hint), take(options, "hyper_threads", out.hyper_threads);
  if (hint == "latency") out.hint = PerformanceHint::latency;
  else if (hint == "throughput") out.hint = PerformanceHint::throughput;
  else if (hint != "none")
    throw Error(ErrorKind::request, text("option 'hint': expected latency, throughput or none, got '", hint, "'"));
  take(options, "profile", out.profile), take(options, "passes", out.passes);
  take(options, "disabled_passes", out.disabled_passes), take(options, "affinities", out.affinities);
  refuse_rest(options,
              {"streams", "threads", "hint", "hyper_threads", "profile", "passes", "disabled_passes", "affinities"});
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
      .def("inputs", [](PyModel& s) { return value_object(unlocked([&] { return s->inputs(); })); })
      .def("outputs", [](PyModel& s) { return value_object(unlocked([&] { return s->outputs(); })); })
      .def("input_groups", [](PyModel& s) { return group_dicts(s->input_groups(), s->inputs()); })
      .def("output_groups", [](PyModel& s) { return group_dicts(s->output_groups(), s->outputs()); })
      .def("fit", &fit)
      .def("unknown_layers", [](PyModel& s) { return unlocked([&] { return s->unknown_layers(); }); })
      .def("report", [](PyModel& s) { return report_dict(unlocked([&] { return s->report(); })); })
      .def("require_complete", [](PyModel& s) { unlocked([&] { s->require_complete(); }); })
      .def("reshape",
           [](PyModel& s, const py::dict& shapes) {
             std::map<std::string, Shape> all;
             set(all, shapes, "shapes");
             unlocked([&] { s->reshape(all); });
           })
      .def("add_output", [](PyModel& s, const std::string& n) { return unlocked([&] { return s->add_output(n); }); })
      .def("save_ir", [](PyModel& s, const std::string& path) { unlocked([&] { s->save_ir(path); }); })
      .def("through_ir", [](PyModel& s) { return PyModel(unlocked([&] { return s->through_ir(); })); })
      .def("to_text", [](PyModel& s) { return unlocked([&] { return s->to_text(); }); });

  py::class_<PyCompiled>(m, "CompiledModel")
      .def_property_readonly("device", [](PyCompiled& s) { return unlocked([&] { return s->device(); }); })
      .def("inputs", [](PyCompiled& s) { return value_object(unlocked([&] { return s->inputs(); })); })
      .def("outputs", [](PyCompiled& s) { return value_object(unlocked([&] { return s->outputs(); })); })
      .def("input_groups", [](PyCompiled& s) { return group_dicts(s->input_groups(), s->inputs()); })
      .def("output_groups", [](PyCompiled& s) { return group_dicts(s->output_groups(), s->outputs()); })
      .def("explain", [](PyCompiled& s, const std::vector<std::vector<int64_t>>& dims) {
        return explanation_dict(unlocked([&] { return s->explain(dims); }));
      });
}

void bind_core(py::module_& m) {
  py::class_<Core>(m, "Core")
      .def(py::init([] { return unlocked([] { return Core(); }); }))
      .def("add_extension",
           [](Core& c, const std::string& path) {
             return static_cast<uint64_t>(unlocked([&] { return c.add_extension(path); }));
           })
      .def("add_definitions",
           [](Core& c, const std::vector<const Definition*>& definitions) {
             std::vector<Core::Entry> entries;
             for (const Definition* d : definitions) entries.push_back(d->entry());
             std::vector<uint64_t> ids;
             for (ExtensionId id : unlocked([&] { return c.add_extensions(entries); }))
               ids.push_back(static_cast<uint64_t>(id));
             return ids;
           })
      .def("remove", [](Core& c, uint64_t id) { unlocked([&] { c.remove_extension(static_cast<ExtensionId>(id)); }); })
      .def("extensions", [](Core& c) { return result_dicts(unlocked([&] { return c.extensions(); })); })
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
             return result_dict(unlocked([&] { return c.query_model(*model, device, how); }));
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
             return result_dict(unlocked([&] {
               c.check(how);
               return convert_model(*model, xml, how);
             }));
           })
      .def("operations", [](Core& c) { return result_dicts(unlocked([&] { return c.operations(); })); })
      .def("rules", [](Core& c) { return result_dicts(unlocked([&] { return c.rules(); })); })
      .def("frameworks", [](Core& c) { return result_dicts(unlocked([&] { return c.frameworks(); })); })
      .def("recognize_format",
           [](Core& c, const std::string& path) { return unlocked([&] { return c.recognize_format(path); }); })
      .def("passes", [](Core& c) { return result_dicts(unlocked([&] { return c.passes(); })); })
      .def("threads",
           [](Core& c) {
             ThreadsInfo t = unlocked([&] { return c.threads(); });
             return py::make_tuple(t.threads, t.reason, t.notes);
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
        auto all = unlocked([&] { return r.raw().get_profiling_info(); });
        return py::make_tuple(result_dicts(all), profile_text(all));
      });
}

}  // namespace

void bind_toolkit(py::module_& m) {
  bind_models(m);
  bind_core(m);
  bind_request(m);
  m.def("recognize_format", &recognize_format, Unlocked());
  // Whether the interpreter opens the extension: a Python file, or a folder of the Model Optimizer.
  m.def("is_python_extension", [](const std::string& path) {
    ExtensionKind kind = unlocked([&] { return extension_kind(path); });
    return kind == ExtensionKind::python || kind == ExtensionKind::model_optimizer;
  });
  m.def(
      "read_tensor", [](const std::string& path) { return read_tensor(path); }, Unlocked());
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
                                                                          in_keywords(message));
      } catch (py::error_already_set& e) {
        e.discard_as_unraisable("graft log listener");
      }
    };
    py::gil_scoped_release release;
    set_log_listener(std::move(call), static_cast<LogLevel>(last));
  });
}

}  // namespace graft::python
