// x -> a -> Result     x -> a -> Result
// x -> b            =>
//
// Keeps everything that a Result or an operation with side effects depends on, and all Parameters of the model. The
// other passes leave no dead nodes; import does.
#include "passes/passes.hpp"

namespace graft {

void remove_dead(Editor& editor, Changes& changes) {
  Graph& g = editor.graph();
  std::vector<bool> needed(g.end_id(), false);
  std::vector<NodeId> stack;
  for (NodeId id = 0; id < g.end_id(); ++id) {
    if (!g[id].alive) continue;
    const OpDef* op = g[id].opaque ? nullptr : editor.registry().find(g[id].type, g[id].opset);
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
  for (NodeId id = 0; id < g.end_id(); ++id) {
    if (!g[id].alive || needed[id]) continue;
    if (!g[id].is("Constant")) changes.at(g[id].name);
    editor.users().remove(id);
    editor.inference().forget(id);
    g.erase(id);
  }
}

}  // namespace graft
