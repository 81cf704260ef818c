// Trilu: keeps one triangle of each matrix and sets the rest to 0.
#include <graft/kit/expressions.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

Value import_trilu(Builder& layer) {
  Value x = layer.input(0);
  Shape s = x.shape();
  if (s.ranked() && s.rank() < 2) fail("expected matrices (rank 2 or more), got shape ", s);
  Value column = counting(dimension_of(x, -1), DType::i64);
  Value row = unsqueeze(counting(dimension_of(x, -2), DType::i64), {1});
  if (layer.has_input(1)) row = row + convert(as_scalar(layer.input(1)), DType::i64);
  Value stays = layer.op(layer.get<bool>("upper", true) ? "GreaterEqual" : "LessEqual", {column, row});
  return layer.op("Select", {stays, x, like(x, 0)});
}

}  // namespace

Definitions define_onnx_trilu() {
  return {onnx("Trilu").expand(import_trilu), onnx("Trilu").domain("com.microsoft").expand(import_trilu)};
}

}  // namespace graft
