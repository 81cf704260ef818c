#include "definition.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <deque>
#include <graft/app/log.hpp>
#include <graft/layer_import.hpp>
#include <graft/text.hpp>

#include "request.hpp"

namespace graft::python {

struct ImportRule {
  const Record* record = nullptr;
  std::string framework;
  std::map<std::string, std::string> paths;  // attribute -> field
};

// All that a graft_extension of one operation consists of.
struct Record {
  PyObject* spec = nullptr;
  bool layer = false;  // in the style of OpenCV: parameters and blobs
  bool elementwise = false, boolean = false;
  std::deque<std::string> texts;
  std::deque<AttrValue> values;
  std::deque<std::vector<graft_str>> words;
  std::deque<graft_attr> attrs;
  std::deque<graft_port> ports;
  std::deque<graft_rule> rules;
  std::deque<ImportRule> imports;
  std::deque<std::vector<graft_named_value>> conditions;
  std::deque<graft_kernel> kernels;
  std::deque<graft_source_kernel> source_kernels;
  std::vector<const graft_attr*> attr_pointers;
  std::vector<const graft_port*> inputs, outputs;
  std::vector<const graft_op*> ops;
  std::vector<const graft_kernel*> kernel_pointers;
  std::vector<const graft_source_kernel*> source_kernel_pointers;
  std::vector<const graft_rule*> rule_pointers;
  std::vector<const graft_pass*> passes;
  std::vector<const graft_raw_pass*> raw_passes;
  graft_op op{};
  graft_extension extension{};

  // The record of the extension, once all lists are complete.
  void seal(std::string name) {
    graft_extension& e = extension;
    e.size = sizeof e;
    e.abi_version = GRAFT_ABI_VERSION;
    e.name = keep(std::move(name)), e.version = keep(std::string("1"));
    e.ops = ops.data(), e.op_count = ops.size();
    e.kernels = kernel_pointers.data(), e.kernel_count = kernel_pointers.size();
    e.rules = rule_pointers.data(), e.rule_count = rule_pointers.size();
    e.passes = passes.data(), e.pass_count = passes.size();
    e.raw_passes = raw_passes.data(), e.raw_pass_count = raw_passes.size();
    e.source_kernels = source_kernel_pointers.data(), e.source_kernel_count = source_kernel_pointers.size();
  }

