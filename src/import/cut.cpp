#include "import/cut.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>

#include "base/request.hpp"
#include "base/text.hpp"
#include "import/calls.hpp"
#include "import/cut_plan.hpp"
#include "import/importer.hpp"

namespace graft {
namespace {

// Names that the graphs inside a layer may capture from outside: all names they use.
void captured_names(const RawNode& node, std::set<std::string>& out) {
  for (const auto& [path, f] : node.fields)
    for (const auto& g : f.graphs) {
      for (const RawNode& n : g->nodes) {
        out.insert(n.inputs.begin(), n.inputs.end());
        captured_names(n, out);
      }
      for (const RawValue& v : g->outputs) out.insert(v.name);
    }
}

class RawCut {
 public:
  RawCut(RawModel& model, const CutRequest& request, const std::function<Graph(const RawModel&)>& import,
         const Limits& limits)
      : model_(model), g_(model.graph), request_(request), import_(import), limits_(limits) {}

  CutEffect run() {
    drop_unused();
    look();
    bool all = false;
    try {
      plan_ = plan_cut(a_, request_);
      all = std::all_of(plan_.more_outputs.begin(), plan_.more_outputs.end(),
                        [](const auto& o) { return o.has_value(); });
    } catch (const RequestError&) {
      if (model_.functions.empty()) throw;
    }
    if (!all && !model_.functions.empty()) {
      // The requested place may be inside a function.
      inline_calls(model_, limits_);
      a_ = {}, ids_.clear();
      look();
      plan_ = plan_cut(a_, request_);
    }
    change_declared();
    learn();
    needs_ = needs_of(a_, request_, plan_, effect_);
    std::vector<RawValue> outputs = output_values();
    cut_inputs();
    if (!plan_.outputs.empty()) g_.outputs = std::move(outputs);
    add_outputs();
    if (plan_.prunes) prune();
    order_inputs();
    return std::move(effect_);
  }

 private:
  // If the request lists the inputs, they have its order.
  void order_inputs() {
    auto listed = [](const CutInput& in) { return in.listed; };
    if (std::none_of(request_.inputs.begin(), request_.inputs.end(), listed)) return;
    auto place = [&](const RawValue& v) {
      auto it = places_.find(v.name);
      return it == places_.end() ? plan_.inputs.size() : it->second;
    };
    std::stable_sort(g_.inputs.begin(), g_.inputs.end(),
                     [&](const RawValue& x, const RawValue& y) { return place(x) < place(y); });
  }

  // An unused value is an input only if the request names it.
  void drop_unused() {
    std::erase_if(g_.inputs, [&](RawValue& v) {
      auto names = [&](const CutInput& in) { return in.place == v.name || in.place == v.name + model_.first_output; };
      if (v.unused && std::any_of(request_.inputs.begin(), request_.inputs.end(), names)) {
        v.unused = false;
        named_.insert(v.name);
      }
      return v.unused;
    });
  }
  void look() {
    a_.open_outputs = model_.conventions.open_outputs;
    a_.tensors_share_names = model_.conventions.shared_names;
    auto value = [&](const std::string& name) {
      if (name.empty()) return no_value;
      auto [it, fresh] = ids_.emplace(name, static_cast<int>(a_.values.size()));
      if (fresh) {
        a_.values.push_back({{name}, -1, 0});
        if (!model_.first_output.empty() && name.find(':') == name.npos)
          a_.values.back().names.push_back(name + model_.first_output);
      }
      return it->second;
    };
    std::set<std::string> constants;
    for (const auto& [name, t] : g_.constants) constants.insert(name), value(name);
    for (const RawValue& in : g_.inputs) {
      if (constants.count(in.name)) continue;
      a_.inputs.push_back(value(in.name));
      if (in.also.empty() || ids_.count(in.also)) continue;
      std::vector<std::string>& names = a_.values[static_cast<size_t>(a_.inputs.back())].names;
      names.push_back(in.also);
      if (in.also.find(':') == in.also.npos) names.push_back(in.also + model_.first_output);
    }
    for (size_t i = 0; i < g_.nodes.size(); ++i) {
      const RawNode& n = g_.nodes[i];
      Anatomy::Layer l;
      l.name = n.name, l.type = n.type;
      for (const std::string& in : n.inputs) l.inputs.push_back(value(in));
      for (size_t p = 0; p < n.outputs.size(); ++p) {
        int v = value(n.outputs[p]);
        l.outputs.push_back(v);
        if (v == no_value) continue;
        a_.values[static_cast<size_t>(v)].layer = static_cast<int>(i);
        a_.values[static_cast<size_t>(v)].port = static_cast<int>(p);
      }
      a_.layers.push_back(std::move(l));
    }
    // Names that exist only inside bodies are not captured values.
    for (size_t i = 0; i < g_.nodes.size(); ++i) {
      std::set<std::string> names;
      captured_names(g_.nodes[i], names);
      for (const std::string& n : names)
        if (auto it = ids_.find(n); it != ids_.end()) a_.layers[i].captured.push_back(it->second);
    }
    for (const RawValue& o : g_.outputs)
      if (auto it = ids_.find(o.name); it != ids_.end()) {
        a_.outputs.push_back(it->second);
        a_.output_names.push_back({o.name});
      }
  }

