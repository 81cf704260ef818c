#include "arrays.hpp"

#include <cstring>
#include <graft/app/attribute.hpp>
#include <graft/text.hpp>

#include "dlpack.hpp"

namespace graft::python {
namespace {

struct Named {
  DType type;
  const char* name;
};
constexpr Named named_types[] = {
    {DType::boolean, "bool"}, {DType::f64, "float64"}, {DType::f32, "float32"}, {DType::f16, "float16"},
    {DType::i64, "int64"},    {DType::i32, "int32"},   {DType::i16, "int16"},   {DType::i8, "int8"},
    {DType::u64, "uint64"},   {DType::u32, "uint32"},  {DType::u16, "uint16"},  {DType::u8, "uint8"},
};

// The object that an array keeps alive.
py::capsule capsule_of(const Tensor& t) {
  return {new Tensor(t), [](void* p) { delete static_cast<Tensor*>(p); }};
}

py::object shape_tuple(const int64_t* dims, size_t rank) {
  py::tuple out(rank);
  for (size_t i = 0; i < rank; ++i) out[i] = py::int_(dims[i]);
  return out;
}

Tensor strings_from(py::handle array) {
  std::vector<int64_t> dims;
  for (py::handle d : array.attr("shape")) dims.push_back(py::cast<int64_t>(d));
  std::vector<std::string> values;
  for (py::handle v : array.attr("ravel")().attr("tolist")()) {
    if (!py::isinstance<py::str>(v) && !py::isinstance<py::bytes>(v))
      throw Error(ErrorKind::user,
                  text("expected strings, got an object of type ", printed(py::type::of(v).attr("__name__"))));
    values.push_back(py::cast<std::string>(v));
  }
  return Tensor::strings(std::move(dims), std::move(values));
}

// ---- DLPack ----

constexpr uint8_t dl_signed = 0, dl_unsigned = 1, dl_float = 2, dl_bfloat = 4, dl_bool = 6;

DType type_of_dlpack(DLDataType t) {
  if (t.lanes != 1) return DType::undefined;
  for (const DTypeTraits& d : dtype_table) {
    if (d.bits != t.bits || is_packed(d.type)) continue;
    if (t.code == dl_signed && d.family == DTypeTraits::integer) return d.type;
    if (t.code == dl_unsigned && d.family == DTypeTraits::unsigned_integer) return d.type;
    if (t.code == dl_bool && d.type == DType::boolean) return d.type;
    if (t.code == dl_bfloat && d.type == DType::bf16) return d.type;
    if (t.code == dl_float && (d.type == DType::f16 || d.type == DType::f32 || d.type == DType::f64)) return d.type;
  }
  return DType::undefined;
}

DLDataType dlpack_type(DType t) {
  DLDataType out{dl_float, static_cast<uint8_t>(bits_of(t)), 1};
  if (t == DType::boolean) out.code = dl_bool;
  else if (t == DType::bf16) out.code = dl_bfloat;
  else if (is_signed_integer(t)) out.code = dl_signed;
  else if (is_integer(t)) out.code = dl_unsigned;
  else if (t != DType::f16 && t != DType::f32 && t != DType::f64)
    throw Error(ErrorKind::unsupported, text("DLPack has no element type ", t), "convert the tensor with to('f32')");
  if (is_packed(t)) throw Error(ErrorKind::unsupported, text("DLPack has no element type ", t));
  return out;
}

bool is_dense(const DLTensor& t) {
  if (!t.strides) return true;
  int64_t step = 1;
  for (int i = t.ndim - 1; i >= 0; --i) {
    if (t.shape[i] == 0) return true;
    if (t.shape[i] != 1 && t.strides[i] != step) return false;
    step *= t.shape[i];
  }
  return true;
}

// From an object with __dlpack__, such as a tensor of PyTorch: its memory, without a copy.
Tensor from_dlpack(py::handle value, const std::string& what) {
  py::object device = value.attr("__dlpack_device__")();
  if (py::cast<int>(py::tuple(device)[0]) != 1)
    throw Error(ErrorKind::user, text("expected memory of the CPU for ", what, ", got a tensor of another device"),
                "copy it with .cpu() first");
  py::object capsule = value.attr("__dlpack__")();
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (!managed) throw py::error_already_set();
  const DLTensor& t = managed->dl_tensor;
  DType type = type_of_dlpack(t.dtype);
  if (type == DType::undefined)
    throw Error(ErrorKind::unsupported,
                text("the element type of ", what, " (DLPack code ", static_cast<int>(t.dtype.code), ", ",
                     static_cast<int>(t.dtype.bits), " bits) is not supported"));
  if (!is_dense(t))
    throw Error(ErrorKind::user, text("expected a dense tensor for ", what, ", got one with strides"),
                "call .contiguous() on it first");
  // From here on the memory is ours to release.
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  std::shared_ptr<const void> owner(managed, [](DLManagedTensor* m) {
    if (!Py_IsInitialized()) return;
    py::gil_scoped_acquire gil;
    if (m->deleter) m->deleter(m);
  });
  return Tensor::wrap(type, {t.shape, t.shape + t.ndim}, static_cast<char*>(t.data) + t.byte_offset, owner);
}

struct Export {
  Tensor tensor;
  std::vector<int64_t> dims;
  DLManagedTensor managed{};
};

py::object to_dlpack(const Tensor& t) {
  auto* e = new Export{t, t.dims(), {}};
  DLTensor& d = e->managed.dl_tensor;
  try {
    d.dtype = dlpack_type(t.type());
  } catch (...) {
    delete e;
    throw;
  }
  d.data = t.data();
  d.device = {1, 0};
  d.ndim = static_cast<int32_t>(e->dims.size());
  d.shape = e->dims.data();
  e->managed.manager_ctx = e;
  e->managed.deleter = [](DLManagedTensor* m) { delete static_cast<Export*>(m->manager_ctx); };
  return py::reinterpret_steal<py::object>(PyCapsule_New(&e->managed, "dltensor", [](PyObject* capsule) {
    if (!PyCapsule_IsValid(capsule, "dltensor")) return;  // its consumer releases it
    auto* m = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
    m->deleter(m);
  }));
}

}  // namespace

const Numpy& numpy() {
  static const Numpy* known = [] {
    auto* n = new Numpy;
    py::module_ np = py::module_::import("numpy");
    auto held = [&](const char* name) { return py::object(np.attr(name)).release().ptr(); };
    n->array_type = held("ndarray");
    n->as_array = held("asarray");
    n->c_contiguous = held("ascontiguousarray");
    for (const Named& t : named_types) n->descr[static_cast<int>(t.type)] = np.attr("dtype")(t.name).inc_ref().ptr();
    return n;
  }();
  return *known;
}

DType type_of_descr(PyObject* descr) {
  for (const Named& t : named_types)
    if (numpy().descr[static_cast<int>(t.type)] == descr) return t.type;
  // The same type under another name (intc, longlong) or from another module (ml_dtypes).
  for (const Named& t : named_types) {
    int equal = PyObject_RichCompareBool(numpy().descr[static_cast<int>(t.type)], descr, Py_EQ);
    if (equal < 0) throw py::error_already_set();
    if (equal) return t.type;
  }
  auto name = py::cast<std::string>(py::handle(descr).attr("name"));
  if (name == "bfloat16") return DType::bf16;
  if (name == "float8_e4m3fn") return DType::f8e4m3;
  if (name == "float8_e5m2") return DType::f8e5m2;
  auto kind = py::cast<std::string>(py::handle(descr).attr("kind"));
  if (kind == "U" || kind == "S" || kind == "O" || kind == "T") return DType::string;
  return DType::undefined;
}

DType numpy_type(DType type) {
  if (type == DType::string || numpy().descr[static_cast<int>(type)]) return type;
  if (is_real(type)) return DType::f32;
  return is_signed_integer(type) ? DType::i8 : DType::u8;
}

DType parse_type(py::handle type) {
  if (type.is_none()) return DType::undefined;
  if (py::isinstance<py::str>(type)) {
    auto name = py::cast<std::string>(type);
    if (auto t = parse_dtype(name)) return *t;
  }
  DType t = type_of_descr(py::module_::import("numpy").attr("dtype")(type).ptr());
  if (t == DType::undefined) throw Error(ErrorKind::user, text("expected an element type, got ", printed(type)));
  return t;
}

std::shared_ptr<const void> keeper(py::object object) {
  return {object.release().ptr(), [](PyObject* o) {
            if (!Py_IsInitialized()) return;
            py::gil_scoped_acquire gil;
            Py_DECREF(o);
          }};
}

py::object array_of(DType type, const int64_t* dims, size_t rank, void* data, py::handle owner) {
  int64_t bytes = bits_of(type) / 8;
  for (size_t i = 0; i < rank; ++i) bytes *= dims[i];
  static char nothing[16];
  // A view of one byte at least: NumPy does not take a null pointer.
  auto memory = py::reinterpret_steal<py::object>(
      PyMemoryView_FromMemory(bytes ? static_cast<char*>(data) : nothing, bytes ? bytes : 16, PyBUF_WRITE));
  PyObject* array = PyObject_CallFunctionObjArgs(numpy().array_type, shape_tuple(dims, rank).ptr(),
                                                 numpy().descr[static_cast<int>(type)], memory.ptr(), nullptr);
  if (!array) throw py::error_already_set();
  if (owner) Py_XSETREF(fields(array)->base, py::reinterpret_borrow<py::object>(owner).release().ptr());
  return py::reinterpret_steal<py::object>(array);
}

py::object text_array(const graft_tensor& t) {
  py::module_ np = py::module_::import("numpy");
  int64_t size = 1;
  for (int i = 0; i < t.rank; ++i) size *= t.dims[i];
  py::list values;
  auto* texts = static_cast<const graft_str*>(t.data);
  for (int64_t i = 0; i < size; ++i) values.append(str_object({texts[i].data, texts[i].size}));
  py::object array = np.attr("empty")(shape_tuple(t.dims, static_cast<size_t>(t.rank)), py::str("O"));
  py::object flat = array.attr("reshape")(-1);
  flat[py::slice(0, size, 1)] = values;
  return array;
}

py::object array_of(const Tensor& tensor) {
  if (!tensor) return py::none();
  if (tensor.type() == DType::string) return text_array(*tensor.raw());
  Tensor shown = tensor.to(numpy_type(tensor.type()));
  return array_of(shown.type(), shown.dims().data(), shown.dims().size(), shown.data(), capsule_of(shown));
}

Tensor tensor_from(py::handle value, DType expected, const std::string& what) {
  if (py::isinstance<Tensor>(value)) return py::cast<Tensor>(value);
  const Numpy& np = numpy();
  py::object array = py::reinterpret_borrow<py::object>(value);
  if (!np.is_array(value.ptr())) {
    if (py::hasattr(value, "__dlpack__") && !py::hasattr(value, "dtype")) return from_dlpack(value, what);
    if (py::hasattr(value, "__dlpack__") && !py::hasattr(value, "__array_interface__")) return from_dlpack(value, what);
    bool typed = py::hasattr(value, "dtype");
    py::object as = py::reinterpret_borrow<py::object>(np.as_array);
    if (typed || expected == DType::undefined || expected == DType::string) array = as(value);
    else array = as(value, py::reinterpret_borrow<py::object>(np.descr[static_cast<int>(numpy_type(expected))]));
  }
  ArrayFields* f = fields(array.ptr());
  DType type = type_of_descr(f->descr);
  if (type == DType::undefined)
    throw Error(ErrorKind::user,
                text("the element type of ", what, ", ", printed(array.attr("dtype")), ", is not supported"));
  if (type == DType::string) return strings_from(array);
  if (!(f->flags & array_c_contiguous) || !(f->flags & array_aligned)) {
    array = py::reinterpret_borrow<py::object>(np.c_contiguous)(array);
    f = fields(array.ptr());
    // NumPy keeps a misaligned array as it is.
    if (!(f->flags & array_aligned)) array = array.attr("copy")(), f = fields(array.ptr());
  }
  std::vector<int64_t> dims(f->dimensions, f->dimensions + f->nd);
  void* data = f->data;
  return Tensor::wrap(type, std::move(dims), data, keeper(std::move(array)));
}

void bind_tensor(py::module_& m) {
  py::class_<Tensor>(m, "Tensor")
      .def(py::init([](py::object value, py::object dtype) {
             DType type = parse_type(dtype);
             Tensor t = tensor_from(value, type, "the tensor");
             // A tensor can be written; an array that cannot is copied.
             if (numpy().is_array(value.ptr()) && !(fields(value.ptr())->flags & array_writeable)) t = t.clone();
             return type == DType::undefined ? t : t.to(type);
           }),
           py::arg("value"), py::arg("dtype") = py::none())
      .def_property_readonly("shape", [](const Tensor& t) { return shape_tuple(t.dims().data(), t.dims().size()); })
      .def_property_readonly("dtype", [](const Tensor& t) { return std::string(name_of(t.type())); })
      .def_property_readonly("size", &Tensor::size)
      .def_property_readonly("nbytes", &Tensor::bytes)
      .def_property_readonly("pointer", [](const Tensor& t) { return reinterpret_cast<uintptr_t>(t.data()); })
      .def_property_readonly("data", [](const Tensor& t) { return array_of(t); })
      .def("numpy", [](const Tensor& t) { return array_of(t); })
      .def(
          "to", [](const Tensor& t, py::object dtype) { return t.to(parse_type(dtype)); }, py::arg("dtype"))
      .def("clone", &Tensor::clone, py::call_guard<py::gil_scoped_release>())
      .def(
          "__array__",
          [](const Tensor& t, py::object dtype, py::object copy) {
            py::object a = array_of(t);
            if (!dtype.is_none()) a = a.attr("astype")(dtype, py::arg("copy") = false);
            return !copy.is_none() && py::cast<bool>(copy) ? py::object(a.attr("copy")()) : a;
          },
          py::arg("dtype") = py::none(), py::arg("copy") = py::none())
      .def("__dlpack__", [](const Tensor& t, const py::kwargs&) { return to_dlpack(t); })
      .def("__dlpack_device__", [](const Tensor&) { return py::make_tuple(1, 0); })
      .def("__len__", [](const Tensor& t) { return t.dims().empty() ? size_t{0} : static_cast<size_t>(t.dims()[0]); })
      .def("__repr__", [](const Tensor& t) { return "graft.Tensor(" + print(t, 16) + ")"; });
}

}  // namespace graft::python
