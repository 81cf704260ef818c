// x -> a -> Result     x -> a -> Result
// x -> b            =>
//
// Keeps what a Result or an operation with an effect of its own needs, and all Parameters of the model.
#include "passes/passes.hpp"

namespace graft {

size_t remove_dead(Graph& g, const Registry& registry) {
  std::vector<bool> needed(g.end_id(), false);
  std::vector<NodeId> stack;
  size_t removed = 0;
  for (NodeId id = 0; id < g.end_id(); ++id) {
    if (!g[id].alive) continue;
    for (Body& b : g[id].bodies) removed += remove_dead(*b.graph, registry);
    const OpDef* op = g[id].opaque ? nullptr : registry.find(g[id].type, g[id].opset);
    if (g[id].is("Result") || g[id].is("Parameter") || (op && op->has(GRAFT_OP_SINK))) stack.push_back(id);
  }
  while (!stack.empty()) {
    NodeId id = stack.back();
    stack.pop_back();
    if (needed[id]) continue;
    needed[id] = true;
    for (ValueId v : g[id].inputs)
      if (v.present()) stack.push_back(v.node);
  }
  for (NodeId id = 0; id < g.end_id(); ++id)
    if (g[id].alive && !needed[id]) g.erase(id), ++removed;
  return removed;
}

}  // namespace graft
