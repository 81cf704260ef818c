#include "schema/new_node.hpp"

#include "base/error.hpp"

namespace graft {

ValueId checked_value(const Graph& graph, graft_ref ref) {
  ValueId v = value_of(ref);
  if (!v.present() || v.node >= graph.end_id() || v.port >= graph[v.node].outputs.size())
    throw_user("reference to a value that does not exist");
  return v;
}

Tensor copy_of(const graft_tensor& t) {
  if (t.type == GRAFT_UNDEFINED) throw_unsupported("a constant requires a known element type");
  return Tensor::wrap(static_cast<DType>(t.type), std::vector<int64_t>(t.dims, t.dims + t.rank), t.data).clone();
}

Node new_node(const Registry& registry, const Graph& graph, const graft_new_node& spec, size_t outputs) {
  const OpDef* op = spec.opset.size ? registry.find(view(spec.op), view(spec.opset)) : registry.newest(view(spec.op));
  if (!op) throw_unsupported("unknown operation ", spec.op, spec.opset.size ? text(" of ", spec.opset) : "");
  Node node;
  node.type = op->name();
  node.opset = op->opset();
  for (size_t i = 0; i < spec.input_count; ++i)
    node.inputs.push_back(spec.inputs[i] ? checked_value(graph, spec.inputs[i]) : ValueId{});
  while (!node.inputs.empty() && !node.inputs.back().present()) node.inputs.pop_back();
  for (size_t i = 0; i < spec.attr_count; ++i)
    node.attrs[std::string(view(spec.attrs[i].name))] = Attribute::from(spec.attrs[i].value);
  // The shape function of an operation with any number of outputs is told how many there are.
  if (size_t n = op->outputs().size(); n && op->outputs()[n - 1]->flags & GRAFT_PORT_VARIADIC)
    node.outputs.resize(outputs);
  return node;
}

}  // namespace graft
