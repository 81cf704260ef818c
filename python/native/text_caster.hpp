// Strings between Python and the library, which has names in the bytes of the model's file. Bytes that are not UTF-8
// are lone surrogates in Python and become the same bytes again, as Python itself does with names of files (PEP 383).
#pragma once

#define PY_SSIZE_T_CLEAN
#include <pybind11/pybind11.h>

#include <graft/error.hpp>
#include <string>
#include <string_view>

namespace graft::python {

inline pybind11::object str_object(std::string_view s) {
  PyObject* text = PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "surrogateescape");
  if (!text) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::object>(text);
}

// The bytes of a str. Fails if it has surrogates that stand for no byte.
inline std::string bytes_of(pybind11::handle text) {
  Py_ssize_t size = 0;
  if (const char* s = PyUnicode_AsUTF8AndSize(text.ptr(), &size)) return std::string(s, static_cast<size_t>(size));
  PyErr_Clear();
  auto bytes =
      pybind11::reinterpret_steal<pybind11::object>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape"));
  if (!bytes) {
    PyErr_Clear();
    throw Error(ErrorKind::user, "expected text, got a str with surrogates that stand for no byte");
  }
  return std::string(PyBytes_AS_STRING(bytes.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr())));
}

// What an object prints as, for a message: a class, an element type, an exception. Surrogates become \udcff.
inline std::string printed(pybind11::handle object) {
  auto text = pybind11::reinterpret_steal<pybind11::object>(PyObject_Str(object.ptr()));
  if (!text) throw pybind11::error_already_set();
  auto bytes =
      pybind11::reinterpret_steal<pybind11::object>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
  if (!bytes) throw pybind11::error_already_set();
  return std::string(PyBytes_AS_STRING(bytes.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr())));
}

}  // namespace graft::python

namespace pybind11::detail {

template <>
struct type_caster<std::string> {
  PYBIND11_TYPE_CASTER(std::string, const_name("str"));

  bool load(handle source, bool) {
    if (!source) return false;
    if (PyUnicode_Check(source.ptr())) {
      value = graft::python::bytes_of(source);
      return true;
    }
    if (PyBytes_Check(source.ptr())) {
      value.assign(PyBytes_AS_STRING(source.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(source.ptr())));
      return true;
    }
    return false;
  }
  static handle cast(const std::string& s, return_value_policy, handle) {
    return graft::python::str_object(s).release();
  }
};

}  // namespace pybind11::detail
