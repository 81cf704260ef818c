#include "readers/tensorflow/model.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/text.hpp"
#include "readers/tensorflow/calls.hpp"
#include "readers/tensorflow/flow.hpp"
#include "readers/tensorflow/loops.hpp"

namespace graft {
namespace {

bool is_placeholder(const RawNode& n) { return n.type == "Placeholder" || n.type == "PlaceholderV2"; }

// Nodes with only side effects, or without any: never an output of the model.
bool is_effect(const RawNode& n) {
  static const std::set<std::string_view> types = {"Assert",
                                                   "Assign",
                                                   "AssignAddVariableOp",
                                                   "AssignSubVariableOp",
                                                   "AssignVariableOp",
                                                   "CheckNumerics",
                                                   "Const",
                                                   "HashTable",
                                                   "HashTableV2",
                                                   "InitializeTable",
                                                   "InitializeTableFromTextFile",
                                                   "InitializeTableFromTextFileV2",
                                                   "InitializeTableV2",
                                                   "LookupTableImport",
                                                   "LookupTableImportV2",
                                                   "MergeV2Checkpoints",
                                                   "NoOp",
                                                   "Print",
                                                   "PrintV2",
                                                   "RestoreV2",
                                                   "SaveV2",
                                                   "ScalarSummary",
                                                   "MergeSummary",
                                                   "HistogramSummary",
                                                   "VarHandleOp",
                                                   "Variable",
                                                   "VariableV2"};
  return types.count(n.type) != 0;
}

// The rank that a node requires of its first input, where it is always the same.
size_t rank_wanted(const RawNode& n) {
  static const std::set<std::string_view> planes = {"AvgPool",
                                                    "Conv2D",
                                                    "DepthwiseConv2dNative",
                                                    "ExtractImagePatches",
                                                    "FusedPadConv2D",
                                                    "MaxPool",
                                                    "MaxPoolV2",
                                                    "FusedResizeAndPadConv2D",
                                                    "LRN",
                                                    "ResizeBilinear",
                                                    "DepthToSpace",
                                                    "SpaceToDepth",
                                                    "ResizeNearestNeighbor",
                                                    "CropAndResize"};
  static const std::set<std::string_view> volumes = {"AvgPool3D", "Conv3D", "MaxPool3D"};
  return planes.count(n.type) ? 4 : volumes.count(n.type) ? 5 : n.type == "MatMul" ? 2 : 0;
}

class Assembler {
 public:
  Assembler(TensorFlowGraph graph, const Limits& limits) : graph_(std::move(graph)), limits_(limits) {}

