#include "runtime/plan.hpp"

#include <algorithm>

#include "base/tensor.hpp"
#include "runtime/memory_plan.hpp"
#include "schema/resolve.hpp"

namespace graft {

PreparedKernel choose_kernel(const KernelSource& from, const OpDef& op, const Graph& graph, NodeId id,
                             NodeContext& context, Choice* choice) {
  std::vector<std::pair<std::string, std::string>> declined;
  for (const std::string& device : from.devices)
    for (const KernelDef& k : from.registry.kernels(op, device)) {
      try {
        context.scratch_bytes = 0;
        if (k.record->accept) check_callback(k.record->accept(&context, k.record->user));
        void* state = nullptr;
        std::shared_ptr<const void> packed;
        context.packs = [&] { return (packed = from.packs.get(*k.record, graph, id)).get(); };
        if (k.record->prepare) check_callback(k.record->prepare(&context, k.record->user, &state));
        if (choice) {
          choice->device = device;
          choice->kernel = view(k.record->name);
          choice->declined = std::move(declined);
        }
        return PreparedKernel(k, std::move(packed), state, context.scratch_bytes);
      } catch (const Error& e) {
        if (e.kind() != ErrorKind::unsupported) throw;
        declined.emplace_back(view(k.record->name), e.message());
      }
    }
  std::string why = declined.empty() ? text("operation ", op.name(), " of ", op.opset(), " has no kernel")
                                     : text("no kernel accepts ", op.name(), ":");
  for (const auto& [kernel, reason] : declined) why += text(" ", kernel, " declined with '", reason, "';");
  throw Error(ErrorKind::unsupported, why,
              declined.empty() ? "graft ops --missing lists the operations without a kernel" : "")
      .while_(text("choosing a kernel for ", describe(graph[id])));
}

namespace {

class Planner {
 public:
  Planner(Graph graph, const KernelSource& kernels, const CompileOptions& options)
      : registry_(kernels.registry), kernels_(kernels), options_(options), plan_(std::make_shared<Plan>()) {
    plan_->graph = std::move(graph);
  }

  std::shared_ptr<const Plan> make(const std::vector<Info>& inputs) {
    Graph& g = plan_->graph;
    for (size_t i = 0; i < inputs.size(); ++i) {
      Node& p = g[g.parameters()[i]];
      p.attrs["shape"] = inputs[i].shape;
      p.attrs["element_type"] = inputs[i].type;
    }
    Inference inference(registry_, g, options_.limits);
    order_ = g.topological_order();
    for (NodeId id : order_) inference.infer(id);
    slot_of_.resize(g.end_id());
    count_readers();
    for (size_t i = 0; i < g.parameters().size(); ++i)
      plan_->inputs.push_back(add_slot({g.parameters()[i], 0}, Slot::input, i));
    for (NodeId id : order_) node(id, inference);
    for (NodeId id : g.results()) plan_->results.push_back(slot(g[id].inputs[0]));
    share_memory();
    lay_out();
    return plan_;
  }

 private:
  void count_readers() {
    const Graph& g = plan_->graph;
    readers_.resize(g.end_id());
    for (NodeId id : order_)
      for (ValueId v : g[id].inputs) {
        if (!v.present()) continue;
        auto& r = readers_[v.node];
        if (r.size() <= v.port) r.resize(v.port + 1, 0);
        ++r[v.port];
        if (g[id].is("Result")) results_.push_back(v);
      }
    std::sort(results_.begin(), results_.end());
  }
  bool is_read(ValueId v) const { return v.port < readers_[v.node].size() && readers_[v.node][v.port] > 0; }
  bool is_result(ValueId v) const { return std::binary_search(results_.begin(), results_.end(), v); }

  uint32_t& slot(ValueId v) {
    auto& ports = slot_of_[v.node];
    if (ports.size() <= v.port) ports.resize(v.port + 1, no_slot);
    return ports[v.port];
  }
  uint32_t add_slot(ValueId v, Slot::Kind kind, size_t index = 0) {
    auto id = static_cast<uint32_t>(plan_->slots.size());
    Slot& s = plan_->slots.emplace_back();
    s.kind = kind;
    s.info = plan_->graph.info(v);
    s.root = id;
    s.index = index;
    if (s.info.shape.is_static()) s.dims = s.info.shape.values();
    return slot(v) = id;
  }
  uint32_t add_constant(ValueId v, const Tensor& t) {
    plan_->constants.push_back(is_aligned(t) ? t : t.clone());
    plan_->explanation.constant_bytes += t.bytes();
    uint32_t s = add_slot(v, Slot::constant, plan_->constants.size() - 1);
    plan_->slots[s].info = t.info();
    plan_->slots[s].dims = t.dims();
    return s;
  }

