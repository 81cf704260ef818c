// Planning, stage 1: how each node is computed.
#include <algorithm>
#include <deque>

#include "base/tensor.hpp"
#include "runtime/planning.hpp"
#include "schema/resolve.hpp"

namespace graft {

namespace {

[[noreturn]] void no_kernel(const OpDef& op, const Node& node,
                            const std::vector<std::pair<std::string, std::string>>& declined) {
  std::string why = declined.empty() ? text("operation ", op.name(), " of ", op.opset(), " has no kernel")
                                     : text("no kernel accepts ", op.name(), ":");
  for (const auto& [kernel, reason] : declined) why += text(" ", kernel, " declined with '", reason, "';");
  throw Error(ErrorKind::unsupported, why,
              declined.empty() ? "graft ops --missing lists the operations without a kernel" : "")
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

// Runs a callback of the chosen kernel; false if it declines.
template <class F>
bool attempt(Work& w, F&& call) {
  try {
    call(w.kernel_record());
    return true;
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::unsupported) throw;
    w.choice.declined.emplace_back(view(w.kernel_record().name), e.message());
    return false;
  }
}

void accept_chosen(Draft& draft, NodeId id) {
  Work& w = draft.works[id];
  DraftNode node(draft, id);
  for (; w.chosen < w.candidates.size(); ++w.chosen)
    if (attempt(w, [&](const graft_kernel& k) {
          if (k.accept) check_callback(k.accept(&node.context, k.user));
        }))
      return;
  no_kernel(*w.op, draft.plan->graph[id], w.choice.declined);
}

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
    w.choice = {n.name, n.type, n.opset, {}, {}, {}, {}, {}, {}, {}, {}, 0};
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
    for (const std::string& device : d_.kernels.devices)
      for (const KernelDef& k : d_.kernels.registry.kernels(*w.op, device)) w.candidates.emplace_back(device, k);
    accept_chosen(d_, id);
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

void choose_next(Draft& draft, NodeId id) {
  ++draft.works[id].chosen;
  accept_chosen(draft, id);
}

bool prepare_chosen(Draft& draft, NodeId id) {
  Work& w = draft.works[id];
  DraftNode node(draft, id);
  const auto& [device, kernel] = w.candidates[w.chosen];
  Packed packed;
  node.context.packs = [&, &k = *kernel.record] {
    return (packed = draft.kernels.packs.get(k, draft.plan->graph, id)).made.get();
  };
  void* state = nullptr;
  if (!attempt(w, [&](const graft_kernel& k) {
        if (k.prepare) check_callback(k.prepare(&node.context, k.user, &state));
      })) {
    choose_next(draft, id);
    return false;
  }
  w.prepared = PreparedKernel(kernel, std::move(packed.made), state, node.context.scratch_bytes);
  w.taken = std::move(packed.taken);
  for (size_t i : w.taken) draft.release(draft.plan->graph[id].inputs[i]);
  w.choice.device = device;
  w.choice.kernel = view(kernel.record->name);
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
  std::vector<std::pair<std::string, std::string>> declined;
  for (const std::string& device : from.devices)
    for (const KernelDef& k : from.registry.kernels(op, device)) {
      try {
        if (!takes_plain(*k.record)) throw_unsupported("it does not take plain tensors");
        context.scratch_bytes = 0;
        if (k.record->accept) check_callback(k.record->accept(&context, k.record->user));
        void* state = nullptr;
        std::shared_ptr<const void> packed;
        context.packs = [&] { return (packed = from.packs.get(*k.record, graph, id).made).get(); };
        if (k.record->prepare) check_callback(k.record->prepare(&context, k.record->user, &state));
        return PreparedKernel(k, std::move(packed), state, context.scratch_bytes);
      } catch (const Error& e) {
        if (e.kind() != ErrorKind::unsupported) throw;
        declined.emplace_back(view(k.record->name), e.message());
      }
    }
  no_kernel(op, graph[id], declined);
}

}  // namespace graft
