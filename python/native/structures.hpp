// Sequences, optionals and maps of ONNX as lists, None and dictionaries.
#pragma once

#include <graft/toolkit.hpp>

#include "arrays.hpp"

namespace graft::python {

// Whether an input or output is something other than one tensor.
bool is_structured(const std::vector<Group>& groups);

// The value of an input: a list is a sequence, None an empty optional, a dictionary a map, all else a tensor. `group`
// tells the element types; null: not known.
Datum datum_from(py::handle value, const Group* group, const std::vector<Port>& ports, const std::string& what);
py::object object_of(const Datum& datum);

py::list group_dicts(const std::vector<Group>& groups, const std::vector<Port>& ports);

}  // namespace graft::python
