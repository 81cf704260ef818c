// Arrays of NumPy and of others (DLPack) as tensors, and tensors as arrays, without copies.
//
// NumPy's headers are not used, so that one build works with NumPy 1 and 2: arrays are made by calling numpy.ndarray,
// and the few fields that the path of a call reads have kept their places since NumPy 1.7. All functions need the GIL.
#pragma once

#include <graft/app/memory.hpp>
#include <memory>

#include "text_caster.hpp"

namespace graft::python {

namespace py = pybind11;

// The beginning of NumPy's array object.
struct ArrayFields {
  PyObject ob_base;
  char* data;
  int nd;
  intptr_t* dimensions;
  intptr_t* strides;
  PyObject* base;
  PyObject* descr;
  int flags;
};
enum : int { array_c_contiguous = 0x1, array_aligned = 0x100, array_writeable = 0x400 };
inline ArrayFields* fields(PyObject* array) { return reinterpret_cast<ArrayFields*>(array); }

// What is looked up once: NumPy's array type and the element types.
struct Numpy {
  PyObject* array_type = nullptr;
  PyObject* descr[32] = {};  // by DType; null: NumPy has no such type
  PyObject* as_array = nullptr;
  PyObject* c_contiguous = nullptr;

  bool is_array(PyObject* o) const { return PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(array_type)); }
};
const Numpy& numpy();

// The element type of a NumPy type; undefined: none.
DType type_of_descr(PyObject* descr);
// The type that values of an element type have in NumPy: the type itself, or the next wider one that NumPy has, as in
// .npy files: f32 for bf16, f8 and f4, 8 bits for 4 bits and 1 bit.
DType numpy_type(DType type);

// An array that refers to memory; `owner` (may be null) is kept alive by it.
py::object array_of(DType type, const int64_t* dims, size_t rank, void* data, py::handle owner);
// The values of a tensor: its own memory, kept alive by the array, where NumPy has the type; otherwise converted.
// Strings become an array of str objects.
py::object array_of(const Tensor& tensor);
py::object text_array(const graft_tensor& tensor);

// A tensor that refers to the memory of `value` (a NumPy array, a Tensor, or an object with __dlpack__) and keeps it
// alive. Arrays that are not dense are copied. `expected` is used for lists and numbers of Python, which have no
// element type of their own. `what` names the value in messages.
Tensor tensor_from(py::handle value, DType expected, const std::string& what);

// Tensor as a class of the module.
void bind_tensor(py::module_& m);

DType parse_type(py::handle type);  // "f32", numpy.float32, numpy.dtype, float

// Keeps a Python object alive from C++; released with the GIL, from any thread.
std::shared_ptr<const void> keeper(py::object object);

}  // namespace graft::python
