// a = i64[2] {1, 2}          a' = i64[2] {2, 4}
// b = Multiply(a, i64[] {2})   =>
// y = Reshape(x, b)          y = Reshape(x, a')
//
// What comes from a FakeQuantize stays: its levels are what a device or another pass wants to know.
//
// A value that can be computed now and is read by something that cannot is replaced by a constant. Names of the node
// and the tensor stay.
#include "passes/passes.hpp"

namespace graft {

void fold_constants(Editor& editor, Changes& changes) {
  Graph& g = editor.graph();
  std::unordered_map<ValueId, ValueId, ValueHash> replaced;
  std::vector<bool> quantized(g.end_id(), false);
  for (NodeId id : g.topological_order()) {
    bool from = g[id].is("FakeQuantize");
    for (ValueId v : g[id].inputs) from = from || (v.present() && v.node < quantized.size() && quantized[v.node]);
    quantized[id] = from;
    // Reading a folded value from a node that folds itself needs no constant: only the last one does.
    bool foldable = !g[id].outputs.empty() && !g[id].is("Result") && editor.inference().constant({id, 0});
    if (foldable && !from) continue;
    for (uint32_t i = 0; i < g[id].inputs.size(); ++i) {
      ValueId v = g[id].inputs[i];
      if (!v.present() || g[v.node].is("Constant") || quantized[v.node]) continue;
      const Tensor* t = editor.inference().constant(v);
      if (!t) continue;
      auto [it, fresh] = replaced.emplace(v, ValueId{});
      if (fresh) {
        // The constant takes the name; the node it stands for goes away, or lives on for its other outputs.
        changes.at(g[v.node].name);
        std::vector<std::string> names = g.output(v).names;
        it->second = editor.constant(*t, g[v.node].name);
        Node& c = g[it->second.node];
        c.origin = g[v.node].origin;
        for (const std::string& n : names) c.outputs[0].add_name(n);
        if (g[v.node].outputs.size() == 1) editor.take_name(v.node, it->second.node);
      }
      editor.set_input(id, i, it->second);
    }
  }
  editor.sweep();
}

}  // namespace graft
