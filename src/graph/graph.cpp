#include "graph/graph.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/error.hpp"
#include "graph/tensor_names.hpp"

namespace graft {

Body::Body() = default;
Body::Body(Body&&) noexcept = default;
Body& Body::operator=(Body&&) noexcept = default;
Body::~Body() = default;

void Output::add_name(const std::string& name) {
  if (name.empty()) return;
  if (names.size() >= names_in_order) {
    if (names.back() != name) names.push_back(name);
    return;
  }
  auto at = std::lower_bound(names.begin(), names.end(), name);
  if (at == names.end() || *at != name) names.insert(at, name);
}

struct Graph::Names {
  std::unordered_map<std::string, int> next;  // name -> number to try next
};

NodeId Graph::add(Node node) {
  auto id = static_cast<NodeId>(nodes_.size());
  if (node.is("Parameter")) parameters_.push_back(id);
  if (node.is("Result")) results_.push_back(id);
  nodes_.push_back(std::move(node));
  ++alive_;
  return id;
}

void Graph::erase(NodeId id) {
  Node& n = nodes_[id];
  if (!n.alive) return;
  if (n.is("Parameter")) std::erase(parameters_, id);
  if (n.is("Result")) std::erase(results_, id);
  n = Node{};
  n.alive = false;
  --alive_;
}

std::vector<NodeId> Graph::topological_order() const {
  enum : uint8_t { fresh, open, done };
  std::vector<uint8_t> state(nodes_.size(), fresh);
  std::vector<NodeId> order;
  order.reserve(alive_);
  std::vector<std::pair<NodeId, size_t>> stack;
  for (NodeId root = 0; root < nodes_.size(); ++root) {
    if (!nodes_[root].alive || state[root] == done) continue;
    stack.emplace_back(root, 0);
    state[root] = open;
    while (!stack.empty()) {
      auto& [id, next] = stack.back();
      const Node& n = nodes_[id];
      if (next == n.inputs.size()) {
        state[id] = done;
        order.push_back(id);
        stack.pop_back();
        continue;
      }
      ValueId v = n.inputs[next++];
      if (!v.present() || state[v.node] == done) continue;
      if (state[v.node] == open)
        throw_user("the graph has a cycle through '", nodes_[v.node].name, "' (", nodes_[v.node].type, ")");
      state[v.node] = open;
      stack.emplace_back(v.node, 0);
    }
  }
  return order;
}

std::string Graph::unique_name(const std::string& wanted) {
  if (!names_) {
    names_ = std::make_shared<Names>();
    for (const Node& n : nodes_)
      if (n.alive) names_->next.emplace(n.name, 1);
  }
  auto [it, fresh] = names_->next.emplace(wanted, 1);
  if (fresh) return wanted;
  for (;;) {
    std::string candidate = text(wanted, '_', names_->next[wanted]++);
    if (names_->next.emplace(candidate, 1).second) return candidate;
  }
}

Graph Graph::clone() const {
  Graph copy;
  copy.name = name;
  copy.rt_info = rt_info, copy.weights_recorded = weights_recorded;
  copy.input_forms = input_forms, copy.output_forms = output_forms;
  copy.alive_ = alive_;
  copy.parameters_ = parameters_;
  copy.results_ = results_;
  for (const Node& n : nodes_) {
    Node& c = copy.nodes_.emplace_back();
    c.type = n.type, c.opset = n.opset, c.name = n.name, c.attrs = n.attrs, c.inputs = n.inputs, c.outputs = n.outputs;
    c.origin = n.origin, c.rt_info = n.rt_info, c.input_rt_info = n.input_rt_info, c.stub = n.stub, c.opaque = n.opaque,
    c.alive = n.alive;
    for (const Body& b : n.bodies) {
      Body& cb = c.bodies.emplace_back();
      cb.graph = std::make_unique<Graph>(b.graph->clone());
      cb.inputs = b.inputs, cb.outputs = b.outputs, cb.back_edges = b.back_edges;
    }
  }
  return copy;
}

Users::Users(Graph& graph) : graph_(graph), slots_(graph.end_id()) {
  for (NodeId id = 0; id < graph.end_id(); ++id)
    if (graph[id].alive) add(id);
}

Users::Slot& Users::slot(ValueId v) {
  if (slots_.size() <= v.node) slots_.resize(v.node + 1);
  auto& ports = slots_[v.node];
  if (ports.size() <= v.port) ports.resize(v.port + 1);
  return ports[v.port];
}

const std::vector<Use>& Users::of(ValueId v) {
  Slot& s = slot(v);
  if (s.living != s.uses.size())
    std::erase_if(s.uses, [&](const Use& u) { return !graph_[u.node].alive || graph_[u.node].inputs[u.input] != v; });
  return s.uses;
}

bool Users::read(ValueId v) const {
  return v.node < slots_.size() && v.port < slots_[v.node].size() && slots_[v.node][v.port].living > 0;
}

void Users::add(NodeId id) {
  const Node& n = graph_[id];
  for (uint32_t i = 0; i < n.inputs.size(); ++i) {
    if (!n.inputs[i].present()) continue;
    Slot& s = slot(n.inputs[i]);
    s.uses.push_back({id, i});
    ++s.living;
  }
}

void Users::remove(NodeId id) {
  for (ValueId v : graph_[id].inputs)
    if (v.present()) --slot(v).living;
}

void Users::set(NodeId id, uint32_t input, ValueId to) {
  ValueId& from = graph_[id].inputs[input];
  if (from == to) return;
  of(to);  // refresh first: a stale entry of this input must not become valid again
  if (from.present()) --slot(from).living;
  from = to;
  Slot& s = slot(to);
  s.uses.push_back({id, input});
  ++s.living;
}

void Users::replace(ValueId from, ValueId to) {
  slot(to);
  of(from), of(to);
  std::vector<Use> moved = std::move(slot(from).uses);
  slot(from) = {};
  for (Use u : moved) graph_[u.node].inputs[u.input] = to;
  Slot& target = slot(to);
  target.uses.insert(target.uses.end(), moved.begin(), moved.end());
  target.living += moved.size();
}

}  // namespace graft
