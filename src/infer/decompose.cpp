#include "infer/decompose.hpp"

#include <algorithm>
#include <functional>

#include "base/error.hpp"
#include "graph/text.hpp"
#include "infer/complete.hpp"
#include "schema/resolve.hpp"

namespace graft {

Graph decomposition(const Registry& registry, const OpDef& op, const Node& node,
                    const std::vector<std::optional<Info>>& inputs) {
  return with_context(
      [&] {
        Graph g = parse_graph(view(op.record->decomposition), node.attrs);
        if (g.parameters().size() != inputs.size())
          throw_user("the decomposition expects ", g.parameters().size(), " inputs, got ", inputs.size());
        for (size_t i = 0; i < inputs.size(); ++i) {
          if (!inputs[i]) throw_unsupported("the decomposition requires input ", i);
          Node& p = g[g.parameters()[i]];
          p.attrs["shape"] = inputs[i]->shape;
          p.attrs["element_type"] = inputs[i]->type;
        }
        complete(g, registry);
        return g;
      },
      [&] { return text("decomposing ", op.name(), " of ", op.opset()); });
}

void infer_outputs(const Registry& registry, const OpDef& op, NodeContext& context) {
  size_t fixed = 0;  // outputs that every node of this operation has
  bool variadic = false;
  for (const graft_port* p : op.outputs()) {
    variadic |= (p->flags & GRAFT_PORT_VARIADIC) != 0;
    fixed += !(p->flags & (GRAFT_PORT_VARIADIC | GRAFT_PORT_OPTIONAL));
  }
  context.declared_outputs = std::max(context.declared_outputs, fixed);
  if (op.record->infer) {
    check_callback(op.record->infer(&context, op.record->user));
    for (size_t i = 0; i < fixed; ++i)
      if (i >= context.outputs.size() || !context.outputs[i])
        throw_user("the shape function of ", op.name(), " did not set output ", i);
    if (context.outputs.size() > op.outputs().size() && !variadic)
      throw_user("the shape function of ", op.name(), " set output ", context.outputs.size() - 1,
                 ", but the operation has ", op.outputs().size(), op.outputs().size() == 1 ? " output" : " outputs");
  } else if (op.record->decomposition.size) {
    Graph parts = decomposition(registry, op, context.node(), context.inputs());
    for (NodeId r : parts.results()) context.outputs.push_back(parts.info(parts[r].inputs[0]));
  } else {
    throw_user("the definition of ", op.name(), " in ", op.opset(),
               " has neither a shape function nor a decomposition");
  }
}

namespace {

// Replaces the node by the decomposition's nodes and redirects its consumers to them.
void replace(Graph& g, NodeId id, Graph parts, Users& users) {
  std::vector<ValueId> where(parts.end_id());
  std::string name = g[id].name;
  for (NodeId p : parts.topological_order()) {
    if (parts[p].is("Result")) continue;
    auto& parameters = parts.parameters();
    if (parts[p].is("Parameter")) {
      auto index = static_cast<size_t>(std::find(parameters.begin(), parameters.end(), p) - parameters.begin());
      where[p] = g[id].inputs[index];
      continue;
    }
    Node n = std::move(parts[p]);
    for (ValueId& v : n.inputs)
      if (v.present())
        v = parts[v.node].alive && where[v.node].present() ? ValueId{where[v.node].node, where[v.node].port + v.port}
                                                           : ValueId{};
    n.name = g.unique_name(text(name, '/', n.name));
    n.origin = g[id].origin;
    NodeId added = g.add(std::move(n));
    users.add(added);
    where[p] = {added, 0};
  }
  for (uint32_t i = 0; i < parts.results().size(); ++i) {
    ValueId inner = parts[parts.results()[i]].inputs[0];
    ValueId to{where[inner.node].node, where[inner.node].port + inner.port};
    for (const std::string& t : g[id].outputs[i].names) g.output(to).add_name(t);
    users.replace({id, i}, to);
  }
  g.erase(id);
}

using Wanted = std::function<bool(const OpDef&)>;
size_t decompose_all(Graph& g, const Registry& registry, const Wanted& wanted) {
  size_t changes = 0;
  for (int round = 0; round < 16; ++round) {
    std::vector<NodeId> todo;
    for (NodeId id = 0; id < g.end_id(); ++id) {
      if (!g[id].alive) continue;
      for (Body& b : g[id].bodies) changes += decompose_all(*b.graph, registry, wanted);
      const OpDef* op = g[id].opaque ? nullptr : registry.find(g[id].type, g[id].opset);
      if (op && op->record->decomposition.size && wanted(*op)) todo.push_back(id);
    }
    if (todo.empty()) return changes;
    Users users(g);
    for (NodeId id : todo) {
      replace(g, id, decomposition(registry, definition(registry, g[id]), g[id], input_infos(g, g[id])), users);
      ++changes;
    }
  }
  throw_user("the decompositions are recursive");
}

}  // namespace

size_t decompose(Graph& g, const Registry& registry, const std::vector<std::string>& devices) {
  return decompose_all(g, registry, [&](const OpDef& op) {
    return std::none_of(devices.begin(), devices.end(),
                        [&](const std::string& d) { return registry.has_kernel(op, d); });
  });
}

size_t decompose_opset(Graph& g, const Registry& registry, std::string_view opset) {
  return decompose_all(g, registry, [&](const OpDef& op) { return op.opset() == opset; });
}

}  // namespace graft