  RawModel model(const std::vector<TensorFlowPort>& inputs, std::vector<TensorFlowPort> outputs) {
    RawModel m;
    m.framework = "tensorflow", m.conventions = tensorflow_conventions;
    m.first_output = ":0";
    m.opsets[""] = 1;
    std::vector<TensorFlowNode>& nodes = graph_.nodes;
    for (const TensorFlowNode& n : nodes)
      if (n.type == "Switch" || n.type == "RefSwitch" || n.type == "_SwitchN") switches_.insert(n.name);
    bool frozen = outputs.empty();
    if (frozen) outputs = unread();
    resolve_loops(graph_);
    for (const TensorFlowFunction& f : graph_.functions)
      if (!functions_.emplace(f.name, &f).second) throw_user("duplicate function '", f.name, "'");
    resolve_branches(nodes);
    widen_halves();
    std::unordered_map<std::string_view, size_t> index;
    for (size_t i = 0; i < nodes.size(); ++i) index.emplace(nodes[i].name, i);
    auto node_of = [&](std::string_view value, const auto& who) -> size_t {
      auto it = index.find(tensorflow_reference(value).first);
      if (it == index.end()) throw_user(who(), " '", value, "', which no node of the graph produces");
      return it->second;
    };

    for (const TensorFlowPort& p : outputs) node_of(p.value, [&] { return text("the output '", p.name, "' is"); });
    for (const TensorFlowPort& p : inputs) node_of(p.value, [&] { return text("the input '", p.name, "' is"); });

    // Everything the outputs depend on, up to the inputs.
    std::unordered_set<std::string> cut;
    for (const TensorFlowPort& p : inputs) cut.insert(p.value);
    std::vector<bool> needed(nodes.size(), false);
    std::vector<std::string> stack;
    for (const TensorFlowPort& p : outputs) stack.push_back(p.value);
    while (!stack.empty()) {
      std::string value = std::move(stack.back());
      stack.pop_back();
      if (cut.count(value)) continue;
      size_t i = index.at(tensorflow_reference(value).first);
      if (needed[i]) continue;
      needed[i] = true;
      for (const std::string& in : nodes[i].inputs) {
        node_of(in, [&] { return text("the node '", nodes[i].name, "' (", nodes[i].type, ") reads"); });
        stack.push_back(in);
      }
    }

    for (const TensorFlowNode& n : nodes)
      if (size_t rank = rank_wanted(n); rank && !n.inputs.empty()) ranks_[n.inputs[0]] = rank;
    std::vector<TensorFlowNode> kept;
    for (size_t i = 0; i < nodes.size(); ++i) {
      bool input = is_placeholder(nodes[i]) && !cut.count(nodes[i].name);
      if (input && needed[i]) m.graph.inputs.push_back(placeholder(nodes[i]));
      if (input && !needed[i] && frozen && has_element_type(nodes[i])) {
        m.graph.inputs.push_back(placeholder(nodes[i]));
        m.graph.inputs.back().unused = true;
      }
      if (!input && needed[i]) kept.push_back(nodes[i]);
    }
    for (const TensorFlowPort& p : inputs) m.graph.inputs.push_back({p.name, p.info, {}, p.value});
    std::vector<std::string> wanted;
    for (const TensorFlowPort& p : outputs) wanted.push_back(p.value);
    m.graph.nodes = finished(std::move(kept), wanted, cut);
    name_ports(m.graph, inputs, outputs);
    for (TensorFlowFunction& f : graph_.functions) m.functions.push_back(raw_function(f));
    return m;
  }

 private:
  std::vector<TensorFlowPort> unread() const {
    std::unordered_set<std::string_view> read;
    for (const TensorFlowNode& n : graph_.nodes) {
      for (const std::string& in : n.inputs) read.insert(tensorflow_reference(in).first);
      for (const std::string& in : n.controls) read.insert(in);
    }
    auto nowhere = [](const RawNode&) { return false; };
    std::unordered_set<std::string_view> looping =
        reached([](const RawNode& n) { return n.type == "Enter" || n.type == "RefEnter"; },
                [](const RawNode& n) { return n.type == "Exit" || n.type == "RefExit"; });
    std::unordered_set<std::string_view> fed = reached(is_placeholder, nowhere);
    bool training = false;  // the graph also fills, saves and restores its variables
    for (const TensorFlowNode& n : graph_.nodes)
      training |= n.type == "VarHandleOp" || n.type == "VariableV2" || n.type == "Variable";
    std::vector<TensorFlowPort> out;
    for (const TensorFlowNode& n : graph_.nodes) {
      if (looping.count(n.name) || (training && !fed.count(n.name))) continue;
      if (read.count(n.name) || is_effect(n) || is_placeholder(n) || switches_.count(n.name)) continue;
      // Identity nodes that only mark a branch.
      if (n.type == "Identity" && n.inputs.size() == 1 &&
          switches_.count(std::string(tensorflow_reference(n.inputs[0]).first)))
        continue;
      // Splitting operations have an attribute with their number of outputs.
      int64_t count = 1;
      for (const char* field : {"num_split", "num"})
        if (const RawField* f = n.find(field))
          if (auto c = f->value.get_if<int64_t>()) count = std::clamp<int64_t>(*c, 1, 4096);
      for (int64_t i = 0; i < count; ++i) {
        if (out.size() >= limits_.nodes)
          throw_limit(&Limits::nodes, "the graph has more than ", limits_.nodes, " outputs");
        std::string value = tensorflow_value(n.name, static_cast<size_t>(i));
        out.push_back({value, value, {}});
      }
    }
    if (out.empty()) throw_user("the graph has no outputs: every node has a consumer, so the graph is cyclic");
    return out;
  }

