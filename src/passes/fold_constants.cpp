// a = i64[2] {1, 2}          a' = i64[2] {2, 4}
// b = Multiply(a, i64[] {2})   =>
// y = Reshape(x, b)          y = Reshape(x, a')
//
// A value that can be computed now and is read by something that cannot is replaced by a constant; what led to it is
// left for remove_dead. Names of the node and the tensor stay.
#include "passes/passes.hpp"

namespace graft {

size_t fold_constants(Graph& g, const Registry& registry) {
  size_t changes = 0;
  Inference inference(registry, g);
  std::vector<NodeId> order = g.topological_order();
  for (NodeId id : order) inference.infer(id);  // follows shape values too
  std::unordered_map<ValueId, ValueId, ValueHash> replaced;
  for (NodeId id : order) {
    for (Body& b : g[id].bodies) changes += fold_constants(*b.graph, registry);
    // Reading a folded value from a node that folds itself needs no constant: only the last one does.
    bool foldable = !g[id].outputs.empty() && !g[id].is("Result") && inference.constant({id, 0});
    if (foldable) continue;
    for (size_t i = 0; i < g[id].inputs.size(); ++i) {
      ValueId v = g[id].inputs[i];
      if (!v.present() || g[v.node].is("Constant")) continue;
      const Tensor* t = inference.constant(v);
      if (!t) continue;
      auto [it, fresh] = replaced.emplace(v, ValueId{});
      if (fresh) {
        Node c;
        c.type = "Constant", c.opset = "opset1";
        c.attrs["value"] = *t;
        Output o = g.output(v);
        o.info = g.info(v);
        c.outputs.push_back(std::move(o));
        c.origin = g[v.node].origin;
        // The constant takes the name; the node it stands for goes away, or lives on for its other outputs.
        c.name = g[v.node].name;
        if (g[v.node].outputs.size() == 1) g[v.node].name = g.unique_name(c.name + "/folded");
        else c.name = g.unique_name(c.name);
        it->second = {g.add(std::move(c)), 0};
        ++changes;
      }
      g[id].inputs[i] = it->second;
    }
  }
  return changes;
}

}  // namespace graft
