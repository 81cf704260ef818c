// Operations that are defined in Python: their records for the library, which calls back into Python.
#pragma once

#include <graft/app/attribute.hpp>
#include <graft/extension.hpp>
#include <graft/toolkit.hpp>

#include "arrays.hpp"

namespace graft::python {

py::object attribute_object(const Attribute& value);
py::object value_object(const graft_value& value);

struct Record;

// Definitions that belong to no operation.
struct Parts {
  std::vector<const graft_rule*> rules;
  std::vector<const graft_pass*> passes;
  std::vector<const graft_raw_pass*> raw_passes;
};

// One operation with its kernels and import rules, from a specification in Python (graft/definition.py), or rules and
// passes. The records live until the process ends, as the library requires; so does the specification.
class Definition {
 public:
  explicit Definition(py::object spec);
  // Of an extension with the name `origin`.
  Definition(const std::string& origin, Parts parts);
  Core::Entry entry() const;
  const Record& record() const { return *record_; }

 private:
  Record* record_;
};

// A record of the C border that lists several definitions, for the program that runs a Python file.
const graft_extension* combined(const std::string& name, const std::vector<const Definition*>& parts);

void bind_definitions(py::module_& m);
void bind_raw(py::module_& m);
void bind_builders(py::module_& m);

// Converts the current exception of Python to a failure: `type: message`, with the place where it was raised. The
// exception itself becomes the cause of the error that reaches Python in the end.
[[noreturn]] void fail_from_python(std::string_view doing);
// Calls into Python and converts what it raises; the GIL is held.
template <class F>
auto calling(std::string_view doing, F&& f) {
  try {
    return f();
  } catch (py::error_already_set& e) {
    e.restore();
    fail_from_python(doing);
  } catch (const py::cast_error& e) {
    fail(doing, ": ", e.what());
  } catch (const Error& e) {
    throw Failure{static_cast<graft_status>(e.kind()), e.message(), e.hint()};
  }
}
// Whether messages contain the whole traceback, because they are printed by a program without Python.
void set_full_tracebacks(bool on);

// Kernels that call Python.
graft_status python_prepare(graft_node* node, void* user, void** state);
graft_status python_run(const graft_call* call);
void python_release(void* state, void* user);
// Kernels that run the traced form of a function, without Python.
graft_status traced_prepare(graft_node* node, void* user, void** state);
graft_status traced_run(const graft_call* call);
void traced_release(void* state, void* user);
// The same as a formula for devices that compile sources.
graft_status traced_emit(graft_node* node, void* user);

// The attributes of a node as a dictionary; its inputs as (element type, shape, constant) or None.
py::dict node_attributes(const graft_node* node, const Record& record);
py::list node_inputs(graft_node* node);
PyObject* spec_of(const Record& record);

}  // namespace graft::python
