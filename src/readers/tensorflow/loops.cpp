#include "readers/tensorflow/loops.hpp"

#include <map>
#include <set>
#include <unordered_map>

namespace graft {
namespace {

struct LoopVariable {
  const TensorFlowNode *enter, *merge, *next = nullptr, *change = nullptr;  // change: the Switch
};

// One loop: its variables and its invariants.
struct Frame {
  std::vector<LoopVariable> variables;
  std::vector<const TensorFlowNode*> constants;  // Enter nodes
  const TensorFlowNode* condition = nullptr;     // LoopCond
};

bool marks_a_branch(const RawNode& n) { return n.type == "NoOp" || n.type == "Identity"; }
bool is_enter(const RawNode& n) { return n.type == "Enter" || n.type == "RefEnter"; }

class Loops {
 public:
  // `prefix` distinguishes the loops of one list of nodes from those of another.
  Loops(std::vector<TensorFlowNode>& nodes, std::vector<TensorFlowFunction>& functions, std::string prefix)
      : nodes_(nodes), functions_(functions), prefix_(std::move(prefix)) {}

  void resolve() {
    for (;;) {
      std::set<std::string> frames;
      index_.clear();
      for (const TensorFlowNode& n : nodes_) {
        index_.emplace(n.name, &n);
        if (is_enter(n)) frames.insert(frame_of(n));
      }
      if (frames.empty()) return;
      bool done = false;
      for (const std::string& f : frames)
        if ((done = with_context([&] { return replace(f); }, [&] { return text("reading the loop '", f, "'"); })))
          break;
      if (!done) throw_unsupported("unsupported nesting of loops in the graph");
    }
  }

 private:
  static std::string frame_of(const TensorFlowNode& enter) {
    const RawField* f = enter.find("frame_name");
    const std::string* name = f ? f->value.get_if<std::string>() : nullptr;
    if (!name) throw_user("the node '", enter.name, "' (", enter.type, ") has no frame_name");
    return *name;
  }
  const TensorFlowNode* find(std::string_view value) const {
    auto it = index_.find(tensorflow_reference(value).first);
    return it == index_.end() ? nullptr : it->second;
  }

  Frame frame(const std::string& name) const {
    Frame f;
    std::map<std::string_view, size_t> merges;
    for (const TensorFlowNode& n : nodes_) {
      if (n.type != "Merge" && n.type != "RefMerge") continue;
      const TensorFlowNode* enter = n.inputs.size() == 2 ? find(n.inputs[0]) : nullptr;
      if (!enter || !is_enter(*enter) || frame_of(*enter) != name) continue;
      const TensorFlowNode* next = find(n.inputs[1]);
      if (!next || next->inputs.empty() || (next->type != "NextIteration" && next->type != "RefNextIteration"))
        throw_unsupported("the node '", n.name, "' (Merge) has no NextIteration as its second input");
      merges.emplace(n.name, f.variables.size());
      f.variables.push_back({enter, &n, next, nullptr});
    }
    std::set<const TensorFlowNode*> varying;
    for (const LoopVariable& v : f.variables) varying.insert(v.enter);
    for (const TensorFlowNode& n : nodes_) {
      if (is_enter(n) && frame_of(n) == name && !varying.count(&n)) f.constants.push_back(&n);
      if ((n.type != "Switch" && n.type != "RefSwitch") || n.inputs.size() != 2) continue;
      auto it = merges.find(tensorflow_reference(n.inputs[0]).first);
      const TensorFlowNode* condition = it == merges.end() ? nullptr : find(n.inputs[1]);
      if (!condition || condition->type != "LoopCond" || condition->inputs.empty()) continue;
      if (f.condition && f.condition != condition) throw_unsupported("the loop has two conditions");
      f.condition = condition;
      f.variables[it->second].change = &n;
    }
    if (f.variables.empty() || !f.condition) throw_unsupported("the loop has no condition or no loop variables");
    return f;
  }

  // The function that computes `results`; `stops` maps references of the graph to argument names. False: it contains
  // another loop.
  bool function(TensorFlowFunction& f, const std::map<std::string, std::string>& stops,
                const std::vector<std::string>& results) const {
    std::set<std::string_view> taken;
    std::vector<std::string> stack = results;
    std::vector<const TensorFlowNode*> inside;
    while (!stack.empty()) {
      std::string value = std::move(stack.back());
      stack.pop_back();
      if (stops.count(value)) continue;
      const TensorFlowNode* n = find(value);
      if (!n) throw_user("reference to '", value, "', which no node of the graph produces");
      if (!taken.insert(n->name).second) continue;
      if (n->type == "Exit" || n->type == "RefExit") return false;
      if (is_enter(*n) || n->type == "NextIteration" || n->type == "RefNextIteration")
        throw_unsupported("the node '", n->name, "' (", n->type, ") is used in an unsupported way");
      inside.push_back(n);
      for (const std::string& in : n->inputs) stack.push_back(in);
      // Only control inputs tell the branch of nodes without inputs.
      for (const std::string& c : n->controls)
        if (const TensorFlowNode* before = find(c); before && marks_a_branch(*before)) stack.push_back(c);
    }
    auto now = [&](const std::string& value) {
      auto it = stops.find(value);
      return it == stops.end() ? value : it->second;
    };
    for (const TensorFlowNode* n : inside) {
      TensorFlowNode copy = *n;
      std::erase_if(copy.controls, [&](const std::string& c) { return !taken.count(c); });
      for (std::string& in : copy.inputs) in = now(in);
      f.nodes.push_back(std::move(copy));
    }
    for (const std::string& r : results) f.outputs.push_back(now(r));
    return true;
  }

