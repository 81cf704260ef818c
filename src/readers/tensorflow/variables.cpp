#include "readers/tensorflow/variables.hpp"

#include <unordered_map>

#include "readers/wire.hpp"

namespace graft {
namespace {

bool is_variable(const RawNode& n) { return n.type == "VarHandleOp" || n.type == "VariableV2" || n.type == "Variable"; }

using Index = std::unordered_map<std::string_view, const TensorFlowNode*>;

// Follows Identity nodes back to the producer.
const TensorFlowNode* behind(const Index& index, std::string value, size_t& output) {
  for (size_t steps = 0; steps <= index.size(); ++steps) {
    auto [name, out] = tensorflow_reference(value);
    auto it = index.find(name);
    if (it == index.end()) return nullptr;
    output = out;
    if (it->second->type != "Identity" || it->second->inputs.empty()) return it->second;
    value = it->second->inputs[0];
  }
  return nullptr;
}

// Assignments of restored values in one list of nodes: variable (or argument) -> name in the checkpoint.
void find_restored(const std::vector<TensorFlowNode>& nodes, std::map<std::string, std::string>& keys) {
  Index index;
  for (const TensorFlowNode& n : nodes) index.emplace(n.name, &n);
  for (const TensorFlowNode& n : nodes) {
    if ((n.type != "AssignVariableOp" && n.type != "Assign") || n.inputs.size() < 2) continue;
    size_t output = 0, unused = 0;
    const TensorFlowNode* restore = behind(index, n.inputs[1], output);
    if (!restore || restore->type != "RestoreV2" || restore->inputs.size() < 2) continue;
    const TensorFlowNode* names = behind(index, restore->inputs[1], unused);
    const RawField* f = names && names->type == "Const" ? names->find("value") : nullptr;
    const Tensor* t = f ? f->value.get_if<Tensor>() : nullptr;
    if (!t || t->type() != DType::string || output >= static_cast<size_t>(t->size())) continue;
    keys.emplace(n.inputs[0], t->text_at(static_cast<int64_t>(output)));
  }
}

// The checkpoint's own list of its objects: name of a variable -> name in the checkpoint. Names of more than one
// object are ignored.
std::map<std::string, std::string> object_keys(TensorBundle& checkpoint) {
  std::map<std::string, std::string> keys;
  const std::string list = "_CHECKPOINTABLE_OBJECT_GRAPH";
  if (!checkpoint.has(list)) return keys;
  for (Wire graph(checkpoint.text_of(list), "TrackableObjectGraph"); graph.next();) {
    if (graph.field() != 1) continue;
    for (Wire object = graph.message("TrackableObject"); object.next();) {
      if (object.field() != 2) continue;
      std::string variable, key;
      for (Wire w = object.message("SerializedTensor"); w.next();) switch (w.field()) {
          case 2: variable = w.text(); break;
          case 3: key = w.text(); break;
          default: w.skip();
        }
      auto [it, fresh] = keys.emplace(variable, key);
      if (!fresh && it->second != key) it->second.clear();
    }
  }
  return keys;
}

}  // namespace

void fill_variables(TensorFlowGraph& graph, TensorBundle& checkpoint) {
  std::map<std::string, std::string> keys;
  find_restored(graph.nodes, keys);
  std::unordered_map<std::string_view, const TensorFlowFunction*> functions;
  for (const TensorFlowFunction& f : graph.functions) functions.emplace(f.name, &f);
  for (const TensorFlowNode& n : graph.nodes) {
    const RawField* called = n.find("f");
    const std::string* name = called ? called->value.get_if<std::string>() : nullptr;
    auto it = name ? functions.find(*name) : functions.end();
    if (it == functions.end()) continue;
    std::map<std::string, std::string> inside;
    find_restored(it->second->nodes, inside);
    for (size_t i = 0; i < n.inputs.size() && i < it->second->inputs.size(); ++i)
      if (auto k = inside.find(it->second->inputs[i].name); k != inside.end()) keys.emplace(n.inputs[i], k->second);
  }
  std::optional<std::map<std::string, std::string>> objects;  // read on demand
  for (TensorFlowNode& n : graph.nodes) {
    if (!is_variable(n)) continue;
    std::string key;
    if (auto it = keys.find(n.name); it != keys.end()) key = it->second;
    const RawField* shared = n.find("shared_name");
    const std::string* name = shared ? shared->value.get_if<std::string>() : nullptr;
    if (!checkpoint.has(key)) key = name && checkpoint.has(*name) ? *name : n.name;
    if (!checkpoint.has(key)) {
      if (!objects) objects = object_keys(checkpoint);
      if (auto it = objects->find(name ? *name : n.name); it != objects->end()) key = it->second;
    }
    if (!checkpoint.has(key)) continue;  // reported where the value is used
    RawField value;
    value.value = checkpoint.tensor(key);
    n.fields.emplace_back("value", std::move(value));
  }
}

}  // namespace graft
