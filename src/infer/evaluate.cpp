#include "infer/evaluate.hpp"

#include <chrono>
#include <cmath>

#include "base/tensor.hpp"
#include "infer/decompose.hpp"
#include "infer/inference.hpp"
#include "kernels/call.hpp"
#include "schema/resolve.hpp"

namespace graft {
namespace {

// A call with each output in memory of its own.
class EvaluatedCall final : public KernelCall {
 public:
  EvaluatedCall(const Evaluation& how, const Node& node, const OpDef& op, RequestState& request)
      : KernelCall(node, op, request), how_(how) {}

  std::vector<Tensor> results;  // empty: not allocated

  // Outputs of these types, with memory where the shape is known; what bodies produce is known when they have run.
  void expect(const std::vector<std::optional<Info>>& infos) {
    results.resize(infos.size());
    raw_.resize(infos.size());
    for (size_t i = 0; i < infos.size(); ++i) {
      declared.push_back(infos[i] ? infos[i]->shape : Shape::unknown());
      outputs.push_back(infos[i] ? &raw_[i] : nullptr);
      if (!infos[i]) continue;
      raw_[i] = without_memory(infos[i]->type);
      if (!infos[i]->shape.is_static() || !node_.bodies.empty()) continue;
      std::vector<int64_t> dims = infos[i]->shape.values();
      if (i >= node_.outputs.size() || !node_.outputs[i].info.shape.is_static())
        check_dynamic(how_.max_dynamic, infos[i]->type, dims);
      make(i, dims);
    }
  }

 private:
  void make(size_t output, const std::vector<int64_t>& dims) override {
    DType type = type_of(raw_[output]);
    if (bytes_for(type, count_checked(dims)) > how_.max_bytes)
      throw_unsupported("output ", output, " of shape ", dims, " is too large to be computed here");
    bool guarded = how_.guard && !op_.source->built_in();
    results[output] = guarded ? how_.guard->make(type, dims) : Tensor(type, dims);
    raw_[output] = *results[output].raw();
  }
  std::vector<Tensor> run_graph(size_t body, const std::vector<Tensor>& parameters) override {
    if (how_.max_depth <= 0) throw_user("bodies are nested too deeply");
    Evaluation inner = how_;
    inner.scope = body_scope(node_path(how_.scope, node_), body);
    --inner.max_depth;
    std::vector<Tensor> out = evaluate_graph(inner, *node_.bodies[body].graph, parameters);
    for (Tensor& t : out) t = t.clone();  // it may alias a parameter, whose memory this run does not own
    return out;
  }