  void node(NodeId id, Inference& inference) {
    const Node& n = plan_->graph[id];
    if (n.is("Parameter") || n.is("Result")) return;
    const OpDef& op = definition(registry_, n);
    Choice choice{n.name, n.type, n.opset, {}, {}, {}, {}, {}, {}};
    for (ValueId v : n.inputs) choice.inputs.push_back(v.present() ? plan_->graph.info(v) : Info{});
    for (const Output& o : n.outputs) choice.outputs.push_back(o.info);

    if (all_constant(id, inference)) {
      for (uint32_t i = 0; i < n.outputs.size(); ++i)
        if (is_read({id, i})) add_constant({id, i}, *inference.constant({id, i}));
      if (n.is("Constant")) return;
      choice.note = "constant";
    } else if (op.has(GRAFT_OP_VIEW) && view_of_input(id)) {
      choice.note = "view of its input";
    } else {
      with_context([&] { step(id, op, inference, choice); }, [&] { return text("compiling ", describe(n)); });
    }
    plan_->explanation.choices.push_back(std::move(choice));
  }

  bool all_constant(NodeId id, Inference& inference) {
    const Node& n = plan_->graph[id];
    const OpDef* op = registry_.find(n.type, n.opset);
    if (op->has(GRAFT_OP_SINK) || n.outputs.empty()) return false;
    for (uint32_t i = 0; i < n.outputs.size(); ++i)
      if (is_read({id, i}) && !inference.constant({id, i})) return false;
    return true;
  }

  // The output shares the memory of the input. A result of the model gets its own memory instead.
  bool view_of_input(NodeId id) {
    const Node& n = plan_->graph[id];
    if (is_result({id, 0}) || !n.outputs[0].info.shape.is_static()) return false;
    uint32_t source = slot(n.inputs[0]);
    if (plan_->slots[source].kind == Slot::dynamic) return false;
    uint32_t s = add_slot({id, 0}, plan_->slots[source].kind, plan_->slots[source].index);
    plan_->slots[s].root = plan_->slots[source].root;
    return true;
  }

  void step(NodeId id, const OpDef& op, Inference& inference, Choice& choice) {
    const Node& n = plan_->graph[id];
    Step s{id, &op, {}, {}, {}, {}, 0};
    bool fixed = true;  // all inputs have known shapes
    std::vector<std::optional<Info>> infos;
    for (ValueId v : n.inputs) {
      s.inputs.push_back(v.present() ? slot(v) : no_slot);
      infos.push_back(v.present() ? std::optional(plan_->graph.info(v)) : std::nullopt);
      if (v.present() && plan_->slots[s.inputs.back()].kind == Slot::dynamic) fixed = false;
    }
    NodeContext context(n, std::move(infos));
    // Uses the plan's own copies where it has them: weights are unaligned in a file, and kernels need them aligned.
    context.constants = [&](size_t i) -> const Tensor* {
      const Slot* in = s.inputs[i] == no_slot ? nullptr : &plan_->slots[s.inputs[i]];
      return in && in->kind == Slot::constant && in->root == s.inputs[i] ? &plan_->constants[in->index]
                                                                         : inference.constant(n.inputs[i]);
    };
    context.bodies = [&](size_t i, const std::vector<Info>& parameters) {
      return Inference::results_of(registry_, *n.bodies[i].graph, parameters, options_.limits);
    };
    for (const Output& o : n.outputs) context.outputs.push_back(o.info);
    if (fixed) s.kernel = choose_kernel(kernels_, op, plan_->graph, id, context, &choice);
    else choice.note = "decided at run time";

    for (uint32_t i = 0; i < n.outputs.size(); ++i) {
      s.used.push_back(is_read({id, i}));
      const Info& info = n.outputs[i].info;
      // Operations with bodies allocate the outputs of their bodies themselves.
      bool planned = fixed && n.bodies.empty() && info.shape.is_static() && info.type != DType::undefined;
      if (planned && options_.body) check_dynamic(options_.limits.value_bytes, info.type, info.shape.values());
      s.outputs.push_back(add_slot({id, i}, !planned                                           ? Slot::dynamic
                                            : is_result({id, i}) && info.type != DType::string ? Slot::output
                                                                                               : Slot::arena));
    }
    plan_->steps.push_back(std::move(s));
  }

