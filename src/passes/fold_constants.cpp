// a = i64[2] {1, 2}          a' = i64[2] {2, 4}
// b = Multiply(a, i64[] {2})   =>
// y = Reshape(x, b)          y = Reshape(x, a')
//
// The output of a FakeQuantize is not folded: devices and other passes need its levels. Nor are weights in bytes that
// are multiplied with bytes: a device may do so as it is, and numbers take four times the memory. What it leaves is
// folded when the model is compiled.
//
// A value that depends only on constants, with a consumer that does not, is replaced by a constant. The names of the
// node and the tensor are kept.
#include "passes/passes.hpp"

namespace graft {
namespace {

// The nodes of (Convert(q) - zero) * scale, of which subtraction and multiplication may be missing; q is bytes.
struct Dequantized {
  std::vector<NodeId> nodes;
  ValueId bytes;
};
Dequantized dequantized(const Graph& g, ValueId v) {
  Dequantized out;
  auto made_by = [&](ValueId of, std::string_view type) { return of.present() && g[of.node].is(type); };
  auto convert_behind = [&](ValueId rest) {
    if (made_by(rest, "Subtract")) out.nodes.push_back(rest.node), rest = g[rest.node].inputs[0];
    if (!made_by(rest, "Convert")) return false;
    out.nodes.push_back(rest.node), out.bytes = g[rest.node].inputs[0];
    DType type = g.info(out.bytes).type;
    return type == DType::u8 || type == DType::i8;
  };
  if (!made_by(v, "Multiply")) return convert_behind(v) ? out : Dequantized();
  for (size_t i : {size_t{0}, size_t{1}}) {
    out.nodes = {v.node};
    if (convert_behind(g[v.node].inputs[i])) return out;
  }
  return {};
}

// The nodes that dequantize the weights of convolutions and products of bytes.
std::vector<bool> byte_weights(Editor& editor) {
  const Graph& g = editor.graph();
  std::vector<bool> out(g.end_id(), false);
  for (NodeId id = 0; id < g.end_id(); ++id) {
    const Node& n = g[id];
    if (!n.alive || !(n.is("Convolution") || n.is("MatMul")) || n.inputs.size() < 2) continue;
    Dequantized data = dequantized(g, n.inputs[0]), weights = dequantized(g, n.inputs[1]);
    if (!data.bytes.present() || !weights.bytes.present()) continue;
    if (editor.inference().constant(n.inputs[0]) || !editor.inference().constant(n.inputs[1])) continue;
    for (NodeId part : weights.nodes) out[part] = true;
  }
  return out;
}

void fold(Editor& editor, Changes& changes, std::vector<bool> kept) {
  Graph& g = editor.graph();
  kept.resize(g.end_id(), false);
  std::unordered_map<ValueId, ValueId, ValueHash> replaced;
  std::vector<bool> quantized(g.end_id(), false);
  for (NodeId id : g.topological_order()) {
    bool from = g[id].is("FakeQuantize");
    for (ValueId v : g[id].inputs) from = from || (v.present() && v.node < quantized.size() && quantized[v.node]);
    quantized[id] = from;
    // A consumer that is itself folded needs no constant: only the last value of a chain becomes one.
    bool foldable = !g[id].outputs.empty() && !g[id].is("Result") && editor.inference().constant({id, 0});
    if (foldable && !from && !kept[id]) continue;
    for (uint32_t i = 0; i < g[id].inputs.size(); ++i) {
      ValueId v = g[id].inputs[i];
      if (!v.present() || v.node >= kept.size() || g[v.node].is("Constant") || quantized[v.node] || kept[v.node])
        continue;
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

}  // namespace

void fold_constants(Editor& editor, Changes& changes) { fold(editor, changes, byte_weights(editor)); }
void fold_quantized_weights(Editor& editor, Changes& changes) { fold(editor, changes, {}); }

}  // namespace graft
