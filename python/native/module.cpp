// graft._native: what the package is made of. Its classes in Python give it a form.
#include <graft/traits.hpp>

#include "definition.hpp"
#include "request.hpp"

namespace graft::python {
namespace {

// An object that `__new__` alone has made has no value, and pybind11 would take memory that nothing has initialized for
// it. Its values are made by constructors, so that it asks for memory of its own only then.
void refuse_uninitialized(const py::module_& m) {
  for (auto [name, value] : py::cast<py::dict>(m.attr("__dict__"))) {
    if (!PyType_Check(value.ptr())) continue;
    if (auto* type = py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(value.ptr())))
      type->operator_new = [](size_t) -> void* {
        throw py::type_error("the object was not initialized: call its class instead of __new__");
      };
  }
}

}  // namespace
}  // namespace graft::python

PYBIND11_MODULE(_native, m) {
  using namespace graft::python;
  m.attr("__version__") = GRAFT_VERSION;
  py::dict traits;
  for (const graft::TraitInfo& t : graft::trait_table) traits[py::cast(t.word)] = static_cast<uint32_t>(t.trait);
  m.attr("traits") = traits;
  bind_errors(m);
  bind_tensor(m);
  bind_definitions(m);
  bind_raw(m);
  bind_builders(m);
  bind_toolkit(m);
  numpy();
  refuse_uninitialized(m);
}
