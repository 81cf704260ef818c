#include "devices/hetero/split.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"
#include "devices/hetero/hetero.hpp"
#include "graph/port_nodes.hpp"

namespace graft {
namespace {

class Splitting {
 public:
  Splitting(const Graph& graph, const std::vector<size_t>& device_of, Inference& inference)
      : g_(graph),
        copy_(graph.clone()),
        device_of_(device_of),
        inference_(inference),
        order_(graph.topological_order()) {}

  std::vector<GraphPart> make() {
    number_phases();
    find_needed();
    open_parts();
    for (NodeId id : order_)
      if (needed_[id] && !is_free(g_[id])) move(id);
    for (NodeId id : g_.results())
      if (ValueId v = g_[id].inputs[0]; !is_free(g_[v.node])) give_out(v);
    for (GraphPart& p : parts_)
      for (ValueId v : p.outputs) add_result(p, v);
    return std::move(parts_);
  }

 private:
  void number_phases() {
    phase_.assign(g_.end_id(), 0);
    std::map<std::string, std::vector<NodeId>> users;  // of each variable, in the order they run
    for (NodeId id : order_) {
      const Node& n = g_[id];
      if (is_free(n)) continue;
      auto after = [&](NodeId other) {
        phase_[id] = std::max(phase_[id], phase_[other] + (device_of_[other] != device_of_[id]));
      };
      for (ValueId v : n.inputs)
        if (v.present() && !is_free(g_[v.node]) && !inference_.constant(v)) after(v.node);
      for (const std::string& variable : variables_of(n)) {
        for (NodeId other : users[variable]) after(other);
        users[variable].push_back(id);
      }
    }
  }

  bool together(NodeId a, NodeId b) const { return device_of_[a] == device_of_[b] && phase_[a] == phase_[b]; }

  // Nodes that only give values which other parts have as constants are left out.
  void find_needed() {
    needed_.assign(g_.end_id(), false);
    std::vector<bool> used(g_.end_id(), false);
    for (NodeId id : order_)
      for (ValueId v : g_[id].inputs)
        if (v.present()) used[v.node] = true;
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      const Node& n = g_[*it];
      if (!used[*it]) needed_[*it] = true;  // results, and nodes with side effects
      if (!needed_[*it]) continue;
      for (ValueId v : n.inputs)
        if (v.present() && (n.is("Result") || together(*it, v.node) || !inference_.constant(v))) needed_[v.node] = true;
    }
  }

  void open_parts() {
    std::map<std::pair<size_t, size_t>, size_t> index;
    for (NodeId id : order_)
      if (needed_[id] && !is_free(g_[id])) index[{phase_[id], device_of_[id]}];
    for (auto& [key, i] : index) {
      i = parts_.size();
      GraphPart& p = parts_.emplace_back();
      p.phase = key.first, p.device = key.second;
      p.graph.name = text(g_.name, "_", i);
    }
    part_of_.assign(g_.end_id(), SIZE_MAX);
    for (NodeId id : order_)
      if (needed_[id] && !is_free(g_[id])) part_of_[id] = index[{phase_[id], device_of_[id]}];
    where_.assign(g_.end_id(), no_node);
    brought_.resize(parts_.size());
  }

  void move(NodeId id) {
    size_t part = part_of_[id];
    Node n = std::move(copy_[id]);
    for (ValueId& v : n.inputs)
      if (v.present()) v = part_of_[v.node] == part ? ValueId{where_[v.node], v.port} : brought(part, v);
    where_[id] = parts_[part].graph.add(std::move(n));
    parts_[part].nodes.push_back(id);
  }

  // A value of the whole graph that the part does not compute.
  ValueId brought(size_t part, ValueId v) {
    auto [it, fresh] = brought_[part].try_emplace(v);
    if (!fresh) return it->second;
    GraphPart& p = parts_[part];
    const Node& from = g_[v.node];
    bool parameter = from.is("Parameter");
    const Tensor* constant = parameter ? nullptr : inference_.constant(v);
    Node n = constant ? constant_node(*constant) : parameter_node(g_.info(v));
    if (parameter) n.opset = from.opset, n.attrs = from.attrs;
    else if (!constant) give_out(v);
    n.name = p.graph.unique_name(v.port ? text(from.name, ":", v.port) : from.name);
    n.origin = from.origin;
    n.outputs.emplace_back().info = constant ? constant->info() : g_.info(v);
    if (n.is("Parameter")) p.inputs.push_back(v);
    return it->second = {p.graph.add(std::move(n)), 0};
  }

  void give_out(ValueId v) {
    if (given_.insert(v).second) parts_[part_of_[v.node]].outputs.push_back(v);
  }

  void add_result(GraphPart& p, ValueId v) {
    Node n = result_node({where_[v.node], v.port});
    n.name = p.graph.unique_name(text(g_[v.node].name, "/sink_port_", v.port));
    n.outputs.emplace_back().info = g_.info(v);
    p.graph.add(std::move(n));
  }

  const Graph& g_;
  Graph copy_;
  const std::vector<size_t>& device_of_;
  Inference& inference_;
  std::vector<NodeId> order_;
  std::vector<size_t> phase_, part_of_;
  std::vector<bool> needed_;
  std::vector<NodeId> where_;  // in its part
  std::vector<GraphPart> parts_;
  std::vector<std::map<ValueId, ValueId>> brought_;  // per part
  std::set<ValueId> given_;                          // outputs of parts
};

}  // namespace

std::vector<GraphPart> split_graph(const Graph& graph, const std::vector<size_t>& device_of, Inference& inference) {
  return Splitting(graph, device_of, inference).make();
}

}  // namespace graft
