// Constants, variables, and layers that forward their inputs.
#include <graft/op.hpp>

#include "layout.hpp"

namespace graft {
namespace {

Value tf_const(Builder& layer) {
  layer.has("dtype");
  const graft_value* v = layer.field("value");
  if (!v || v->kind != GRAFT_TENSOR) unsupported("the element type of the constant is not supported");
  return layer.constant(layer.get<TensorView>("value"));
}

Value tf_variable(Builder& layer) {
  for (std::string_view f : {"shape", "dtype", "container", "shared_name", "allowed_devices", "debug_name"})
    layer.has(f);
  if (!layer.has("value"))
    unsupported("the variable has no value: freeze the model, or provide it as a SavedModel with its variables");
  return layer.constant(layer.get<TensorView>("value"));
}

Value tf_same(Builder& layer) { return layer.input(0); }
std::vector<Value> tf_same_all(Builder& layer) {
  std::vector<Value> out;
  for (size_t i = 0; i < layer.inputs() && i < layer.outputs(); ++i) out.push_back(layer.input(i));
  return out;
}

// Merges two branches: selects by the condition.
std::vector<Value> tf_merge(Builder& layer) {
  Value condition = layer.input(0), yes = layer.input(1), no = layer.input(2);
  Value index = build::select(condition, layer.scalar(1.0, DType::i32), layer.scalar(0.0, DType::i32));
  if (auto c = condition.values<int64_t>(); c && c->size() == 1) return {(*c)[0] ? yes : no, index};
  return {build::select(condition, yes, no), index};
}

// The same for many branches. Inputs: index, then their values. An out-of-range index selects the last one.
Value tf_merge_many(Builder& layer) {
  Value index = layer.input(0), out = layer.input(layer.inputs() - 1);
  auto number = index.values<int64_t>();
  for (size_t i = layer.inputs() - 1; i-- > 1;) {
    auto branch = static_cast<int64_t>(i) - 1;
    if (number && number->size() == 1) out = (*number)[0] == branch ? layer.input(i) : out;
    else out = build::select(layer.op("Equal", {index, like(index, static_cast<double>(branch))}), layer.input(i), out);
  }
  return out;
}

}  // namespace

Definitions define_tensorflow_structure() {
  Definitions ops{
      tensorflow("Const").expand(tf_const),
      tensorflow("Merge").domain("graft").expand(tf_merge),
      tensorflow("MergeMany").domain("graft").expand(tf_merge_many),
      tensorflow("IdentityN").expand(tf_same_all),
      tensorflow("VarHandleOp").expand(tf_variable),
      tensorflow("Variable").expand(tf_variable),
      tensorflow("VariableV2").expand(tf_variable),
  };
  for (std::string_view type : {"Identity", "Dropout", "StopGradient", "PreventGradient", "Snapshot", "ReadVariableOp",
                                "CheckNumerics", "EnsureShape", "PlaceholderWithDefault", "PlaceholderWithDefaultV2",
                                "Print", "CheckNumericsV2", "LoopCond", "DebugGradientIdentity"})
    ops += tensorflow(type).ignore("shape").ignore("message").ignore("summarize").ignore("first_n").expand(tf_same);
  return ops;
}

}  // namespace graft
