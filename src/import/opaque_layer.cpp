// Operations that no definition may know: nodes with given outputs that are written to the IR as they are.
#include "base/text.hpp"
#include "import/layer.hpp"
#include "schema/resolve.hpp"

namespace graft {
NodeId Layer::pass_on(Node node, const Attributes& shown) {
  ImportReport& report = scope_.state().report;
  UnknownType* group = nullptr;
  for (UnknownType& u : report.passed_on)
    if (u.type == node.type) group = &u;
  if (!group) group = &report.passed_on.emplace_back(UnknownType{node.type, "", 1, {}});
  UnknownType::Layer title{name_, {}, node.outputs.size(), {}};
  for (ValueId v : node.inputs)
    title.inputs.push_back(v.present() ? std::optional(scope_.graph.info(v)) : std::nullopt);
  for (const auto& [name, value] : shown) title.attributes.emplace_back(name, value);
  group->layers.push_back(std::move(title));
  node.opaque = true;
  NodeId id = scope_.graph.add(std::move(node));
  made_.push_back(id);
  return id;
}

NodeId Layer::add_operation(Node node, const std::vector<Info>& outputs) {
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (scope_.is_list(node.inputs[i]))
      throw_unsupported(node.type, ": expected a tensor as input ", i, ", got a list of tensors");
  const OpDef* op = known_definition(scope_.state().registry, node);
  if (!op) {
    for (const Info& i : outputs) {
      if (i.type == DType::undefined)
        throw_user(node.type, ": the element type of output ", node.outputs.size(), " is unknown");
      node.outputs.push_back({i, {}, {}});
    }
    Attributes shown = node.attrs;
    return pass_on(std::move(node), shown);
  }
  node.type = op->name(), node.opset = op->opset();
  parse_texts(node.attrs, *op);
  // A library may have no shape function for its operation; it then takes these shapes as it takes those of an IR.
  if (op->has(GRAFT_OP_WEAK))
    for (const Info& i : outputs) node.outputs.push_back({i, {}, i.shape});
  NodeId id = scope_.add(std::move(node));
  made_.push_back(id);
  const std::vector<Output>& made = scope_.graph[id].outputs;
  for (size_t i = 0; i < made.size() && i < outputs.size(); ++i) {
    const Info &inferred = made[i].info, &given = outputs[i];
    bool same = given.type == inferred.type || given.type == DType::undefined;
    if (same && given.shape.ranked() && inferred.shape.ranked()) {
      same = given.shape.rank() == inferred.shape.rank();
      for (size_t k = 0; same && k < given.shape.rank(); ++k)
        same = given.shape[k].min() <= inferred.shape[k].max() && inferred.shape[k].min() <= given.shape[k].max();
    }
    if (!same)
      scope_.state().report.warnings.push_back(text("output ", i, " of layer '", name_, "': ", op->name(), " of ",
                                                    op->opset(), " infers ", inferred, ", the extension gave ", given));
  }
  return id;
}

void Layer::pass_on_given() {
  OperationName op = operation_name(raw_.type);
  Node node;
  node.type = op.type, node.opset = op.opset.empty() ? "extension" : op.opset;
  node.inputs = inputs_;
  for (const auto& [path, f] : raw_.fields) node.attrs[path] = f.value, read_.insert(path);
  NodeId id = add_operation(std::move(node), raw_.origin().infos);
  size_t n = scope_.graph[id].outputs.size();
  for (uint32_t i = 0; i < outputs_.size() && i < n; ++i) outputs_[i] = {id, i};
}

}  // namespace graft
