// Ports of a graph as the values that its framework knows.
#include <algorithm>

#include "toolkit/state.hpp"

namespace graft {
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

}  // namespace

std::vector<Group> input_groups(const Graph& g) { return groups_of(g, g.input_forms, g.parameters(), input_ports(g)); }
std::vector<Group> output_groups(const Graph& g) { return groups_of(g, g.output_forms, g.results(), output_ports(g)); }

}  // namespace graft
