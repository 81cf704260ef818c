// Planning, stage 1: how each node is computed.
#include <algorithm>
#include <deque>

#include "base/tensor.hpp"
#include "base/threads.hpp"
#include "runtime/planning.hpp"
#include "schema/resolve.hpp"

namespace graft {

namespace {

[[noreturn]] void no_kernel(const OpDef& op, const Node& node, const Declined& declined) {
  std::string why = declined.empty() ? text("operation ", op.name(), " of ", op.opset(), " has no kernel")
                                     : text("no kernel accepts ", op.name(), ": ", to_text(declined));
  throw Error(ErrorKind::unsupported, why,
              declined.empty() ? "list the operations without a kernel with `Core::operations`" : "")
      .while_(text("choosing a kernel for ", describe(node)));
}

// A node of a draft as its kernels see it.
class DraftNode {
 public:
  DraftNode(Draft& draft, NodeId id)
      : draft_(draft), node_(draft.plan->graph[id]), work_(draft.works[id]), context(node_, infos()) {
    for (const Output& o : node_.outputs) context.outputs.push_back(seen(o.info));
    context.input_layouts = work_.in_memory_order ? std::vector<Layout>() : work_.inputs;
    context.output_layouts = work_.in_memory_order ? std::vector<Layout>() : work_.outputs;
    context.registry = &draft_.kernels.registry;
    context.call_threads = ThreadPool::shared().threads(draft_.options.threads);
    context.bodies = [this](size_t i, const std::vector<Info>& parameters) {
      return Inference::results_of(draft_.kernels.registry, *node_.bodies[i].graph, parameters, draft_.options.limits);
    };
    context.constants = [this](size_t i) -> const Tensor* {
      const Tensor* t = constant(node_.inputs[i]);
      if (!t || !*t || !work_.in_memory_order || work_.inputs[i] != Layout::channels_last) return t;
      std::vector<int64_t> dims = memory_order(t->dims(), rank());
      if (!same_order(full_dims(*t))) return nullptr;  // it is reordered at run time
      return &reordered_.emplace_back(Tensor::wrap(t->type(), dims, const_cast<void*>(t->data())));
    };
  }

 private:
  const Tensor* constant(ValueId v) const {
    if (const Draft::Value& known = draft_.value(v); known.constant || known.released) return &known.constant;
    std::lock_guard lock(draft_.mutex);
    return draft_.inference.constant(v);
  }
  size_t rank() const { return node_.outputs[0].info.shape.rank(); }
  std::vector<int64_t> full_dims(const Tensor& t) const {
    std::vector<int64_t> dims(rank() - t.dims().size(), 1);
    dims.insert(dims.end(), t.dims().begin(), t.dims().end());
    return dims;
  }
  Info seen(const Info& info) const {
    if (!work_.in_memory_order || work_.outputs.empty() || work_.outputs[0] != Layout::channels_last) return info;
    return {info.type, Shape::of(memory_order(info.shape.values(), rank()))};
  }
  std::vector<std::optional<Info>> infos() const {
    std::vector<std::optional<Info>> out;
    for (ValueId v : node_.inputs) out.push_back(v.present() ? std::optional(seen(draft_.info(v))) : std::nullopt);
    return out;
  }

  Draft& draft_;
  const Node& node_;
  const Work& work_;
  std::deque<Tensor> reordered_;

 public:
  NodeContext context;
};

class Selection {
 public:
  explicit Selection(Draft& draft, const std::function<void(NodeId)>* compute = nullptr)
      : d_(draft), g_(draft.plan->graph), compute_(compute) {}

  void node(NodeId id) {
    const Node& n = g_[id];
    Work& w = d_.works[id];
    if (n.is("Parameter")) d_.value({id, 0}).planned = true;
    if (n.is("Parameter") || n.is("Result")) return;
    w.op = &definition(d_.kernels.registry, n);
    w.choice = {.node = n.name, .type = n.type, .opset = n.opset};
    for (ValueId v : n.inputs) w.choice.inputs.push_back(v.present() ? g_.info(v) : Info{});
    for (const Output& o : n.outputs) w.choice.outputs.push_back(o.info);
    if (is_constant(id)) constant(id);
    else if (is_view(id)) w.kind = Work::view, w.choice.note = "view of its input";
    else
      with_context([&] { compute_ ? (*compute_)(id) : computed(id); }, [&] { return text("compiling ", describe(n)); });
    for (uint32_t i = 0; i < n.outputs.size(); ++i) d_.value({id, i}).planned = planned(id, i);
  }

