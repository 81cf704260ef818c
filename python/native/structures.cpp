#include "structures.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <graft/text.hpp>

namespace graft::python {
namespace {

// What the group says of part `i`.
const Group* part_of(const Group* g, size_t i) {
  if (!g || g->parts.empty()) return nullptr;
  const Group& part = g->parts[std::min(i, g->parts.size() - 1)];
  return part.kind == Group::Kind::run && !part.parts.empty() ? &part.parts[0] : &part;
}

DType type_of(const Group* g, const std::vector<Port>& ports) {
  return g && g->kind == Group::Kind::tensor && g->port < ports.size() ? ports[g->port].type : DType::undefined;
}

Datum map_from(const py::dict& d, const Group* group, const std::vector<Port>& ports, const std::string& what) {
  bool is_map = group && group->kind == Group::Kind::map;
  DType keys = is_map ? type_of(part_of(group, 0), ports) : DType::undefined;
  DType values = is_map ? type_of(part_of(group, 1), ports) : DType::undefined;
  if (keys == DType::undefined && d.empty()) keys = DType::i64;
  if (values == DType::undefined && d.empty()) values = DType::f32;
  return {Datum::map,
          {tensor_from(py::list(d.attr("keys")()), keys, "the keys of " + what),
           tensor_from(py::list(d.attr("values")()), values, "the values of " + what)}};
}

}  // namespace

bool is_structured(const std::vector<Group>& groups) {
  return std::any_of(groups.begin(), groups.end(), [](const Group& g) { return g.kind != Group::Kind::tensor; });
}

Datum datum_from(py::handle value, const Group* group, const std::vector<Port>& ports, const std::string& what) {
  if (value.is_none()) return {Datum::optional, {}};
  if (group && group->kind == Group::Kind::optional) group = part_of(group, 0);
  bool tensor = group && group->kind == Group::Kind::tensor;  // a plain list of numbers
  if (py::isinstance<py::dict>(value)) return map_from(py::reinterpret_borrow<py::dict>(value), group, ports, what);
  if ((py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value)) && !tensor) {
    Datum out(Datum::sequence, {});
    for (py::handle item : value) {
      size_t i = out.parts.size();
      out.parts.push_back(datum_from(item, part_of(group, i), ports, text("item ", i, " of ", what)));
    }
    return out;
  }
  return tensor_from(value, type_of(group, ports), what);
}

py::object object_of(const Datum& datum) {
  if (datum.kind == Datum::tensor) return array_of(datum.value);
  if (datum.kind == Datum::optional) return datum.parts.empty() ? py::none() : object_of(datum.parts[0]);
  if (datum.kind == Datum::sequence) {
    py::list out;
    for (const Datum& part : datum.parts) out.append(object_of(part));
    return out;
  }
  py::dict out;
  py::list keys = object_of(datum.parts.at(0)).attr("tolist")();
  py::object values = object_of(datum.parts.at(1));
  for (size_t i = 0; i < keys.size(); ++i) out[keys[i]] = values[py::int_(i)];
  return out;
}

py::list group_dicts(const std::vector<Group>& groups, const std::vector<Port>& ports) {
  py::list out;
  for (const Group& g : groups) {
    py::dict d(py::arg("name") = g.name, py::arg("kind") = std::string(g.kind_name()),
               py::arg("parts") = group_dicts(g.parts, ports), py::arg("text") = g.to_text(ports));
    d["port"] = g.kind == Group::Kind::tensor ? py::object(py::int_(g.port)) : py::none();
    out.append(d);
  }
  return out;
}

}  // namespace graft::python
