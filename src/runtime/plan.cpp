#include "runtime/plan.hpp"

#include "base/heap.hpp"
#include "runtime/explanation.hpp"
#include "runtime/planning.hpp"

namespace graft {

Draft::Draft(Graph graph, const KernelSource& from, const std::vector<Info>& inputs, const CompileOptions& compile)
    : kernels(from),
      options(compile),
      plan(std::make_shared<Plan>(std::move(graph))),
      inference(from.registry, plan->graph, compile.limits) {
  Graph& g = plan->graph;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Node& p = g[g.parameters()[i]];
    p.attrs["shape"] = inputs[i].shape;
    p.attrs["element_type"] = inputs[i].type;
  }
  order = g.topological_order();
  for (NodeId id : order) inference.infer(id);
  works.resize(g.end_id());
  values.resize(g.end_id());
  count_consumers();
}

void Draft::count_consumers() {
  const Graph& g = plan->graph;
  for (NodeId id : order) {
    values[id].resize(g[id].outputs.size());
    for (Value& v : values[id]) v.consumers = 0, v.is_result = false;
  }
  for (NodeId id : order)
    for (ValueId v : g[id].inputs)
      if (v.present()) ++value(v).consumers, value(v).is_result |= g[id].is("Result");
}

void Draft::release(ValueId v) {
  if (!frees_constants || value(v).consumers != 1 || value(v).released || !plan->graph[v.node].is("Constant")) return;
  constexpr size_t much = size_t{8} << 20;
  std::lock_guard lock(mutex);
  freed += value(v).constant.bytes();
  inference.forget_constant(v);
  value(v).constant = {};
  value(v).released = true;
  plan->graph[v.node].attrs["value"] = Tensor();
  if (freed >= much) trim_heap(), freed = 0;
}

std::shared_ptr<const Plan> make_plan(Graph graph, const KernelSource& kernels, const std::vector<Info>& inputs,
                                      const CompileOptions& options, bool only) {
  Draft draft(std::move(graph), kernels, inputs, options);
  draft.frees_constants = only;
  select_kernels(draft);
  choose_layouts(draft);
  draft.count_consumers();
  make_steps(draft);
  share_memory(*draft.plan);
  place_slots(*draft.plan);
  add_ports(draft.plan->explanation, draft.plan->graph);
  return draft.plan;
}

}  // namespace graft
