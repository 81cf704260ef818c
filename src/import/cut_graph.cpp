#include <algorithm>

#include "base/request.hpp"
#include "base/tensor.hpp"
#include "base/text.hpp"
#include "graph/port_nodes.hpp"
#include "import/cut_plan.hpp"

namespace graft {
namespace {

class GraphCut {
 public:
  GraphCut(Graph& graph, const CutRequest& request, bool tensors_share_names) : g_(graph), request_(request) {
    a_.tensors_share_names = tensors_share_names;
  }

  CutEffect run() {
    look();
    plan_ = plan_cut(a_, request_);
    needs_ = needs_of(a_, request_, plan_, effect_);
    // Resolve the outputs first: a cut input may change the producer of an output.
    std::vector<ValueId> outputs;
    for (const OutputCut& o : plan_.outputs) outputs.push_back(values_[static_cast<size_t>(o.at)]);
    for (const InputCut& c : plan_.inputs) change(c);
    change_all();
    if (!outputs.empty()) replace_results(outputs);
    add_results();
    if (plan_.prunes) prune();
    order_inputs();
    return std::move(effect_);
  }

 private:
  void look() {
    std::vector<std::vector<int>> ids(g_.end_id());
    for (NodeId id : g_.topological_order())
      for (uint32_t p = 0; p < g_[id].outputs.size(); ++p) {
        ids[id].push_back(static_cast<int>(values_.size()));
        values_.push_back({id, p});
        std::vector<std::string> names = g_[id].outputs[p].names;
        if (g_[id].is("Result")) names.clear();  // an output's name for a value that has its own
        if (g_[id].is("Parameter")) names.insert(names.begin(), g_[id].name);
        a_.values.push_back({std::move(names), -1, static_cast<int>(p)});
      }
    for (NodeId id = 0; id < g_.end_id(); ++id) {
      const Node& n = g_[id];
      if (!n.alive || n.is("Parameter") || n.is("Result")) continue;
      Anatomy::Layer l;
      l.name = n.name, l.type = n.type;
      if (const Attribute* v = n.attrs.find("variable_id"); v && v->get_if<std::string>())
        l.variable = v->as<std::string>();
      for (ValueId v : n.inputs) l.inputs.push_back(v.present() ? ids[v.node][v.port] : no_value);
      l.outputs = ids[id];
      for (int v : ids[id]) a_.values[static_cast<size_t>(v)].layer = static_cast<int>(layers_.size());
      layers_.push_back(id);
      a_.layers.push_back(std::move(l));
    }
    for (NodeId id : g_.parameters()) a_.inputs.push_back(ids[id][0]);
    for (NodeId id : g_.results()) {
      ValueId from = g_[id].inputs[0];
      a_.outputs.push_back(ids[from.node][from.port]);
      // An output has a name and names of its own, or those of its tensor.
      bool own = !g_[id].outputs.empty() && !g_[id].outputs[0].names.empty();
      a_.output_names.push_back(own ? g_[id].outputs[0].names : g_.output(from).names);
      a_.output_names.back().push_back(g_[id].name);
    }
  }

  void change(const InputCut& c) {
    const CutInput& in = request_.inputs[c.request];
    ValueId at = values_[static_cast<size_t>(c.at)];
    Info info = g_.info(at);
    if (in.shape) info.shape = *in.shape;
    if (in.type) info.type = *in.type;
    if (request_.batch && c.kind != InputCut::declared) info.shape = with_batch(info.shape, *request_.batch, in.place);
    if (c.kind == InputCut::declared && !in.value) {
      g_[at.node].attrs["shape"] = info.shape;
      g_[at.node].attrs["element_type"] = info.type;
      add_input(in.place, g_[at.node].name);
      places_.emplace(at.node, &c - plan_.inputs.data());
      return;
    }
    if (!in.value && (!info.shape.ranked() || info.type == DType::undefined))
      throw RequestError(text("the shape of '", in.place, "' is unknown"),
                         text("set it: ", Remedy{"inputs", in.place, "[1 3 224 224]{f32}"}));
    std::string name = c.name.empty() ? g_[at.node].name : c.name;
    Node n = in.value ? constant_node(frozen_tensor(in, info)) : parameter_node(info);
    n.name = g_.unique_name(in.value ? name + "/const_placeholder" : name);
    if (!in.value) add_input(in.place, n.name);
    Output& o = n.outputs.emplace_back();
    o.info = in.value ? n.attrs["value"].as<Tensor>().info() : info;
    o.add_name(n.name);
    if (c.kind == InputCut::edge && !in.value) o.add_name(edge_name(a_, c));
    if (c.kind == InputCut::value) {
      for (const std::string& t : g_.output(at).names) o.add_name(t);
      g_.output(at).names.clear();
    }
    ValueId fresh{g_.add(std::move(n)), 0};
    places_.emplace(fresh.node, &c - plan_.inputs.data());
    if (c.kind == InputCut::edge) g_[layers_[static_cast<size_t>(c.layer)]].inputs[static_cast<size_t>(c.port)] = fresh;
    else Users(g_).replace(at, fresh), moved_[at] = fresh;
    if (c.kind == InputCut::declared) g_.erase(at.node);
  }