  const Evaluation& how_;
  std::vector<graft_tensor> raw_;
};

// String outputs point at strings of the inputs and of this run: copy each one.
void own_texts(std::vector<Tensor>& outputs, uint64_t most) {
  for (Tensor& t : outputs) {
    if (!t || t.type() != DType::string) continue;
    check_texts(most, bytes_of_texts(t));
    t = t.clone();
  }
}

}  // namespace

double work_of(const Node& node, const OpDef& op, std::span<const Tensor> inputs,
               const std::vector<std::optional<Info>>& outputs) {
  double in = 1, out = 1;
  bool known = true;  // the shapes of all outputs
  for (const Tensor& t : inputs)
    if (t) in += static_cast<double>(t.size()) + static_cast<double>(size_of_texts(t));
  for (const std::optional<Info>& o : outputs) {
    known &= o && o->shape.is_static();
    if (o && o->shape.is_static()) out += static_cast<double>(o->shape.elements().max());
  }
  if (op.record->cost) {
    NodeContext context(node, infos_of(inputs));
    context.outputs = outputs;
    double elements = 0;
    check_callback(op.record->cost(&context, op.record->cost_user, &elements));
    return std::max(elements, 1.0);
  }
  if (op.has(GRAFT_OP_ELEMENTWISE) || op.has(GRAFT_OP_VIEW)) return in + out;
  return in * (known ? out : in);
}

RunningNode::RunningNode(const Registry& registry, const OpDef& op, const Node& node, const std::vector<Tensor>& inputs,
                         const Limits& limits)
    : NodeContext(node, infos_of(inputs)) {
  this->registry = &registry;
  constants = [&](size_t i) -> const Tensor* { return inputs[i] ? &inputs[i] : nullptr; };
  if (node.bodies.empty()) {
    infer_outputs(registry, op, *this);
    return;
  }
  for (const Output& o : node.outputs) outputs.push_back(o.info);
  bodies = [&registry, &node, limits](size_t i, const std::vector<Info>& parameters) {
    return Inference::results_of(registry, *node.bodies[i].graph, parameters, limits);
  };
}

namespace {

PreparedKernel prepare(const Evaluation& how, const OpDef& op, NodeContext& context,
                       const std::vector<Tensor>& inputs) {
  Candidates<KernelDef> kernels;
  if (!how.device.empty()) kernels.add(how.registry.kernels(op, how.device));
  kernels.add(how.registry.kernels(op, reference_device));
  PreparedKernel out = prepare_first(kernels, context, [&](const graft_kernel& k) {
    return pack_constants(k, context.node(), context.inputs(), inputs);
  });
  if (!out) throw Error(*kernels.last);
  return out;
}

}  // namespace

std::vector<Tensor> evaluate_node(const Evaluation& how, const Node& node, const OpDef& op,
                                  std::span<const Tensor> inputs, size_t output_count) {
  bool has_reference = how.registry.reference(op) != nullptr;
  if (!has_reference && op.record->decomposition.size) {
    Evaluation inner = how;
    inner.scope = decomposition_scope(node_path(how.scope, node));
    return evaluate_graph(inner, decomposition(how.registry, op, node, infos_of(inputs)), inputs);
  }
  if (!has_reference) throw_unsupported("operation ", op.name(), " of ", op.opset(), " has no reference kernel");

  std::vector<Tensor> aligned(inputs.begin(), inputs.end());
  for (Tensor& t : aligned)
    if (t && !is_aligned(t)) t = t.clone();
  RunningNode context(how.registry, op, node, aligned, {});
  context.outputs.resize(std::max(context.outputs.size(), output_count));
  if (std::isfinite(how.max_work) && node.bodies.empty() && work_of(node, op, aligned, context.outputs) > how.max_work)
    throw_unsupported("this is too much work to be computed here");

  RequestState request{how.variables,  how.scope, how.cancel, how.pool, how.pool ? how.pool->threads() : 0,
                       how.max_dynamic};
  context.call_threads = request.call_threads();
  EvaluatedCall call(how, node, op, request);
  for (const Tensor& t : aligned) call.inputs.push_back(t.raw());
  call.expect(context.outputs);
  PreparedKernel kernel = prepare(how, op, context, aligned);
  if (call.is_empty()) return std::move(call.results);
  std::shared_ptr<void> scratch = kernel.scratch_bytes ? allocate_aligned(kernel.scratch_bytes) : nullptr;
  call.use(kernel, scratch.get());
  graft_status status = call.run();
  if (how.guard && !op.source->built_in()) how.guard->returned(node, call.running());
  call.check(status);
  call.check_outputs();
  own_texts(call.results, how.max_dynamic);
  return std::move(call.results);
}

std::vector<Tensor> evaluate_graph(const Evaluation& how, const Graph& graph, std::span<const Tensor> inputs,
                                   std::span<const ValueId> more) {
  if (inputs.size() != graph.parameters().size())
    throw_user("expected ", graph.parameters().size(), " inputs, got ", inputs.size());
  std::vector<NodeId> order = graph.topological_order();
  std::vector<std::vector<Tensor>> values(graph.end_id());
  std::vector<uint32_t> readers(graph.end_id(), 0);
  for (NodeId id : order)
    for (ValueId v : graph[id].inputs)
      if (v.present()) ++readers[v.node];
  for (ValueId v : more) ++readers[v.node];
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.parameters()[i]] = {inputs[i]};

  for (NodeId id : order) {
    const Node& node = graph[id];
    if (node.is("Parameter") || node.is("Result")) continue;
    if (how.cancel && how.cancel->load(std::memory_order_relaxed))
      throw Error(ErrorKind::cancelled, "the request was cancelled");
    with_context(
        [&] {
          auto start = std::chrono::steady_clock::now();
          if (node.is("Constant")) {
            values[id] = {node.attrs.find("value")->as<Tensor>()};
          } else {
            std::vector<Tensor> in;
            for (ValueId v : node.inputs) in.push_back(v.present() ? values[v.node][v.port] : Tensor());
            values[id] = evaluate_node(how, node, definition(how.registry, node), in, node.outputs.size());
          }
          if (how.observe) {
            std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
            how.observe(how.observe_arg, graph, id, took.count(), values[id]);
          }
        },
        [&] { return text("running ", describe(node)); });
    for (ValueId v : node.inputs)
      if (v.present() && --readers[v.node] == 0 && !graph[v.node].is("Parameter")) values[v.node].clear();
  }
  std::vector<Tensor> results;
  for (NodeId id : graph.results()) {
    ValueId v = graph[id].inputs[0];
    results.push_back(values[v.node][v.port]);
  }
  for (ValueId v : more) results.push_back(values[v.node][v.port]);
  return results;
}

}  // namespace graft
