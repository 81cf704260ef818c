#include "passes/editor.hpp"

#include <set>

#include "base/error.hpp"
#include "base/tensor.hpp"
#include "graph/give_back.hpp"
#include "graph/port_nodes.hpp"
#include "schema/resolve.hpp"

namespace graft {
namespace {

// Scaled or transposed weights are as large as before. Tied weights count once.
void count_weights(const Graph& g, std::set<const void*>& counted, Budget& budget) {
  for (NodeId id = 0; id < g.end_id(); ++id) {
    if (!g[id].alive) continue;
    for (const Body& b : g[id].bodies) count_weights(*b.graph, counted, budget);
    const Attribute* a = g[id].is("Constant") ? g[id].attrs.find("value") : nullptr;
    const Tensor* t = a ? a->get_if<Tensor>() : nullptr;
    if (t && t->type() != DType::string && counted.insert(t->data()).second) budget.add_weights(t->bytes(), t->bytes());
  }
}
}  // namespace

std::shared_ptr<Budget> pass_budget(const Graph& graph, const Limits& limits) {
  auto budget = std::make_shared<Budget>(limits);
  std::set<const void*> counted;
  count_weights(graph, counted, *budget);
  return budget;
}

Editor::Editor(Graph& graph, const Registry& registry) : Editor(graph, registry, pass_budget(graph, {})) {}

Editor::Editor(Graph& graph, const Registry& registry, std::shared_ptr<Budget> budget)
    : graph_(graph), registry_(registry), inference_(registry, graph, std::move(budget)), users_(graph) {
  inference_.infer_all();
  for (NodeId id = 0; id < graph.end_id(); ++id)
    if (graph[id].alive) enter(id);
}

void Editor::enter(NodeId id) {
  const Node& n = graph_[id];
  types_[n.type].push_back(id);
  const OpDef* op = n.opaque ? nullptr : registry_.find(n.type, n.opset);
  known_.resize(std::max<size_t>(known_.size(), id + 1));
  Known& known = known_[id];
  known.traits = op ? op->record->flags : 0;
  known.foreign = !op || !op->source->built_in();
  known.impostor = known.foreign && (!op || registry_.is_built_in_name(n.type));
}

const std::vector<NodeId>& Editor::of_type(const std::string& type) {
  std::vector<NodeId>& list = types_[type];
  std::erase_if(list, [&](NodeId id) { return !graph_[id].alive; });
  return list;
}

NodeId Editor::add(Node node) {
  if (!node.opaque) resolve(node, definition(registry_, node), Extras::refuse);
  if (node.outputs.empty()) node.outputs.resize(1);
  NodeId id = graph_.add(std::move(node));
  try {
    inference_.infer(id);
  } catch (...) {
    graph_.erase(id);
    throw;
  }
  users_.add(id);
  enter(id);
  return id;
}

ValueId Editor::constant(Tensor t, const std::string& name) {
  Node c = constant_node(std::move(t));
  c.name = graph_.unique_name(name);
  return {add(std::move(c)), 0};
}

ValueId Editor::constant(const std::vector<int64_t>& list) {
  return constant(make_tensor<int64_t>({static_cast<int64_t>(list.size())}, list));
}

ValueId Editor::transpose(ValueId v, const std::vector<int64_t>& order, const std::string& name) {
  Node t;
  t.type = "Transpose", t.opset = "opset1";
  t.inputs = {v, constant(order)};
  t.origin = graph_[v.node].origin;
  t.name = graph_.unique_name(name);
  return {add(std::move(t)), 0};
}

ValueId Editor::reshape(ValueId v, const std::vector<int64_t>& dims, const std::string& name) {
  Node r;
  r.type = "Reshape", r.opset = "opset1";
  r.attrs["special_zero"] = false;
  r.inputs = {v, constant(dims)};
  r.origin = graph_[v.node].origin;
  r.name = graph_.unique_name(name);
  return {add(std::move(r)), 0};
}

void Editor::replace(ValueId from, ValueId to) {
  std::vector<std::string>&taken = graph_.output(from).names, &names = graph_.output(to).names;
  // The longer list stays: a chain of values that hand on their names would copy each of them again and again.
  if (from != to && taken.size() > names.size()) std::swap(taken, names);
  for (const std::string& name : std::vector<std::string>(std::move(taken))) graph_.output(to).add_name(name);
  taken.clear();
  users_.replace(from, to);
  suspects_.push_back(from.node);
}

void Editor::set_input(NodeId id, uint32_t input, ValueId to) {
  ValueId before = graph_[id].inputs[input];
  users_.set(id, input, to);
  if (before.present()) suspects_.push_back(before.node);
}

void Editor::take_name(NodeId from, NodeId to) {
  std::string name = graph_[from].name;
  graph_[from].name = graph_.unique_name(name + "/before");
  graph_[to].name = std::move(name);
}

bool Editor::needed(NodeId id) {
  const Node& n = graph_[id];
  if (n.is("Result") || n.is("Parameter")) return true;
  for (uint32_t i = 0; i < n.outputs.size(); ++i)
    if (users_.read({id, i})) return true;
  const OpDef* op = n.opaque ? nullptr : registry_.find(n.type, n.opset);
  return op && op->has(GRAFT_OP_SINK);
}

void Editor::sweep() {
  while (!suspects_.empty()) {
    NodeId id = suspects_.back();
    suspects_.pop_back();
    if (!graph_[id].alive || needed(id)) continue;
    for (ValueId v : graph_[id].inputs)
      if (v.present()) suspects_.push_back(v.node);
    give_back(graph_[id]);
    users_.remove(id);
    inference_.forget(id);  // releases folded constants too
    graph_.erase(id);
  }
}

}  // namespace graft
