#include "runtime/query.hpp"

#include "base/text.hpp"
#include "infer/decompose.hpp"
#include "infer/inference.hpp"
#include "kernels/kernel.hpp"
#include "schema/resolve.hpp"

namespace graft {
namespace {

constexpr int max_depth = 16;  // of decompositions and bodies inside each other

bool is_static(const Graph& g, const Node& n) {
  for (ValueId v : n.inputs)
    if (v.present() && (!g.info(v).shape.is_static() || g.info(v).type == DType::undefined)) return false;
  for (const Output& o : n.outputs)
    if (o.info.type == DType::undefined) return false;
  return true;
}

class KernelQuery {
 public:
  KernelQuery(const Registry& registry, const std::vector<std::string>& devices, const Limits& limits, int depth)
      : registry_(registry), devices_(devices), limits_(limits), depth_(depth) {}

  std::vector<Support> graph(Graph& g) {
    std::vector<Support> out(g.end_id());
    Inference inference(registry_, g, limits_);
    for (NodeId id : g.topological_order()) out[id] = node(g, id, inference);
    return out;
  }

 private:
  // The first node that is not supported, as a reason.
  std::string first_unsupported(Graph& g) {
    if (depth_ >= max_depth) return "too many bodies or decompositions inside each other";
    std::vector<Support> inside = KernelQuery(registry_, devices_, limits_, depth_ + 1).graph(g);
    for (NodeId id : g.topological_order())
      if (!inside[id].supported) return text(describe(g[id]), ": ", inside[id].reason);
    return {};
  }

  Support node(Graph& g, NodeId id, Inference& inference) {
    Node& n = g[id];
    if (n.is("Parameter") || n.is("Result") || n.is("Constant")) return {true, {}};
    const OpDef* op = n.opaque ? nullptr : registry_.find(n.type, n.opset);
    if (!op) return {false, "the operation is unknown"};
    for (size_t i = 0; i < n.bodies.size(); ++i)
      if (std::string why = first_unsupported(*n.bodies[i].graph); !why.empty())
        return {false, text("in body ", i, ", ", why)};
    Candidates<KernelDef> kernels = kernel_candidates(registry_, *op, devices_);
    if (!kernels.empty()) return accepting(g, id, kernels, inference);
    if (!op->record->decomposition.size)
      return {false, text("operation ", op->name(), " of ", op->opset(), " has no kernel for ", devices_[0])};
    return decomposed(g, n, *op);
  }

  Support decomposed(const Graph& g, const Node& n, const OpDef& op) {
    try {
      Graph parts = decomposition(registry_, op, n, input_infos(g, n));
      std::string why = first_unsupported(parts);
      return why.empty() ? Support{true, "decomposed"} : Support{false, text("in its decomposition, ", why)};
    } catch (const Error& e) {
      return {false, e.message()};
    }
  }

  // What the kernels say; those that need to see the shapes are asked only if these are known.
  Support accepting(const Graph& g, NodeId id, Candidates<KernelDef>& kernels, Inference& inference) {
    const Node& n = g[id];
    if (!is_static(g, n)) return {true, {}};
    NodeContext context(n, input_infos(g, n));
    for (const Output& o : n.outputs) context.outputs.push_back(o.info);
    context.constants = [&](size_t i) { return inference.constant(n.inputs[i]); };
    context.bodies = [&](size_t i, const std::vector<Info>& parameters) {
      return Inference::results_of(registry_, *n.bodies[i].graph, parameters, limits_);
    };
    try {
      bool any = kernels.first([&](const KernelDef& k) { ask(*k.record, context); });
      return any ? Support{true, std::string(kernels.name())} : Support{false, to_text(kernels.declined)};
    } catch (const Error& e) {  // compiling the node would end with this error
      return {false, text(kernels.name(), ": ", e.message())};
    }
  }

  const Registry& registry_;
  const std::vector<std::string>& devices_;
  const Limits& limits_;
  int depth_;
};

}  // namespace

std::vector<Support> query_kernels(const Graph& graph, const Registry& registry,
                                   const std::vector<std::string>& devices, const Limits& limits) {
  Graph copy = graph.clone();  // inference remembers what it finds
  return KernelQuery(registry, devices, limits, 0).graph(copy);
}

}  // namespace graft