  bool replace(const std::string& name) {
    work_ += nodes_.size();
    if (work_ > 1'000'000'000) throw_unsupported("the graph has too many loops");
    Frame f = frame(name);
    TensorFlowFunction test, body;
    test.name = "loop " + prefix_ + name + " condition";
    body.name = "loop " + prefix_ + name + " body";
    TensorFlowNode loop;
    loop.type = "While";
    loop.name = name;
    loop.position = f.condition->position;
    while (index_.count(loop.name)) loop.name += "_";
    std::map<std::string, std::string> test_stops, body_stops;
    std::vector<std::string> next;
    auto argument = [&](const TensorFlowNode& enter) {
      RawValue v{"/argument" + std::to_string(body.inputs.size()), {DType::undefined, Shape::unknown()}, {}};
      if (const RawField* t = enter.find("T"))
        if (auto type = t->value.get_if<DType>()) v.info.type = *type;
      if (enter.inputs.empty()) throw_user("the node '", enter.name, "' (Enter) has no input");
      // The flow value of a tensor array, passed from one write to the next, represents the array. A variant is a list
      // too.
      const TensorFlowNode* from = find(enter.inputs[0]);
      bool variant = v.info.type == DType::undefined && enter.domain.empty();
      if (variant || (from && from->type == "TensorArrayV3")) v.kind = "list";
      test.inputs.push_back(v), body.inputs.push_back(v);
      loop.inputs.push_back(enter.inputs[0]);
      return v.name;
    };
    for (const LoopVariable& v : f.variables) {
      std::string a = argument(*v.enter);
      test_stops[v.merge->name] = a;
      if (v.change) body_stops[v.change->name + ":1"] = a;
      body_stops[v.merge->name] = a;
      next.push_back(v.next->inputs[0]);
    }
    for (const TensorFlowNode* c : f.constants) {
      std::string a = argument(*c);
      test_stops[c->name] = body_stops[c->name] = a;
      next.push_back(c->name);
    }
    if (!function(test, test_stops, {f.condition->inputs[0]}) || !function(body, body_stops, next)) return false;

    // Removes the nodes that belong to the loop; its exits read the new node.
    std::set<std::string> gone{f.condition->name};
    std::unordered_map<std::string, size_t> exits;
    for (size_t i = 0; i < f.variables.size(); ++i) {
      const LoopVariable& v = f.variables[i];
      gone.insert({v.enter->name, v.merge->name, v.next->name});
      if (!v.change) continue;
      gone.insert(v.change->name);
      exits[v.change->name] = i;
    }
    for (const TensorFlowNode* c : f.constants) gone.insert(c->name);
    for (const TensorFlowFunction* part : {&test, &body})
      for (const TensorFlowNode& n : part->nodes)
        if (n.type != "Const") gone.insert(n.name);
    std::vector<TensorFlowNode> kept;
    for (TensorFlowNode& n : nodes_) {
      if ((n.type == "Exit" || n.type == "RefExit") && n.inputs.size() == 1)
        if (auto it = exits.find(n.inputs[0]); it != exits.end()) {
          n.type = "Identity";
          n.inputs = {tensorflow_value(loop.name, it->second)};
        }
      if (!gone.count(n.name)) kept.push_back(std::move(n));
    }
    RawField cond_field, body_field;
    cond_field.value = test.name, body_field.value = body.name;
    loop.fields = {{"cond", std::move(cond_field)}, {"body", std::move(body_field)}};
    kept.push_back(std::move(loop));
    functions_.push_back(std::move(test));
    functions_.push_back(std::move(body));
    nodes_ = std::move(kept);
    return true;
  }

  std::vector<TensorFlowNode>& nodes_;
  std::vector<TensorFlowFunction>& functions_;
  std::string prefix_;
  std::unordered_map<std::string_view, const TensorFlowNode*> index_;
  size_t work_ = 0;  // nodes visited
};

}  // namespace

void resolve_loops(TensorFlowGraph& graph) {
  Loops(graph.nodes, graph.functions, "").resolve();
  for (size_t i = 0, own = graph.functions.size(); i < own; ++i) {
    // The list of functions grows in the process.
    std::vector<TensorFlowNode> nodes = std::move(graph.functions[i].nodes);
    std::string name = graph.functions[i].name;
    with_context([&] { Loops(nodes, graph.functions, name + "/").resolve(); },
                 [&] { return text("reading the function '", name, "'"); });
    graph.functions[i].nodes = std::move(nodes);
  }
}

}  // namespace graft
