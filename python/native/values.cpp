#include "values.hpp"

#include <pybind11/stl.h>

namespace graft::python {
namespace {

[[noreturn]] void refuse(const std::string& what, py::handle value) {
  throw py::type_error(text(what,
                            ": expected a number, a string, a boolean, a type, an array or a list of one kind, got ",
                            py::cast<std::string>(py::type::of(value).attr("__name__"))));
}

PyObject* numpy_class(const char* name) {
  py::object found = py::module_::import("numpy").attr(name);
  return found.release().ptr();
}
bool is_numpy_scalar(py::handle v) {
  static PyObject* generic = numpy_class("generic");
  return PyObject_IsInstance(v.ptr(), generic) == 1;
}
bool is_type(py::handle v) {
  static PyObject *dtype = numpy_class("dtype"), *generic = numpy_class("generic");
  if (PyObject_IsInstance(v.ptr(), dtype) == 1) return true;
  return PyType_Check(v.ptr()) && PyObject_IsSubclass(v.ptr(), generic) == 1;
}
// NumPy's scalars as numbers and strings of Python.
py::object plain(py::handle v) { return is_numpy_scalar(v) ? v.attr("item")() : py::reinterpret_borrow<py::object>(v); }

int64_t integer(py::handle v, const std::string& what) {
  int overflow = 0;
  long long n = PyLong_AsLongLongAndOverflow(v.ptr(), &overflow);
  if (overflow) throw py::value_error(text(what, ": the integer does not fit into 64 bits"));
  if (n == -1 && PyErr_Occurred()) throw py::error_already_set();
  return n;
}

template <class T>
py::object list_object(const graft_value& v, T&& one) {
  py::list out;
  for (size_t i = 0; i < v.count; ++i) out.append(one(i));
  return out;
}

}  // namespace

// ---- to Python ----

py::object tensor_object(const graft_tensor& t, const std::function<void*(const graft_tensor*)>& keep) {
  auto type = static_cast<DType>(t.type);
  if (type == DType::string) return text_array(t);
  DType shown = numpy_type(type);
  if (shown != type) return array_of(Tensor::wrap(type, {t.dims, t.dims + t.rank}, t.data).to(shown));
  void* kept = keep ? keep(&t) : nullptr;
  if (!kept) return array_of(type, t.dims, static_cast<size_t>(t.rank), t.data, {}).attr("copy")();
  py::capsule owner(kept, [](void* p) { host->raw->release_tensor(p); });
  py::object array = array_of(type, t.dims, static_cast<size_t>(t.rank), t.data, owner);
  fields(array.ptr())->flags &= ~array_writeable;
  return array;
}

py::object type_object(DType type) {
  if (type == DType::undefined) return py::none();
  PyObject* descr = numpy().descr[static_cast<size_t>(type)];
  if (descr) return py::reinterpret_borrow<py::object>(descr);
  return py::str(std::string(name_of(type)));
}

py::object shape_object(const graft_shape& s) {
  if (s.rank < 0) return py::none();
  py::tuple out(static_cast<size_t>(s.rank));
  for (int32_t i = 0; i < s.rank; ++i)
    out[static_cast<size_t>(i)] =
        s.dims[i].min == s.dims[i].max ? py::object(py::int_(s.dims[i].min)) : py::object(py::none());
  return out;
}

py::object text_object(graft_str s) {
  PyObject* text = PyUnicode_DecodeUTF8(s.data, static_cast<Py_ssize_t>(s.size), nullptr);
  if (text) return py::reinterpret_steal<py::object>(text);
  PyErr_Clear();
  return py::bytes(s.data, s.size);
}

py::object field_object(const graft_value& v, const std::function<void*(const graft_tensor*)>& keep) {
  switch (v.kind) {
    case GRAFT_BOOL: return py::bool_(v.i != 0);
    case GRAFT_INT: return py::int_(v.i);
    case GRAFT_FLOAT: return py::float_(v.f);
    case GRAFT_TEXT: return text_object(v.s);
    case GRAFT_DTYPE: return type_object(static_cast<DType>(v.i));
    case GRAFT_SHAPE: return shape_object(v.shape);
    case GRAFT_TENSOR: return tensor_object(*v.tensor, keep);
    case GRAFT_INTS: return list_object(v, [&](size_t i) { return static_cast<const int64_t*>(v.items)[i]; });
    case GRAFT_FLOATS: return list_object(v, [&](size_t i) { return static_cast<const double*>(v.items)[i]; });
    case GRAFT_TEXTS:
      return list_object(v, [&](size_t i) { return text_object(static_cast<const graft_str*>(v.items)[i]); });
    case GRAFT_DTYPES:
      return list_object(
          v, [&](size_t i) { return type_object(static_cast<DType>(static_cast<const graft_type*>(v.items)[i])); });
    case GRAFT_TENSORS:
      return list_object(
          v, [&](size_t i) { return tensor_object(*static_cast<const graft_tensor* const*>(v.items)[i], keep); });
    default: return py::none();
  }
}

// ---- from Python ----

ValueFromPython::ValueFromPython(py::handle given, const std::string& what, bool lists) {
  if (given.is_none()) return;
  py::object value = plain(given);
  if (numpy().is_array(given.ptr())) set_array(given, what, lists);
  else if (py::isinstance<py::bool_>(value)) value_.emplace(py::cast<bool>(value));
  else if (PyLong_Check(value.ptr())) value_.emplace(integer(value, what));
  else if (PyFloat_Check(value.ptr())) value_.emplace(PyFloat_AsDouble(value.ptr()));
  else if (py::isinstance<py::str>(value) || PyBytes_Check(value.ptr())) value_.emplace(py::cast<std::string>(value));
  else if (is_type(value)) value_.emplace(parse_type(value));
  else if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value)) set_list(value, what);
  else refuse(what, given);
}

