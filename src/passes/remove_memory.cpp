// ReadValue(x) {variable_id = "v"} -> a     Parameter "Parameter_0_for_v" -> a
// b -> Assign {variable_id = "v"}        => b -> Result "Result_for_v"
#include "passes/remove_memory.hpp"

#include <map>

#include "base/text.hpp"
#include "graph/port_nodes.hpp"

namespace graft {
namespace {

std::string variable_of(const Node& n) {
  const Attribute* v = n.attrs.find("variable_id");
  return v && v->get_if<std::string>() ? v->as<std::string>() : n.name;
}

// Adds an input with the properties of a value.
NodeId add_input(Graph& g, const Info& info, const std::string& name) {
  Node n = parameter_node(info);
  n.name = g.unique_name(name);
  n.outputs.emplace_back().info = info;
  n.outputs[0].add_name(n.name);
  return g.add(std::move(n));
}

NodeId add_output(Graph& g, ValueId value, const std::string& name) {
  Node n = result_node(value);
  n.name = g.unique_name(name);
  n.outputs.emplace_back().info = g.info(value);
  n.outputs[0].add_name(n.name);
  return g.add(std::move(n));
}

}  // namespace

std::vector<std::string> remove_memory(Graph& g) {
  std::vector<NodeId> reads;
  std::map<std::string, NodeId> assigns;
  for (NodeId id : g.topological_order()) {
    if (g[id].is("ReadValue")) reads.push_back(id);
    if (g[id].is("Assign")) assigns[variable_of(g[id])] = id;
  }
  std::vector<std::string> out;
  std::map<ValueId, ValueId> moved;
  for (NodeId read : reads) {
    std::string variable = variable_of(g[read]);
    auto assign = assigns.find(variable);
    if (assign == assigns.end()) continue;
    NodeId input = add_input(g, g[read].outputs[0].info, text("Parameter_", out.size(), "_for_", variable));
    NodeId output = add_output(g, g[assign->second].inputs[0], text("Result_for_", variable));
    moved[{read, 0}] = {input, 0};
    moved[{assign->second, 0}] = g[assign->second].inputs[0];
    out.push_back(
        text("feed zeros to input '", g[input].name, "' first, then output '", g[output].name, "' of the run before"));
    assigns.erase(assign);
  }
  for (NodeId id = 0; id < g.end_id(); ++id)
    for (ValueId& v : g[id].inputs)
      for (auto it = moved.find(v); g[id].alive && it != moved.end(); it = moved.find(v)) v = it->second;
  for (const auto& [from, to] : moved) g.erase(from.node);
  return out;
}

}  // namespace graft