  // If the request lists the inputs, they have its order.
  void order_inputs() {
    auto listed = [](const CutInput& in) { return in.listed; };
    if (std::none_of(request_.inputs.begin(), request_.inputs.end(), listed)) return;
    auto place = [&](NodeId id) {
      auto it = places_.find(id);
      return it == places_.end() ? static_cast<ptrdiff_t>(plan_.inputs.size()) : it->second;
    };
    std::vector<NodeId>& all = g_.parameters();
    std::stable_sort(all.begin(), all.end(), [&](NodeId x, NodeId y) { return place(x) < place(y); });
  }

  void add_input(const std::string& place, const std::string& node) {
    auto it =
        std::find_if(effect_.inputs.begin(), effect_.inputs.end(), [&](const auto& e) { return e.first == place; });
    if (it == effect_.inputs.end()) it = effect_.inputs.insert(it, {place, {}});
    it->second.push_back(node);
  }

  void change_all() {
    auto named = [&](NodeId id) {
      return std::any_of(effect_.inputs.begin(), effect_.inputs.end(), [&](const auto& e) {
        return std::find(e.second.begin(), e.second.end(), g_[id].name) != e.second.end();
      });
    };
    for (NodeId id : g_.parameters()) {
      const Shape* s = g_[id].attrs.find("shape")->get_if<Shape>();
      if (request_.only_shape && !named(id)) g_[id].attrs["shape"] = *request_.only_shape;
      else if (request_.batch && s) g_[id].attrs["shape"] = with_batch(*s, *request_.batch, g_[id].name);
    }
  }

  void replace_results(const std::vector<ValueId>& outputs) {
    for (NodeId id : std::vector<NodeId>(g_.results())) g_.erase(id);
    for (ValueId v : outputs) {
      // A value that was cut comes from its new producer.
      if (auto it = moved_.find(v); it != moved_.end()) v = it->second;
      Node n = result_node(v);
      n.name = g_.unique_name(g_[v.node].name + text("/sink_port_", v.port));
      n.outputs.emplace_back().info = g_.info(v);
      g_.add(std::move(n));
    }
  }

  void add_results() {
    for (size_t i = 0; i < plan_.more_outputs.size(); ++i) {
      effect_.more_outputs.emplace_back();
      if (!plan_.more_outputs[i]) continue;
      ValueId v = values_[static_cast<size_t>(plan_.more_outputs[i]->at)];
      if (auto it = moved_.find(v); it != moved_.end()) v = it->second;
      const std::vector<NodeId>& results = g_.results();
      for (size_t k = 0; k < results.size() && !effect_.more_outputs.back(); ++k)
        if (g_[results[k]].inputs[0] == v) effect_.more_outputs.back() = k;
      if (effect_.more_outputs.back()) continue;
      const std::string& name = request_.more_outputs[i];
      Node n = result_node(v);
      n.name = g_.unique_name(name + "/sink_port_0");
      n.outputs.emplace_back().info = g_.info(v);
      n.outputs[0].add_name(name);
      effect_.more_outputs.back() = results.size();
      g_.add(std::move(n));
    }
    if (plan_.only_more) keep_more();
  }
  // Removes the other outputs.
  void keep_more() {
    std::vector<NodeId> wanted;
    for (std::optional<size_t> at : effect_.more_outputs) wanted.push_back(g_.results()[*at]);
    for (NodeId id : std::vector<NodeId>(g_.results()))
      if (std::find(wanted.begin(), wanted.end(), id) == wanted.end()) g_.erase(id);
    for (size_t i = 0; i < wanted.size(); ++i)
      effect_.more_outputs[i] =
          static_cast<size_t>(std::find(g_.results().begin(), g_.results().end(), wanted[i]) - g_.results().begin());
  }

  void prune() {
    std::vector<bool> needed(g_.end_id(), false);
    std::vector<NodeId> stack = g_.results();
    for (size_t l = 0; l < layers_.size(); ++l)
      if (needs_.layers[l]) stack.push_back(layers_[l]);
    while (!stack.empty()) {
      NodeId id = stack.back();
      stack.pop_back();
      if (needed[id]) continue;
      needed[id] = true;
      for (ValueId v : g_[id].inputs)
        if (v.present()) stack.push_back(v.node);
    }
    for (auto& [place, nodes] : effect_.inputs)
      for (NodeId id : g_.parameters())
        if (!needed[id]) std::erase(nodes, g_[id].name);
    for (NodeId id = 0; id < g_.end_id(); ++id)
      if (g_[id].alive && !needed[id]) g_.erase(id);
  }

  Graph& g_;
  const CutRequest& request_;
  Anatomy a_;
  std::vector<ValueId> values_;
  std::vector<NodeId> layers_;
  std::map<ValueId, ValueId> moved_;
  std::map<NodeId, ptrdiff_t> places_;  // of the inputs that the request names, in its order
  CutPlan plan_;
  Needs needs_;
  CutEffect effect_;
};

}  // namespace

CutEffect cut_graph(Graph& graph, const CutRequest& request, bool tensors_share_names) {
  return GraphCut(graph, request, tensors_share_names).run();
}

}  // namespace graft