void ValueFromPython::set_array(py::handle array, const std::string& what, bool lists) {
  if (lists && fields(array.ptr())->nd == 0) {
    *this = ValueFromPython(array.attr("item")(), what, lists);
    return;
  }
  if (lists && fields(array.ptr())->nd == 1) {
    set_list(array.attr("tolist")(), what);
    return;
  }
  tensor_ = tensor_from(array, DType::undefined, what);
  value_.emplace(TensorView(tensor_.raw()));
}

void ValueFromPython::set_list(const py::sequence& items, const std::string& what) {
  size_t whole = 0, numbers = 0, texts = 0, types = 0, unknown = 0, count = 0;
  std::vector<py::object> all;
  for (py::handle h : items) {
    py::object i = plain(h);
    ++count;
    if (PyLong_Check(i.ptr())) ++whole;  // booleans included
    else if (PyFloat_Check(i.ptr())) ++numbers;
    else if (py::isinstance<py::str>(i) || PyBytes_Check(i.ptr())) ++texts;
    else if (i.is_none()) ++unknown;
    else if (is_type(i)) ++types;
    all.push_back(std::move(i));
  }
  auto each = [&]<class T>(std::vector<T> out, auto&& one) {
    for (const py::object& i : all) out.push_back(one(i));
    value_.emplace(std::move(out));
  };
  if (whole == count) each(std::vector<int64_t>(), [&](const py::object& i) { return integer(i, what); });
  else if (whole + numbers == count)
    each(std::vector<double>(), [](const py::object& i) { return py::cast<double>(i); });
  else if (texts == count)
    each(std::vector<std::string>(), [](const py::object& i) { return py::cast<std::string>(i); });
  else if (types == count) each(std::vector<DType>(), [](const py::object& i) { return parse_type(i); });
  else if (whole + unknown == count) value_.emplace(shape_from(items));
  else
    throw py::type_error(text(what,
                              ": expected a list of numbers, of strings or of types, got a list of other or "
                              "mixed kinds"));
}

AttributesFromPython::AttributesFromPython(const py::dict& attributes, const std::string& of) {
  for (auto [key, value] : attributes) {
    if (value.is_none()) continue;
    const std::string& name = names_.emplace_back(py::cast<std::string>(py::str(key)));
    values_.emplace_back(value, text("attribute '", name, "' of ", of), true);
  }
  for (size_t i = 0; i < names_.size(); ++i) raw_.push_back({str(names_[i]), values_[i].raw()});
}

Shape shape_from(py::handle shape) {
  if (shape.is_none()) return Shape::unknown();
  std::vector<Dim> dims;
  for (py::handle h : shape) {
    py::object d = plain(h);
    if (d.is_none()) {
      dims.emplace_back();
    } else if (py::isinstance<py::tuple>(d)) {
      auto [low, high] = py::cast<std::pair<int64_t, std::optional<int64_t>>>(d);
      dims.push_back(Dim::between(low, high.value_or(INT64_MAX)));
    } else {
      int64_t n = integer(d, "a dimension");
      if (n < -1) throw py::value_error(text("expected dimensions of at least 0, or -1 if unknown, got ", n));
      dims.push_back(n < 0 ? Dim() : Dim(n));
    }
  }
  return Shape(std::move(dims));
}

std::vector<Info> infos_from(py::handle outputs) {
  std::vector<Info> out;
  if (outputs.is_none()) return out;
  for (py::handle o : outputs) {
    py::object type, shape;
    if (py::isinstance<py::tuple>(o) && py::len(o) == 2) {
      auto pair = py::cast<std::pair<py::object, py::object>>(o);
      type = pair.first, shape = pair.second;
    } else if (py::hasattr(o, "dtype") && py::hasattr(o, "shape")) {
      type = o.attr("dtype"), shape = o.attr("shape");
    } else {
      throw py::type_error("expected a pair of element type and shape for each output");
    }
    out.push_back({type.is_none() ? DType::undefined : parse_type(type), shape_from(shape)});
  }
  return out;
}

// ---- calls of the host ----

void succeed(graft_status status) {
  if (status == GRAFT_OK) return;
  graft_str message{}, hint{};
  host->last_failure(&message, &hint);
  throw Error(static_cast<ErrorKind>(status), std::string(view(message)), std::string(view(hint)));
}

}  // namespace graft::python
