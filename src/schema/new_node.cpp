#include "schema/new_node.hpp"

#include "base/error.hpp"
#include "base/given.hpp"

namespace graft {

ValueId checked_value(const Graph& graph, graft_ref ref) {
  ValueId v = value_of(ref);
  if (!v.present() || v.node >= graph.end_id() || v.port >= graph[v.node].outputs.size())
    throw_user("reference to a value that does not exist");
  return v;
}

std::vector<graft_ref> output_refs(const Graph& graph, ValueId v) {
  std::vector<graft_ref> out;
  for (uint32_t i = 0; i < graph[v.node].outputs.size(); ++i) out.push_back(ref_of({v.node, i}));
  return out;
}

std::vector<Info> given_infos(const graft_new_node& spec) {
  constexpr size_t least = offsetof(graft_new_node, info_count) + sizeof(size_t), most = 65'536;
  std::vector<Info> out;
  if (spec.size < least) return out;
  if (spec.info_count > most)
    throw_unsupported("expected at most ", most, " outputs of an operation, got ", spec.info_count);
  for (const graft_info& i : given_list(spec.infos, spec.info_count, "types and shapes")) out.push_back(given_info(i));
  return out;
}

std::string given_name(const graft_new_node& spec) {
  constexpr size_t least = offsetof(graft_new_node, name) + sizeof(graft_str);
  return spec.size < least ? std::string() : std::string(view(spec.name));
}

Node new_node(const Registry& registry, const Graph& graph, const graft_new_node& spec, size_t outputs) {
  Node node;
  if (!spec.op.size) throw_user("expected the type of an operation, got an empty one");
  if (!given_infos(spec).empty()) {
    node.type = view(spec.op);
    node.opset = spec.opset.size ? std::string(view(spec.opset)) : "extension";
  } else {
    const OpDef* op = spec.opset.size ? registry.find(view(spec.op), view(spec.opset)) : registry.newest(view(spec.op));
    if (!op) throw_unsupported("unknown operation ", spec.op, spec.opset.size ? text(" of ", spec.opset) : "");
    node.type = op->name();
    node.opset = op->opset();
    // The shape function of an operation with any number of outputs is told how many there are.
    if (size_t n = op->outputs().size(); n && op->outputs()[n - 1]->flags & GRAFT_PORT_VARIADIC)
      node.outputs.resize(outputs);
  }
  for (graft_ref in : given_list(spec.inputs, spec.input_count, "inputs"))
    node.inputs.push_back(in ? checked_value(graph, in) : ValueId{});
  while (!node.inputs.empty() && !node.inputs.back().present()) node.inputs.pop_back();
  for (const graft_named_value& a : given_list(spec.attrs, spec.attr_count, "attributes"))
    node.attrs[std::string(given_text(a.name, "a name"))] = Attribute::from(a.value);
  return node;
}

}  // namespace graft
