// If(true, x) { then: Abs, else: Exp }        =>  Abs(x)
// Loop(1, true, x) { body: Abs }              =>  Abs(x)
//
// A body that certainly runs exactly once becomes part of the graph around it. Loops have to take their inputs whole.
#include <algorithm>

#include "base/tensor.hpp"
#include "passes/passes.hpp"

namespace graft {
namespace {

std::optional<int64_t> certain_value(Editor& editor, ValueId v) {
  const Tensor* t = editor.inference().constant(v);
  if (!t) return std::nullopt;
  std::vector<int64_t> values = values_of<int64_t>(*t);
  return values.size() == 1 ? std::optional(values[0]) : std::nullopt;
}

// The body that runs once, or null.
Body* single_body(Editor& editor, Node& node) {
  auto input = [&](size_t i) { return i < node.inputs.size() ? certain_value(editor, node.inputs[i]) : std::nullopt; };
  if (node.is("If") && node.bodies.size() == 2) {
    auto condition = input(0);
    return condition ? &node.bodies[*condition ? 0 : 1] : nullptr;
  }
  if (!node.is("Loop") || node.bodies.size() != 1) return nullptr;
  auto trips = input(0), going = input(1);
  if (!trips || *trips != 1 || !going || !*going) return nullptr;
  for (const graft_port_map& m : node.bodies[0].inputs)
    if (m.sliced) return nullptr;
  return &node.bodies[0];
}

// Opaque nodes stay where they are. Every parameter has to be given; the number of the iteration is one number.
bool can_move(const Body& body) {
  const Graph& g = *body.graph;
  for (NodeId id = 0; id < g.end_id(); ++id)
    if (g[id].alive && g[id].opaque) return false;
  std::vector<bool> given(g.parameters().size(), false);
  for (const graft_port_map& m : body.inputs) {
    auto p = static_cast<size_t>(m.internal);
    const Shape& shape = g.info({g.parameters()[p], 0}).shape;
    given[p] = m.external >= 0 || (shape.is_static() && shape.elements().value() == 1);
  }
  return std::find(given.begin(), given.end(), false) == given.end();
}

// Moves the nodes of a body into the graph; what its results are there.
std::vector<ValueId> move_nodes(Editor& editor, NodeId owner, Body& body) {
  Graph& g = editor.graph();
  Graph& inner = *body.graph;
  std::unordered_map<NodeId, NodeId> moved;
  std::unordered_map<NodeId, ValueId> parameters;
  for (const graft_port_map& m : body.inputs) {
    NodeId p = inner.parameters()[static_cast<size_t>(m.internal)];
    if (m.external >= 0) {
      parameters[p] = g[owner].inputs[static_cast<size_t>(m.external)];
    } else {
      const Info& info = inner.info({p, 0});  // the number of the iteration
      parameters[p] = editor.constant(make_tensor<int64_t>(info.shape.values(), {0}).to(info.type), inner[p].name);
    }
  }
  auto outside = [&](ValueId v) {
    if (!v.present()) return v;
    auto p = parameters.find(v.node);
    return p != parameters.end() ? p->second : ValueId{moved.at(v.node), v.port};
  };
  for (NodeId id : inner.topological_order()) {
    if (inner[id].is("Parameter") || inner[id].is("Result")) continue;
    Node node = std::move(inner[id]);
    for (ValueId& v : node.inputs) v = outside(v);
    node.name = g.unique_name(node.name);
    if (node.origin.empty()) node.origin = g[owner].origin;
    moved[id] = editor.add(std::move(node));
  }
  std::vector<ValueId> results;
  for (NodeId r : inner.results()) results.push_back(outside(inner[r].inputs[0]));
  return results;
}

}  // namespace

void inline_bodies(Editor& editor, Changes& changes) {
  Graph& g = editor.graph();
  // Nodes that come out of a body are looked at in their turn.
  for (NodeId id = 0; id < g.end_id(); ++id) {
    if (!g[id].alive || g[id].bodies.empty() || editor.is_foreign(id)) continue;
    Body* body = single_body(editor, g[id]);
    if (!body || !can_move(*body)) continue;
    changes.at(g[id].name);
    std::vector<ValueId> results = move_nodes(editor, id, *body);
    for (const graft_port_map& m : body->outputs)
      if (m.external >= 0)
        editor.replace({id, static_cast<uint32_t>(m.external)}, results[static_cast<size_t>(m.internal)]);
    editor.suspect(id);
  }
  if (changes.places.empty()) return;
  editor.sweep();
  // More is known of the values now than an operation with bodies tells.
  for (NodeId id : g.topological_order()) {
    editor.inference().forget(id);
    editor.inference().infer(id);
  }
}

}  // namespace graft