  const std::string& name_of_value(int v) const { return a_.values[static_cast<size_t>(v)].names[0]; }
  size_t place_of(const InputCut& c) const { return static_cast<size_t>(&c - plan_.inputs.data()); }
  const CutInput& asked(const InputCut& c) const { return request_.inputs[c.request]; }

  // Shapes, types and values of existing inputs.
  void change_declared() {
    for (const InputCut& c : plan_.inputs) {
      if (c.kind != InputCut::declared) continue;
      const std::string& name = name_of_value(c.at);
      auto it = std::find_if(g_.inputs.begin(), g_.inputs.end(), [&](const RawValue& v) { return v.name == name; });
      const CutInput& in = asked(c);
      if (in.shape) it->info.shape = *in.shape;
      if (in.type) it->info.type = *in.type;
      if (!in.value) {
        places_.emplace(name, place_of(c));
        effect_.inputs.emplace_back(in.place, std::vector{name});
        continue;
      }
      g_.constants.emplace_back(name, frozen_tensor(in, it->info));
      effect_.node_names[name] = name + "/const_placeholder";
      g_.inputs.erase(it);
    }
    if (request_.only_shape)
      for (RawValue& v : g_.inputs)
        if (std::none_of(plan_.inputs.begin(), plan_.inputs.end(),
                         [&](const InputCut& c) { return name_of_value(c.at) == v.name; }))
          v.info.shape = *request_.only_shape;
    if (request_.batch)
      for (RawValue& v : g_.inputs) v.info.shape = with_batch(v.info.shape, *request_.batch, v.name);
  }

  // Types and shapes that require inference over the whole model.
  void learn() {
    bool wanted = false;
    for (const InputCut& c : plan_.inputs) wanted |= c.kind != InputCut::declared && !asked(c).shape;
    if (!wanted) return;
    Graph whole = import_(model_);
    for (NodeId id = 0; id < whole.end_id(); ++id)
      for (const Output& o : whole[id].outputs)
        for (const std::string& n : o.names) learnt_.emplace(n, o.info);
  }

  Info info_of_cut(const InputCut& c) const {
    const CutInput& in = asked(c);
    const std::string& name = name_of_value(c.at);
    Info info;
    if (in.shape) {
      if (auto it = g_.values.find(name); it != g_.values.end()) info.type = it->second.info.type;
      auto is_truth = [](const std::string& s) {
        return equal_ignoring_case(s, "true") || equal_ignoring_case(s, "false");
      };
      if (info.type == DType::undefined)
        info.type = in.value && is_truth(in.value->items[0]) ? DType::boolean : DType::f32;
    } else if (auto it = learnt_.find(name); it != learnt_.end()) {
      info = it->second;
    }
    if (in.shape) info.shape = *in.shape;
    if (in.type) info.type = *in.type;
    if (!info.shape.ranked() || info.type == DType::undefined)
      throw RequestError(text("cannot infer the ", info.shape.ranked() ? "type" : "shape", " of '", name, "', where '",
                              in.place, "' cuts the model"),
                         text("set it: ", Remedy{"inputs", in.place, "[1 3 224 224]{f32}"}));
    if (request_.batch) info.shape = with_batch(info.shape, *request_.batch, in.place);
    return info;
  }

  std::string fresh(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 1; !ids_.emplace(name, no_value).second; ++i) name = text(wanted, '_', i);
    return name;
  }

  void cut_inputs() {
    for (const InputCut& c : plan_.inputs) {
      if (c.kind == InputCut::declared) continue;
      const CutInput& in = asked(c);
      Info info = info_of_cut(c);
      std::string value = name_of_value(c.at);
      if (c.kind == InputCut::edge) {
        value = fresh(c.name);
        g_.nodes[static_cast<size_t>(c.layer)].inputs[static_cast<size_t>(c.port)] = value;
      } else if (c.layer >= 0) {
        for (std::string& o : g_.nodes[static_cast<size_t>(c.layer)].outputs)
          if (o == value) o.clear();
      } else {
        std::erase_if(g_.constants, [&](const auto& k) { return k.first == value; });
        std::erase_if(g_.inputs, [&](const RawValue& v) { return v.name == value; });
      }
      if (in.value) {
        g_.constants.emplace_back(value, frozen_tensor(in, info));
        effect_.node_names[value] = c.name + "/const_placeholder";
        continue;
      }
      g_.inputs.push_back({value, info, {}});
      places_.emplace(value, place_of(c));
      effect_.node_names[value] = c.name;
      if (c.kind == InputCut::edge) effect_.other_names[value] = edge_name(a_, c);
      auto it = std::find_if(effect_.inputs.begin(), effect_.inputs.end(),
                             [&](const auto& e) { return e.first == in.place; });
      if (it == effect_.inputs.end()) it = effect_.inputs.insert(it, {in.place, {}});
      it->second.push_back(c.name);
    }
    // Inputs in the order of the request.
    auto position = [&](const std::string& place) {
      for (size_t i = 0; i < request_.inputs.size(); ++i)
        if (request_.inputs[i].place == place) return i;
      return request_.inputs.size();
    };
    std::stable_sort(effect_.inputs.begin(), effect_.inputs.end(),
                     [&](const auto& x, const auto& y) { return position(x.first) < position(y.first); });
  }

