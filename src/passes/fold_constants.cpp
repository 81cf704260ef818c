// a = i64[2] {1, 2}          a' = i64[2] {2, 4}
// b = Multiply(a, i64[] {2})   =>
// y = Reshape(x, b)          y = Reshape(x, a')
//
// The output of a FakeQuantize is not folded: devices and other passes need its levels.
//
// A value that depends only on constants, with a consumer that does not, is replaced by a constant. The names of the
// node and the tensor are kept.
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
    // A consumer that is itself folded needs no constant: only the last value of a chain becomes one.
    bool foldable = !g[id].outputs.empty() && !g[id].is("Result") && editor.inference().constant({id, 0});
    if (foldable && !from) continue;
    for (uint32_t i = 0; i < g[id].inputs.size(); ++i) {
      ValueId v = g[id].inputs[i];
      if (!v.present() || g[v.node].is("Constant") || quantized[v.node]) continue;
      const Tensor* t = editor.inference().constant(v);
      if (!t) continue;
      auto [it, fresh] = replaced.emplace(v, ValueId{});
      if (fresh) {
        // The constant takes the name; the node it replaces is removed, or stays for its other outputs.
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