  // Nodes reachable from those that `from` accepts, stopping at those that `up_to` accepts.
  template <class From, class UpTo>
  std::unordered_set<std::string_view> reached(From&& from, UpTo&& up_to) const {
    std::unordered_set<std::string_view> inside;
    std::unordered_map<std::string_view, std::vector<const TensorFlowNode*>> readers;
    std::vector<const TensorFlowNode*> stack;
    for (const TensorFlowNode& n : graph_.nodes) {
      if (from(n)) stack.push_back(&n);
      for (const std::string& in : n.inputs) readers[tensorflow_reference(in).first].push_back(&n);
    }
    while (!stack.empty()) {
      const TensorFlowNode* n = stack.back();
      stack.pop_back();
      if (up_to(*n) || !inside.insert(n->name).second) continue;
      for (const TensorFlowNode* r : readers[n->name]) stack.push_back(r);
    }
    return inside;
  }

  // Graphs whose weights were converted to half afterwards still take float inputs: the whole graph computes in float.
  void widen_halves() {
    std::unordered_set<std::string_view> floats;
    auto type_of = [](const RawNode& n, const char* field) {
      const RawField* f = n.find(field);
      const DType* t = f ? f->value.get_if<DType>() : nullptr;
      return t ? *t : DType::undefined;
    };
    for (const TensorFlowNode& n : graph_.nodes)
      if (is_placeholder(n) && type_of(n, "dtype") == DType::f32) floats.insert(n.name);
    bool mixed = false;
    for (const TensorFlowNode& n : graph_.nodes)
      if (type_of(n, "T") == DType::f16)
        for (const std::string& in : n.inputs) mixed |= floats.count(in) != 0;
    if (!mixed) return;
    for (TensorFlowNode& n : graph_.nodes)
      for (auto& [name, f] : n.fields) {
        if (auto t = f.value.get_if<Tensor>(); t && t->type() == DType::f16) f.value = t->to(DType::f32);
        else if (auto d = f.value.get_if<DType>(); d && *d == DType::f16) f.value = DType::f32;
      }
  }

  static bool has_element_type(const TensorFlowNode& n) {
    const RawField* f = n.find("dtype");
    const DType* t = f ? f->value.get_if<DType>() : nullptr;
    return t && *t != DType::undefined;
  }
  RawValue placeholder(const TensorFlowNode& n) const {
    RawValue v;
    v.name = n.name;
    v.info.shape = Shape::unknown();
    if (const RawField* f = n.find("dtype"))
      if (auto t = f->value.get_if<DType>()) v.info.type = *t;
    if (v.info.type == DType::undefined)
      throw_unsupported("the input '", n.name, "' has an element type that is not supported");
    // Before version 24 a shape without dimensions meant an unknown shape.
    if (const RawField* f = n.find("shape"))
      if (auto s = f->value.get_if<Shape>(); s && !(s->ranked() && s->rank() == 0 && graph_.producer < 24))
        v.info.shape = *s;
    if (v.info.shape.ranked()) return v;
    if (auto it = ranks_.find(n.name); it != ranks_.end()) v.info.shape = Shape::of_rank(it->second);
    return v;
  }

  // A reference states the number of an output, and so a node how many it has.
  void count_outputs(size_t count) {
    if ((outputs_ += count) > 4 * std::min(limits_.nodes, UINT64_MAX / 4))
      throw_limit(&Limits::nodes, "the nodes have more than ", 4 * limits_.nodes, " outputs");
  }

  // Sets the outputs of nodes, and resolves the functions that they call.
  std::vector<RawNode> finished(std::vector<TensorFlowNode> nodes, const std::vector<std::string>& results,
                                const std::unordered_set<std::string>& cut) {
    std::unordered_map<std::string_view, std::set<size_t>> read;
    auto reads = [&](const std::string& value) {
      auto [name, output] = tensorflow_reference(value);
      read[name].insert(output);
    };
    for (const TensorFlowNode& n : nodes)
      for (const std::string& in : n.inputs) reads(in);
    for (const std::string& r : results) reads(r);
    std::vector<RawNode> out;
    for (const TensorFlowNode& n : nodes) {
      RawNode raw = n;
      const std::set<size_t>& ports = read[n.name];
      raw.outputs.resize(ports.empty() ? 1 : *ports.rbegin() + 1);
      count_outputs(raw.outputs.size());
      if (ports.empty()) raw.outputs[0] = n.name;
      for (size_t p : ports) raw.outputs[p] = tensorflow_value(n.name, p);
      for (std::string& o : raw.outputs)
        if (cut.count(o)) o.clear();
      for (RawNode& part : expand_calls(std::move(raw), functions_)) out.push_back(std::move(part));
    }
    return out;
  }