  graft_str keep(std::string s) { return str(texts.emplace_back(std::move(s))); }
  graft_str keep(py::handle s) { return keep(py::cast<std::string>(s)); }
};

PyObject* spec_of(const Record& record) { return record.spec; }

// ---- values ----

namespace {
py::object list_of(const graft_value& v) {
  py::list out;
  for (size_t i = 0; i < v.count; ++i) {
    if (v.kind == GRAFT_INTS) out.append(static_cast<const int64_t*>(v.items)[i]);
    if (v.kind == GRAFT_FLOATS) out.append(static_cast<const double*>(v.items)[i]);
    if (v.kind == GRAFT_TEXTS) out.append(std::string(view(static_cast<const graft_str*>(v.items)[i])));
    if (v.kind == GRAFT_DTYPES)
      out.append(std::string(name_of(static_cast<DType>(static_cast<const graft_type*>(v.items)[i]))));
  }
  return out;
}
py::object shape_list(const graft_shape& s) {
  if (s.rank < 0) return py::none();
  py::list out;
  for (int32_t i = 0; i < s.rank; ++i)
    out.append(s.dims[i].min == s.dims[i].max ? py::object(py::int_(s.dims[i].min)) : py::object(py::none()));
  return out;
}
// A view of a tensor of the host, valid as long as that is.
py::object view_of(const graft_tensor& t) {
  auto type = static_cast<DType>(t.type);
  if (type == DType::string) return text_array(t);
  DType shown = numpy_type(type);
  if (shown == type) {
    py::object array = array_of(type, t.dims, static_cast<size_t>(t.rank), t.data, {});
    fields(array.ptr())->flags &= ~array_writeable;
    return array;
  }
  Tensor converted = Tensor::wrap(type, {t.dims, t.dims + t.rank}, t.data).to(shown);
  return array_of(converted);
}
}  // namespace

py::object value_object(const graft_value& v) {
  switch (v.kind) {
    case GRAFT_BOOL: return py::bool_(v.i != 0);
    case GRAFT_INT: return py::int_(v.i);
    case GRAFT_FLOAT: return py::float_(v.f);
    case GRAFT_TEXT: return str_object(view(v.s));
    case GRAFT_DTYPE: return py::str(std::string(name_of(static_cast<DType>(v.i))));
    case GRAFT_SHAPE: return shape_list(v.shape);
    case GRAFT_TENSOR: return view_of(*v.tensor).attr("copy")();
    case GRAFT_INTS:
    case GRAFT_FLOATS:
    case GRAFT_TEXTS:
    case GRAFT_DTYPES: return list_of(v);
    default: return py::none();
  }
}

py::object attribute_object(const Attribute& value) {
  std::vector<graft_str> texts;
  std::vector<graft_type> types;
  return value_object(value.raw(texts, types));
}

namespace {
AttrValue attr_value(py::handle v, graft_kind kind) {
  switch (kind) {
    case GRAFT_BOOL: return py::cast<bool>(v);
    case GRAFT_INT: return py::cast<int64_t>(v);
    case GRAFT_FLOAT: return py::cast<double>(v);
    case GRAFT_TEXT: return py::cast<std::string>(v);
    case GRAFT_DTYPE: return parse_type(v);
    case GRAFT_INTS: return py::cast<std::vector<int64_t>>(v);
    case GRAFT_FLOATS: return py::cast<std::vector<double>>(v);
    case GRAFT_TEXTS: return py::cast<std::vector<std::string>>(v);
    default: throw Error(ErrorKind::user, "an attribute of this kind cannot have a default");
  }
}
// The value of a condition, by its own type.
AttrValue attr_value(py::handle v) {
  if (py::isinstance<py::bool_>(v)) return py::cast<bool>(v);
  if (py::isinstance<py::int_>(v)) return py::cast<int64_t>(v);
  if (py::isinstance<py::float_>(v)) return py::cast<double>(v);
  if (py::isinstance<py::str>(v)) return py::cast<std::string>(v);
  return py::cast<std::vector<int64_t>>(v);
}
}  // namespace

// ---- failures ----

namespace {
bool full_tracebacks = false;

// "my_ops.py:12, in forward" of the innermost frame outside this package.
std::string raised_at(py::handle exception) {
  static const std::string package = [] {
    auto file = py::cast<std::string>(py::module_::import("graft").attr("__file__"));
    return file.substr(0, file.rfind('/') + 1);
  }();
  std::string where, inside;
  for (py::object tb = exception.attr("__traceback__"); !tb.is_none(); tb = tb.attr("tb_next")) {
    py::object code = tb.attr("tb_frame").attr("f_code");
    auto file = py::cast<std::string>(code.attr("co_filename"));
    (file.starts_with(package) ? inside : where) =
        text(file, ":", py::cast<int64_t>(tb.attr("tb_lineno")), ", in ", py::cast<std::string>(code.attr("co_name")));
  }
  return where.empty() ? inside : where;
}
}  // namespace

void set_full_tracebacks(bool on) { full_tracebacks = on; }

void fail_from_python(std::string_view doing) {
  py::error_already_set error;
  py::object exception = py::reinterpret_borrow<py::object>(error.value());
  if (error.trace()) PyException_SetTraceback(exception.ptr(), error.trace().ptr());
  std::string message, hint;
  try {
    auto type = py::cast<std::string>(py::type::of(exception).attr("__name__"));
    auto what = printed(exception);
    // What the package itself says about a wrong result needs no type.
    bool own = py::hasattr(exception, "_graft_plain");
    if (py::hasattr(exception, "_graft_declined")) throw Failure{GRAFT_UNSUPPORTED, what, {}};
    message = own ? what : text(doing, ": ", type, what.empty() ? "" : ": ", what);
    // An error of the toolkit that the function did not handle.
    if (py::isinstance(exception, py::module_::import("graft.errors").attr("Error"))) {
      message = text(doing, ": ", printed(exception.attr("message")));
      hint = printed(exception.attr("hint"));
    }
    if (std::string where = raised_at(exception); !own && !where.empty()) message += text(" (", where, ")");
    if (full_tracebacks && !own) {
      py::object lines = py::module_::import("traceback").attr("format_tb")(exception.attr("__traceback__"));
      for (py::handle line : lines) message += "\n" + std::string(trim(py::cast<std::string>(line)));
    }
  } catch (py::error_already_set&) {
    message = text(doing, ": an exception that cannot be printed");
  }
  remember_cause(message, exception);
  throw Failure{GRAFT_USER, message, hint};
}

// ---- nodes ----

py::dict node_attributes(const graft_node* node, const Record& record) {
  py::dict out;
  for (const graft_attr& a : record.attrs) {
    const graft_value* v = host->attribute(node, a.name);
    out[str_object(view(a.name))] = v ? value_object(*v) : py::none();
  }
  return out;
}

py::list node_inputs(graft_node* node) {
  py::list out;
  for (size_t i = 0; i < host->input_count(node); ++i) {
    graft_info info;
    if (!host->input(node, i, &info)) {
      out.append(py::none());
      continue;
    }
    const graft_tensor* constant = host->constant(node, i);
    out.append(py::make_tuple(std::string(name_of(static_cast<DType>(info.type))), shape_list(info.shape),
                              constant ? view_of(*constant) : py::object(py::none())));
  }
  return out;
}

namespace {

void infer_elementwise(graft_node* node, const Record& record) {
  Infer ctx(node);
  DType type = common_type(ctx);
  ctx.output(0, record.boolean ? DType::boolean : type, detail::broadcast_inputs(ctx, NoAttributes{}));
}

Dim inferred_dim(py::handle d) {
  if (d.is_none()) return Dim();
  if (py::isinstance<py::tuple>(d)) {
    auto [low, high] = py::cast<std::pair<int64_t, std::optional<int64_t>>>(d);
    return Dim::between(low, high.value_or(INT64_MAX));
  }
  auto n = py::cast<int64_t>(d);
  if (n < 0) fail("expected dimensions of at least 0 from the shape function, got ", n);
  return n;
}

void infer_in_python(graft_node* node, const Record& record) {
  Infer ctx(node);
  py::gil_scoped_acquire gil;
  calling("the shape function", [&] {
    py::object results =
        py::handle(record.spec).attr("infer")(node_attributes(node, record), node_inputs(node), str_object(ctx.name()));
    size_t i = 0;
    for (py::handle result : results) {
      auto [type, shape] = py::cast<std::pair<py::object, py::object>>(result);
      std::vector<Dim> dims;
      if (!shape.is_none())
        for (py::handle d : shape) dims.push_back(inferred_dim(d));
      ctx.output(i++, parse_type(type), shape.is_none() ? Shape::unknown() : Shape(std::move(dims)));
    }
  });
}

graft_status infer(graft_node* node, void* user) {
  return guarded([&] {
    const Record& record = *static_cast<Record*>(user);
    if (record.elementwise) infer_elementwise(node, record);
    else infer_in_python(node, record);
  });
}

// ---- import ----

std::vector<graft_ref> add_node(Builder& layer, const Record& record, const std::vector<graft_ref>& inputs,
                                const std::vector<graft_named_value>& attrs, size_t outputs) {
  graft_new_node node{};
  node.size = sizeof node;
  node.op = record.op.name, node.opset = record.op.opset;
  node.inputs = inputs.data(), node.input_count = inputs.size();
  node.attrs = attrs.data(), node.attr_count = attrs.size();
  std::vector<graft_ref> out(outputs);
  check(host->add_node(layer.raw(), &node, out.data(), out.size()));
  for (size_t i = 0; i < out.size(); ++i) check(host->set_layer_output(layer.raw(), i, out[i]));
  return out;
}

std::string_view last_part(std::string_view path) {
  size_t dot = path.rfind('.');
  return dot == path.npos ? path : path.substr(dot + 1);
}

// In Caffe, fields are in a message of the layer, whose name the definition need not know: `twist_param.gain`.
std::map<std::string, graft_value> caffe_fields(Builder& layer, const Record& record, const ImportRule& rule) {
  std::map<std::string, graft_value> out;
  for (const graft_named_value& f : layer.fields()) {
    std::string name(last_part(view(f.name)));
    for (const auto& [ours, path] : rule.paths)
      if (path == view(f.name)) name = ours;
    bool known = std::any_of(record.attrs.begin(), record.attrs.end(),
                             [&](const graft_attr& a) { return view(a.name) == name; });
    if (known) out[name] = f.value;
    else
      log(LogLevel::warning, text("layer '", layer.name(), "' (", layer.type(), "): field '", view(f.name),
                                  "' is not an attribute of ", view(record.op.name)));
  }
  return out;
}

void import_op(Builder& layer, const ImportRule& rule) {
  const Record& record = *rule.record;
  std::vector<graft_named_value> attrs;
  std::map<std::string, graft_value> listed;
  bool caffe = layer.framework() == "caffe";
  if (caffe) listed = caffe_fields(layer, record, rule);
  for (const graft_attr& a : record.attrs) {
    std::string name(view(a.name));
    const graft_value* v = nullptr;
    if (auto it = listed.find(name); it != listed.end()) v = &it->second;
    else if (!caffe) {
      auto path = rule.paths.find(name);
      v = layer.field(path == rule.paths.end() ? name : path->second);
    }
    if (v && (v->kind == GRAFT_GRAPH || v->kind == GRAFT_TENSORS))
      unsupported("attribute '", name, "' has a value that Python operations cannot take");
    if (v) attrs.push_back({a.name, *v});
  }
  std::vector<graft_ref> inputs;
  for (size_t i = 0; i < layer.inputs(); ++i) inputs.push_back(host->layer_input(layer.raw(), i));
  bool variadic = !record.outputs.empty() && record.outputs.back()->flags & GRAFT_PORT_VARIADIC;
  add_node(layer, record, inputs, attrs, variadic ? layer.outputs() : std::min(layer.outputs(), record.outputs.size()));
}

graft_status expand(graft_builder* im, void* user) {
  return guarded([&] {
    Builder layer(im);
    const ImportRule& rule = *static_cast<ImportRule*>(user);
    if (rule.record->layer) import_layer(layer, layer.framework(), view(rule.record->op.name));
    else import_op(layer, rule);
  });
}

// ---- records ----

void add_attrs(Record& r, const py::list& attrs) {
  for (py::handle h : attrs) {
    auto d = py::cast<py::dict>(h);
    graft_attr a{};
    a.size = sizeof a;
    a.kind = py::cast<graft_kind>(d["kind"]);
    a.flags = py::cast<uint32_t>(d["flags"]);
    a.name = r.keep(d["name"]), a.doc = r.keep(d["doc"]);
    a.min = py::cast<double>(d["min"]), a.max = py::cast<double>(d["max"]);
    auto& words = r.words.emplace_back();
    for (py::handle w : py::cast<py::list>(d["allowed"])) words.push_back(r.keep(w));
    if (!words.empty()) a.allowed = words.data(), a.allowed_count = words.size();
    if (!(a.flags & (GRAFT_ATTR_REQUIRED | GRAFT_ATTR_OPTIONAL)))
      a.fallback = r.values.emplace_back(attr_value(d["default"], a.kind)).raw();
    r.attr_pointers.push_back(&r.attrs.emplace_back(a));
  }
}

void add_ports(Record& r, const py::list& ports, std::vector<const graft_port*>& pointers) {
  for (py::handle h : ports) {
    auto [name, flags] = py::cast<std::pair<std::string, uint32_t>>(h);
    pointers.push_back(&r.ports.emplace_back(graft_port{sizeof(graft_port), flags, r.keep(name), {}}));
  }
}

void add_rules(Record& r, const py::list& rules) {
  for (py::handle h : rules) {
    auto d = py::cast<py::dict>(h);
    ImportRule& import = r.imports.emplace_back();
    import.record = &r;
    import.framework = py::cast<std::string>(d["framework"]);
    import.paths = py::cast<std::map<std::string, std::string>>(d["attrs"]);
    graft_rule rule{};
    rule.size = sizeof rule;
    rule.framework = str(import.framework);
    rule.domain = r.keep(d["domain"]), rule.type = r.keep(d["type"]);
    rule.since = py::cast<int64_t>(d["since"]);
    rule.until = d["until"].is_none() ? INT64_MAX : py::cast<int64_t>(d["until"]);
    rule.op = r.op.name, rule.opset = r.op.opset;
    auto& conditions = r.conditions.emplace_back();
    for (auto [path, value] : py::cast<py::dict>(d["when"]))
      conditions.push_back({r.keep(path), r.values.emplace_back(attr_value(value)).raw()});
    rule.conditions = conditions.data(), rule.condition_count = conditions.size();
    rule.user = &import;
    rule.expand = expand;
    r.rule_pointers.push_back(&r.rules.emplace_back(rule));
  }
}

void add_kernel(Record& r, const char* device, const char* name, decltype(graft_kernel::prepare) prepare,
                decltype(graft_kernel::run) run, decltype(graft_kernel::release) release) {
  graft_kernel k{};
  k.size = sizeof k;
  k.op = r.op.name, k.opset = r.op.opset;
  k.device = str(device), k.name = str(name);
  k.user = &r;
  k.prepare = prepare, k.run = run, k.release = release;
  r.kernel_pointers.push_back(&r.kernels.emplace_back(k));
}

// What runs on devices that compile sources.
void add_formula(Record& r) {
  graft_source_kernel k{};
  k.size = sizeof k;
  k.op = r.op.name, k.opset = r.op.opset;
  k.device = str("GPU"), k.name = str("formula");
  k.user = &r;
  k.emit = traced_emit;
  r.source_kernel_pointers.push_back(&r.source_kernels.emplace_back(k));
}

}  // namespace

Definition::Definition(py::object spec) : record_(new Record) {
  Record& r = *record_;  // never destroyed: models may use it until the process ends
  py::object s = spec;
  r.spec = spec.release().ptr();
  r.layer = py::cast<bool>(s.attr("layer"));
  r.elementwise = py::cast<bool>(s.attr("elementwise"));
  r.boolean = py::cast<bool>(s.attr("boolean"));
  r.op.size = sizeof r.op;
  r.op.flags = py::cast<uint32_t>(s.attr("flags"));
  r.op.name = r.keep(s.attr("name")), r.op.opset = r.keep(s.attr("opset")), r.op.doc = r.keep(s.attr("doc"));
  add_attrs(r, s.attr("attrs"));
  add_ports(r, s.attr("inputs"), r.inputs);
  add_ports(r, s.attr("outputs"), r.outputs);
  add_rules(r, s.attr("rules"));
  if (py::cast<bool>(s.attr("traceable"))) {
    add_kernel(r, "CPU", "traced", traced_prepare, traced_run, traced_release);
    add_formula(r);
  }
  add_kernel(r, "REFERENCE", "python", python_prepare, python_run, python_release);
  r.op.attrs = r.attr_pointers.data(), r.op.attr_count = r.attr_pointers.size();
  r.op.inputs = r.inputs.data(), r.op.input_count = r.inputs.size();
  r.op.outputs = r.outputs.data(), r.op.output_count = r.outputs.size();
  r.op.user = &r;
  r.op.infer = infer;
  r.ops = {&r.op};
  r.seal(py::cast<std::string>(s.attr("origin")));
}

Definition::Definition(const std::string& origin, Parts parts) : record_(new Record) {
  record_->rule_pointers = std::move(parts.rules);
  record_->passes = std::move(parts.passes);
  record_->raw_passes = std::move(parts.raw_passes);
  record_->seal(origin);
}

Core::Entry Definition::entry() const {
  return [record = record_](const graft_host* h) -> const graft_extension* {
    set_host(h);
    return &record->extension;
  };
}

const graft_extension* combined(const std::string& name, const std::vector<const Definition*>& parts) {
  auto* r = new Record;  // never destroyed
  for (const Definition* part : parts) {
    const Record& p = part->record();
    r->ops.insert(r->ops.end(), p.ops.begin(), p.ops.end());
    r->kernel_pointers.insert(r->kernel_pointers.end(), p.kernel_pointers.begin(), p.kernel_pointers.end());
    r->source_kernel_pointers.insert(r->source_kernel_pointers.end(), p.source_kernel_pointers.begin(),
                                     p.source_kernel_pointers.end());
    r->rule_pointers.insert(r->rule_pointers.end(), p.rule_pointers.begin(), p.rule_pointers.end());
    r->passes.insert(r->passes.end(), p.passes.begin(), p.passes.end());
    r->raw_passes.insert(r->raw_passes.end(), p.raw_passes.begin(), p.raw_passes.end());
  }
  r->seal(name);
  return &r->extension;
}

void bind_definitions(py::module_& m) {
  py::class_<Definition>(m, "Definition").def(py::init<py::object>());
  m.def("set_full_tracebacks", &set_full_tracebacks);
  // For the bridge of the program: addresses of the host's table and of the extension's record.
  m.def("set_host", [](uintptr_t address) { set_host(reinterpret_cast<const graft_host*>(address)); });
  m.def("combined", [](const std::string& name, const std::vector<const Definition*>& parts) {
    return reinterpret_cast<uintptr_t>(combined(name, parts));
  });
}

}  // namespace graft::python
