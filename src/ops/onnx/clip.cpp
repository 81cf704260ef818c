// Clip since opset 11: the bounds are inputs, which may be omitted or computed.
#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

// The default of an omitted bound: the largest finite value of the type.
double largest_real(DType type) {
  if (type == DType::f16) return 65504;
  if (type == DType::bf16) return 0x1.fep127;
  return type == DType::f64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
}

Value import_clip(Builder& layer) {
  Value x = layer.input(0), low, high;
  bool real = is_real(x.type());
  if (layer.has_input(1)) low = as_scalar(layer.input(1));
  else if (real) low = like(x, -largest_real(x.type()));
  if (layer.has_input(2)) high = as_scalar(layer.input(2));
  else if (real) high = like(x, largest_real(x.type()));
  if (low && high && low.constant() && high.constant()) {
    auto min = low.constant().scalar<double>(), max = high.constant().scalar<double>();
    bool exact = real || (std::fabs(min) < 9e15 && std::fabs(max) < 9e15);
    if (min <= max && exact) return layer.op("Clamp", {x}, {{"min", min}, {"max", max}});
  }
  if (low) x = layer.op("Maximum", {x, low});
  if (high) x = layer.op("Minimum", {x, high});
  return x;
}

}  // namespace

Definitions define_onnx_clip() { return onnx("Clip").since(11).expand(import_clip); }

}  // namespace graft