  uint32_t root(uint32_t s) {
    while (plan_->slots[s].root != s) s = plan_->slots[s].root = plan_->slots[plan_->slots[s].root].root;
    return s;
  }

  // Lifetimes, and outputs that reuse the memory of an input without further consumers.
  void share_memory() {
    std::vector<Slot>& slots = plan_->slots;
    for (size_t i = 0; i < plan_->steps.size(); ++i) {
      for (uint32_t in : plan_->steps[i].inputs)
        if (in != no_slot) slots[root(in)].last_step = slots[in].last_step = i;
      for (uint32_t out : plan_->steps[i].outputs) slots[out].last_step = i;
    }
    for (uint32_t r : plan_->results) slots[root(r)].last_step = slots[r].last_step = plan_->steps.size();
    for (size_t i = 0; i < plan_->steps.size(); ++i) {
      const Step& s = plan_->steps[i];
      if (!s.op->has(GRAFT_OP_IN_PLACE) || s.inputs.empty() || s.inputs[0] == no_slot || s.outputs.empty()) continue;
      uint32_t from = root(s.inputs[0]), to = s.outputs[0];
      const Slot& in = slots[s.inputs[0]];
      if (slots[from].kind != Slot::arena || slots[to].kind != Slot::arena || slots[from].last_step != i) continue;
      if (in.info.type != slots[to].info.type || in.dims != slots[to].dims) continue;
      bool twice = false;  // f(x, x) would overwrite its other input
      for (size_t k = 1; k < s.inputs.size(); ++k) twice |= s.inputs[k] != no_slot && root(s.inputs[k]) == from;
      if (twice) continue;
      slots[to].root = from;
      slots[from].last_step = std::max(slots[to].last_step, i);
    }
  }

  void lay_out() {
    std::vector<Slot>& slots = plan_->slots;
    std::vector<size_t> first(slots.size(), 0);
    for (size_t i = plan_->steps.size(); i-- > 0;)
      for (uint32_t o : plan_->steps[i].outputs) first[root(o)] = i;
    std::vector<Lifetime> lives;
    std::vector<uint32_t> owner;
    for (uint32_t s = 0; s < slots.size(); ++s) {
      if (slots[s].kind != Slot::arena) continue;
      size_t bytes = bytes_for(slots[s].info.type, count_checked(slots[s].dims));
      plan_->explanation.unshared_bytes += bytes;
      if (root(s) != s) continue;
      lives.push_back({bytes, first[s], std::max(slots[s].last_step, first[s])});
      owner.push_back(s);
    }
    size_t values = lives.size();
    for (size_t i = 0; i < plan_->steps.size(); ++i)
      if (size_t bytes = plan_->steps[i].kernel.scratch_bytes) {
        lives.push_back({bytes, i, i});
        owner.push_back(static_cast<uint32_t>(i));
        plan_->explanation.unshared_bytes += bytes;
      }
    plan_->arena_bytes = plan_->explanation.arena_bytes = plan_memory(lives);
    plan_->explanation.plans_memory = true;
    for (size_t i = 0; i < lives.size(); ++i) {
      if (i < values) slots[owner[i]].offset = lives[i].offset;
      else plan_->steps[owner[i]].scratch_offset = lives[i].offset;
    }
    // The location of a result that the plan places itself.
    std::vector<bool> taken(slots.size(), false);
    for (size_t i = 0; i < plan_->results.size(); ++i) {
      Slot& s = slots[plan_->results[i]];
      if (s.kind != Slot::output || taken[plan_->results[i]]) continue;
      taken[plan_->results[i]] = true;
      s.index = i;
    }
    for (uint32_t s = 0; s < slots.size(); ++s) {
      const Slot& r = slots[root(s)];
      slots[s].offset = r.offset;
      slots[s].index = r.index;
    }
  }

  const Registry& registry_;
  const KernelSource& kernels_;
  const CompileOptions& options_;
  std::shared_ptr<Plan> plan_;
  std::vector<NodeId> order_;
  std::vector<std::vector<uint32_t>> slot_of_;
  std::vector<std::vector<uint32_t>> readers_;
  std::vector<ValueId> results_;
};

}  // namespace

std::shared_ptr<const Plan> make_plan(const Graph& graph, const KernelSource& kernels, const std::vector<Info>& inputs,
                                      const CompileOptions& options) {
  return Planner(graph.clone(), kernels, options).make(inputs);
}

}  // namespace graft
