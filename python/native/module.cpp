// graft._native: what the package is made of. Its classes in Python give it a form.
#include "definition.hpp"
#include "request.hpp"

PYBIND11_MODULE(_native, m) {
  using namespace graft::python;
  m.attr("__version__") = GRAFT_VERSION;
  bind_errors(m);
  bind_tensor(m);
  bind_definitions(m);
  bind_raw(m);
  bind_builders(m);
  bind_toolkit(m);
  numpy();
}