  // The nodes that the results depend on.
  static std::vector<TensorFlowNode> needed(const std::vector<TensorFlowNode>& nodes,
                                            const std::vector<std::string>& results) {
    std::unordered_map<std::string_view, size_t> index;
    for (size_t i = 0; i < nodes.size(); ++i) index.emplace(nodes[i].name, i);
    std::vector<bool> reached(nodes.size(), false);
    std::vector<std::string_view> stack;
    for (const std::string& r : results) stack.push_back(tensorflow_reference(r).first);
    while (!stack.empty()) {
      auto it = index.find(stack.back());
      stack.pop_back();
      if (it == index.end() || reached[it->second]) continue;  // an argument
      reached[it->second] = true;
      for (const std::string& in : nodes[it->second].inputs) stack.push_back(tensorflow_reference(in).first);
    }
    std::vector<TensorFlowNode> out;
    for (size_t i = 0; i < nodes.size(); ++i)
      if (reached[i]) out.push_back(nodes[i]);
    return out;
  }

  RawFunction raw_function(const TensorFlowFunction& f) {
    RawFunction r;
    r.name = f.name;
    for (const RawValue& v : f.inputs) r.inputs.push_back(v.name);
    r.outputs = f.outputs;
    std::vector<TensorFlowNode> nodes = f.nodes;
    resolve_branches(nodes);
    r.nodes = finished(needed(nodes, f.outputs), f.outputs, {});
    return r;
  }

  // Users see the names of the ports; inside the graph nothing changes.
  static void name_ports(RawGraph& g, const std::vector<TensorFlowPort>& inputs,
                         const std::vector<TensorFlowPort>& outputs) {
    std::unordered_map<std::string, std::string> moved;  // values renamed because a port takes their name
    std::unordered_set<std::string> ports;
    for (const TensorFlowPort& p : inputs)
      if (p.name != p.value) ports.insert(p.name);
    for (const TensorFlowPort& p : outputs)
      if (p.name != p.value) ports.insert(p.name);
    for (RawNode& n : g.nodes)
      for (std::string& o : n.outputs)
        if (ports.count(o)) o = moved[o] = o + "/inner";
    for (const TensorFlowPort& p : inputs) moved[p.value] = p.name;
    auto now = [&](const std::string& value) {
      auto it = moved.find(value);
      return it == moved.end() ? value : it->second;
    };
    for (RawNode& n : g.nodes) {
      for (std::string& in : n.inputs) in = now(in);
      // Graphs inside a node can refer to values of this one.
      for (auto& [name, f] : n.fields)
        for (auto& inner : f.graphs)
          for (RawNode& part : inner->nodes)
            for (std::string& in : part.inputs) in = now(in);
    }
    for (const TensorFlowPort& p : outputs) {
      if (p.name != now(p.value)) {
        RawNode n;
        n.type = "Identity";
        n.name = p.name;
        n.inputs = {now(p.value)};
        n.outputs = {p.name};
        g.nodes.push_back(std::move(n));
      }
      g.outputs.push_back({p.name, p.info, {}});
    }
  }

  TensorFlowGraph graph_;
  const Limits& limits_;
  size_t outputs_ = 0;  // of all nodes
  TensorFlowFunctions functions_;
  std::unordered_set<std::string> switches_;
  std::unordered_map<std::string, size_t> ranks_;  // of values, as their consumers require
};

}  // namespace

RawModel assemble_tensorflow(TensorFlowGraph graph, const Limits& limits, const std::vector<TensorFlowPort>& inputs,
                             const std::vector<TensorFlowPort>& outputs) {
  return Assembler(std::move(graph), limits).model(inputs, outputs);
}

}  // namespace graft
