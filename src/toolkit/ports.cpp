// Inputs and outputs of a graph: as ports, and as the values that its framework knows.
#include <algorithm>
#include <graft/app/ports.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "graph/tensor_names.hpp"
#include "toolkit/errors.hpp"
#include "toolkit/state.hpp"

namespace graft {

std::vector<Port> input_ports(const Graph& g) {
  std::vector<Port> out;
  for (NodeId id : g.parameters()) {
    const Output& o = g.output({id, 0});
    out.push_back({g[id].name, ordered_names(o.names), o.info.type, o.info.shape});
  }
  return out;
}
std::vector<Port> output_ports(const Graph& g) {
  std::vector<Port> out;
  for (NodeId id : g.results()) {
    const Output& o = g.output(g[id].inputs[0]);
    bool own = !g[id].outputs.empty() && !g[id].outputs[0].names.empty();
    out.push_back({g[id].name, ordered_names(own ? g[id].outputs[0].names : o.names), o.info.type, o.info.shape});
    // Files without tensor names identify an output by the layer that produces it.
    if (out.back().names.empty()) out.back().names.push_back(g[g[id].inputs[0].node].name);
  }
  return out;
}

std::optional<size_t> position_of(const std::vector<Port>& ports, const std::string& name) {
  for (size_t i = 0; i < ports.size(); ++i)
    if (std::find(ports[i].names.begin(), ports[i].names.end(), name) != ports[i].names.end()) return i;
  for (size_t i = 0; i < ports.size(); ++i)
    if (ports[i].name == name) return i;
  return std::nullopt;
}

size_t find_port(const std::vector<Port>& ports, const std::string& name, std::string_view what) {
  if (auto i = position_of(ports, name)) return *i;
  std::vector<std::string> names;
  for (const Port& p : ports) names.push_back(p.any_name());
  throw Error(ErrorKind::user, text("the model has no ", what, " '", name, "'"),
              names.empty() ? text("it has none") : text("it has ", join(names, ", ")));
}
namespace {

// Parts that a cut took away are not found; then the form says nothing.
bool resolve_form(const Graph& g, const Form& form, const std::vector<NodeId>& ports, std::vector<bool>& used,
                  Group& out) {
  out.kind = static_cast<Group::Kind>(form.kind);
  if (form.kind == Form::tensor) {
    auto at = std::find_if(ports.begin(), ports.end(), [&](NodeId id) { return g[id].name == form.node; });
    if (at == ports.end()) return false;
    out.port = static_cast<size_t>(at - ports.begin());
    used[out.port] = true;
    return true;
  }
  for (const Form& part : form.parts)
    if (!resolve_form(g, part, ports, used, out.parts.emplace_back())) return false;
  return true;
}

std::vector<Group> groups_of(const Graph& g, const std::vector<NamedForm>& forms, const std::vector<NodeId>& nodes,
                             const std::vector<Port>& ports) {
  std::vector<Group> out;
  std::vector<bool> used(ports.size(), false);
  for (const NamedForm& f : forms) {
    std::vector<bool> with = used;
    Group group;
    if (!resolve_form(g, f.form, nodes, with, group)) continue;
    group.name = f.name;
    used = std::move(with);
    out.push_back(std::move(group));
  }
  for (size_t i = 0; i < ports.size(); ++i)
    if (!used[i]) out.push_back({ports[i].any_name(), Group::Kind::tensor, i, {}});
  return out;
}

std::string structure_text(const Group& g, const std::vector<Port>& ports) {
  auto info = [&](size_t i) { return text(Info{ports.at(i).type, ports.at(i).shape}); };
  auto list = [&] {
    std::string out;
    for (const Group& p : g.parts) out += (out.empty() ? "" : ", ") + structure_text(p, ports);
    return out;
  };
  switch (g.kind) {
    case Group::Kind::tensor: return info(g.port);
    case Group::Kind::sequence: return text("sequence [", list(), "]");
    case Group::Kind::run:
      return text("any number of items along the first axis of ", structure_text(g.parts.at(0), ports));
    case Group::Kind::optional: return g.parts.empty() ? "optional without a value" : text("optional ", list());
    case Group::Kind::map: return text("map from ", info(g.parts.at(0).port), " to ", info(g.parts.at(1).port));
  }
  return "";
}

}  // namespace

std::vector<Group> input_groups(const Graph& g) { return groups_of(g, g.input_forms, g.parameters(), input_ports(g)); }
std::vector<Group> output_groups(const Graph& g) { return groups_of(g, g.output_forms, g.results(), output_ports(g)); }

bool Port::takes(const std::vector<int64_t>& dims) const {
  if (!shape.ranked()) return true;
  if (shape.rank() != dims.size()) return false;
  for (size_t i = 0; i < dims.size(); ++i)
    if (!shape[i].can_be(dims[i])) return false;
  return true;
}

std::string_view Group::kind_name() const {
  constexpr std::string_view names[] = {"tensor", "sequence", "run", "optional", "map"};
  return names[static_cast<size_t>(kind)];
}

std::string Group::to_text(const std::vector<Port>& ports) const {
  return as_errors([&] { return structure_text(*this, ports); });
}

}  // namespace graft
