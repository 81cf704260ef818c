// Dropout is the identity at inference time; its mask is all true.
#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

Value everything(Builder& layer, const Value& x, DType type) {
  return layer.op("Broadcast", {layer.scalar(1, type), shape_of(x)}, {{"mode", "numpy"}});
}

// Training mode: drops random elements and scales up the others. Whether it is active may be known only at run time.
std::vector<Value> drop_some(Builder& layer, const Value& x, const Value& training) {
  Value ratio = layer.has_input(1) ? convert(as_scalar(layer.input(1)), DType::f32) : layer.scalar(0.5, DType::f32);
  Value chance = layer.op("RandomUniform", {shape_of(x), layer.scalar(0, DType::f32), layer.scalar(1, DType::f32)},
                          {{"output_type", DType::f32}, {"op_seed", layer.get<int64_t>("seed", 0)}});
  Value kept = layer.op("LogicalOr", {layer.op("GreaterEqual", {chance, ratio}), layer.op("LogicalNot", {training})});
  Value scale = layer.op("Select", {training, 1.0 / (1.0 - ratio), like(ratio, 1)});
  return {layer.op("Select", {kept, x * convert(scale, x.type()), like(x, 0)}), kept};
}

std::vector<Value> import_dropout(Builder& layer) {
  Value x = layer.input(0);
  if (layer.version() >= 12 && layer.has_input(2)) {
    Value training = as_scalar(layer.input(2));
    if (!training.constant() || training.constant().scalar<bool>()) return drop_some(layer, x, training);
  }
  if (!layer.output_used(1)) return {x};
  return {x, everything(layer, x, layer.version() < 10 ? x.type() : DType::boolean)};
}

}  // namespace

Definitions define_onnx_dropout() {
  return onnx("Dropout")
      .ignore("ratio")
      .ignore("seed")
      .ignore("is_test")
      .ignore("consumed_inputs")
      .expand(import_dropout);
}

}  // namespace graft
