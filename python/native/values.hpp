// Values of fields and attributes between Python and the C border.
#pragma once

#include <deque>
#include <graft/builder.hpp>
#include <graft/error.hpp>

#include "arrays.hpp"

namespace graft::python {

// ---- to Python ----

// A tensor of the host; `keep` makes a reference to its memory (null: the array is a copy).
py::object tensor_object(const graft_tensor& tensor, const std::function<void*(const graft_tensor*)>& keep = {});
// A NumPy type, or the name of a type that NumPy lacks; None if it is unknown.
py::object type_object(DType type);
// A tuple, with None for unknown dimensions; None if the rank is unknown.
py::object shape_object(const graft_shape& shape);
// A string, or bytes if it is not UTF-8.
py::object text_object(graft_str text);
// int, float, bool, str or bytes, a list of them, an array, or a type. Sub-graphs are not converted: None.
py::object field_object(const graft_value& value, const std::function<void*(const graft_tensor*)>& keep = {});

// ---- from Python ----

// A value in the form of the border; refers to this object.
class ValueFromPython {
 public:
  // `what` names the value in messages. Arrays are tensors, or, if `lists` is set and they have at most one dimension,
  // lists.
  ValueFromPython(py::handle value, const std::string& what, bool lists);
  graft_value raw() const { return value_ ? value_->raw() : graft_value{}; }

 private:
  void set_list(const py::sequence& items, const std::string& what);
  void set_array(py::handle array, const std::string& what, bool lists);
  std::optional<AttrValue> value_;  // none: None
  Tensor tensor_;
};

// Attributes of a dictionary; entries that are None are left out.
class AttributesFromPython {
 public:
  AttributesFromPython(const py::dict& attributes, const std::string& of);
  const std::vector<graft_named_value>& raw() const { return raw_; }

 private:
  std::deque<std::string> names_;
  std::deque<ValueFromPython> values_;
  std::vector<graft_named_value> raw_;
};

Shape shape_from(py::handle shape);  // a sequence with None or -1 for unknown dimensions; None: unknown rank
// (type, shape) per output.
std::vector<Info> infos_from(py::handle outputs);

// ---- calls of the host ----

// Throws the reason of a host function that failed, so that Python sees it.
void succeed(graft_status status);

}  // namespace graft::python