 private:
  bool is_constant(NodeId id) {
    const Node& n = g_[id];
    if (d_.works[id].op->has(GRAFT_OP_SINK) || n.outputs.empty()) return false;
    for (uint32_t i = 0; i < n.outputs.size(); ++i)
      if (d_.value({id, i}).consumers > 0 && !d_.inference.constant({id, i})) return false;
    return true;
  }
  void constant(NodeId id) {
    Work& w = d_.works[id];
    w.kind = Work::constant;
    if (!g_[id].is("Constant")) w.choice.note = "constant";
    for (uint32_t i = 0; i < g_[id].outputs.size(); ++i) {
      Draft::Value& v = d_.value({id, i});
      if (v.consumers == 0) continue;
      v.constant = *d_.inference.constant({id, i});
    }
  }
  // The output shares the memory of the input. A result of the model gets its own memory instead.
  bool is_view(NodeId id) {
    const Node& n = g_[id];
    return d_.works[id].op->has(GRAFT_OP_VIEW) && !d_.value({id, 0}).is_result && n.outputs[0].info.shape.is_static() &&
           d_.value(n.inputs[0]).planned;
  }
  void computed(NodeId id) {
    Work& w = d_.works[id];
    w.kind = Work::kernel;
    for (ValueId v : g_[id].inputs)
      if (v.present() && !d_.value(v).planned) w.kind = Work::run_time;
    if (w.kind == Work::run_time) return void(w.choice.note = "decided at run time");
    w.kernels = kernel_candidates(d_.kernels.registry, *w.op, d_.kernels.devices);
    choose_kernel(d_, id);
  }
  bool planned(NodeId id, uint32_t output) {
    const Work& w = d_.works[id];
    const Info& info = g_[id].outputs[output].info;
    if (w.kind == Work::constant || w.kind == Work::view) return true;
    // Operations with bodies allocate the outputs of their bodies themselves.
    if (!g_[id].bodies.empty() || !info.shape.is_static() || info.type == DType::undefined) return false;
    // What is decided at run time may still have a shape that is known, and what follows it is planned.
    return w.kind == Work::kernel || (w.kind == Work::run_time && info.type != DType::string);
  }

  Draft& d_;
  const Graph& g_;
  const std::function<void(NodeId)>* compute_;
};

}  // namespace

void choose_kernel(Draft& draft, NodeId id) {
  Work& w = draft.works[id];
  DraftNode node(draft, id);
  if (!w.kernels.first([&](const KernelDef& k) { ask(*k.record, node.context); }))
    no_kernel(*w.op, draft.plan->graph[id], w.kernels.declined);
}

bool prepare_chosen(Draft& draft, NodeId id) {
  Work& w = draft.works[id];
  DraftNode node(draft, id);
  auto pack = [&](const graft_kernel& k) { return draft.kernels.packs.get(k, draft.plan->graph, id); };
  if (!w.kernels.attempt([&](const KernelDef& k) { w.prepared = PreparedKernel(k, node.context, pack); })) {
    choose_kernel(draft, id);
    return false;
  }
  for (size_t i : w.prepared.taken) draft.release(draft.plan->graph[id].inputs[i]);
  w.choice.device = view(w.prepared.kernel->device), w.choice.kernel = view(w.prepared.kernel->name);
  w.choice.declined = w.kernels.declined;
  for (const auto& [operation, held] : w.prepared.applied)
    w.choice.note += text(w.choice.note.empty() ? "applies " : ", ", operation);
  return true;
}

void select_kernels(Draft& draft) {
  Selection selection(draft);
  for (NodeId id : draft.order) selection.node(id);
}

void select_kernels(Draft& draft, const std::function<void(NodeId)>& compute) {
  Selection selection(draft, &compute);
  for (NodeId id : draft.order) selection.node(id);
}

PreparedKernel choose_kernel(const KernelSource& from, const OpDef& op, const Graph& graph, NodeId id,
                             NodeContext& context) {
  Candidates<KernelDef> kernels = kernel_candidates(from.registry, op, from.devices);
  context.registry = &from.registry;
  PreparedKernel out =
      prepare_first(kernels, context, [&](const graft_kernel& k) { return from.packs.get(k, graph, id); });
  if (!out) no_kernel(op, graph[id], kernels.declined);
  return out;
}

}  // namespace graft