  // The name of the output; one that was unused so far gets a new name.
  std::string output_name(const OutputCut& o) {
    if (o.at != no_value) return name_of_value(o.at);
    RawNode& n = g_.nodes[static_cast<size_t>(o.layer)];
    std::string name = o.port == 0 ? n.name : text(n.name, ':', o.port);
    if (n.outputs.size() <= static_cast<size_t>(o.port)) n.outputs.resize(static_cast<size_t>(o.port) + 1);
    return n.outputs[static_cast<size_t>(o.port)] = name;
  }

  void add_outputs() {
    for (const std::optional<OutputCut>& o : plan_.more_outputs) {
      if (!o) {
        effect_.more_outputs.emplace_back();
        continue;
      }
      std::string name = output_name(*o);
      auto it = std::find_if(g_.outputs.begin(), g_.outputs.end(), [&](const RawValue& v) { return v.name == name; });
      effect_.more_outputs.push_back(static_cast<size_t>(it - g_.outputs.begin()));
      if (it == g_.outputs.end()) g_.outputs.push_back({name, {}, {}});
    }
    if (plan_.only_more) keep_more();
  }
  // The outputs that were asked for, in their order.
  void keep_more() {
    std::vector<RawValue> kept;
    std::map<size_t, size_t> places;
    for (std::optional<size_t>& at : effect_.more_outputs) {
      auto [place, fresh] = places.try_emplace(*at, kept.size());
      if (fresh) kept.push_back(g_.outputs[*at]);
      at = place->second;
    }
    g_.outputs = std::move(kept);
  }

  std::vector<RawValue> output_values() {
    std::vector<RawValue> out;
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      std::string name = output_name(plan_.outputs[i]);
      if (std::any_of(out.begin(), out.end(), [&](const RawValue& v) { return v.name == name; }))
        throw RequestError(text("the output '", request_.outputs[i], "' is requested twice"));
      out.push_back({name, {}, {}});
    }
    return out;
  }

  void prune() {
    std::vector<RawNode> kept;
    for (size_t i = 0; i < g_.nodes.size(); ++i)
      if (needs_.layers[i]) kept.push_back(std::move(g_.nodes[i]));
    g_.nodes = std::move(kept);
    std::set<std::string> used;  // new values have no number in ids_
    for (const RawNode& n : g_.nodes) used.insert(n.inputs.begin(), n.inputs.end());
    std::erase_if(g_.inputs, [&](const RawValue& v) {
      auto it = ids_.find(v.name);
      if (named_.count(v.name)) return false;
      if (it == ids_.end() || it->second == no_value) return !used.count(v.name);
      return !needs_.values[static_cast<size_t>(it->second)];
    });
    for (auto& [place, nodes] : effect_.inputs) {
      std::erase_if(nodes, [&](const std::string& n) {
        return std::none_of(g_.inputs.begin(), g_.inputs.end(), [&](const RawValue& v) {
          auto it = effect_.node_names.find(v.name);
          return (it == effect_.node_names.end() ? v.name : it->second) == n;
        });
      });
    }
  }

  RawModel& model_;
  RawGraph& g_;
  const CutRequest& request_;
  const std::function<Graph(const RawModel&)>& import_;
  const Limits& limits_;
  Anatomy a_;
  std::unordered_map<std::string, int> ids_;  // value name -> number; none for names created here
  std::set<std::string> named_;               // unused inputs that the request names
  CutPlan plan_;
  Needs needs_;
  CutEffect effect_;
  std::unordered_map<std::string, Info> learnt_;
  std::unordered_map<std::string, size_t> places_;  // of the inputs that the request names, in its order
};

}  // namespace

CutEffect cut_model(RawModel& model, const CutRequest& request, const std::function<Graph(const RawModel&)>& import,
                    const Limits& limits) {
  return RawCut(model, request, import, limits).run();
}

void name_cut_nodes(Graph& g, const CutEffect& effect) {
  if (effect.node_names.empty()) return;
  for (NodeId id = 0; id < g.end_id(); ++id) {
    Node& n = g[id];
    if (!n.alive || (!n.is("Parameter") && !n.is("Constant"))) continue;
    for (const std::string& name : std::vector<std::string>(n.outputs[0].names)) {
      auto it = effect.node_names.find(name);
      if (auto other = effect.other_names.find(name); other != effect.other_names.end() && n.is("Parameter"))
        n.outputs[0].add_name(other->second);
      if (it == effect.node_names.end() || n.name == it->second) continue;
      n.name = g.unique_name(it->second);
      if (n.is("Parameter")) n.outputs[0].add_name(n.name);
    }
  }
}

}  // namespace graft
