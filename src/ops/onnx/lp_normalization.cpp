// LpNormalization, and Normalizer of ai.onnx.ml: a vector divided by its norm, or 0 if the norm is 0.
#include <graft/op.hpp>

namespace graft {
namespace {

Value over_norm(Builder& layer, const Value& x, std::string_view reduction, const Value& size, int64_t axis) {
  Value norm = layer.op(reduction, {size, layer.ints({axis})}, {{"keep_dims", true}});
  Value none = layer.op("Equal", {norm, like(norm, 0)});
  return x / layer.op("Select", {none, like(norm, 1), norm});
}

Value import_lp_normalization(Builder& layer) {
  Value x = layer.input(0);
  int64_t p = layer.get<int64_t>("p", 2);
  if (p != 1 && p != 2) fail("expected p 1 or 2, got ", p);
  return over_norm(layer, x, p == 1 ? "ReduceL1" : "ReduceL2", x, layer.get<int64_t>("axis", -1));
}

Value import_normalizer(Builder& layer) {
  Value x = is_real(layer.input(0).type()) ? layer.input(0) : convert(layer.input(0), DType::f32);
  auto norm = layer.get<std::string>("norm", "MAX");
  if (norm == "L1") return convert(over_norm(layer, x, "ReduceL1", x, -1), DType::f32);
  if (norm == "L2") return convert(over_norm(layer, x, "ReduceL2", x, -1), DType::f32);
  if (norm != "MAX") fail("expected norm MAX, L1 or L2, got '", norm, "'");
  return convert(over_norm(layer, x, "ReduceMax", layer.op("Abs", {x}), -1), DType::f32);
}

}  // namespace

Definitions define_onnx_lp_normalization() {
  return {
      onnx("LpNormalization").expand(import_lp_normalization),
      onnx("Normalizer").domain("ai.onnx.ml").expand(import_normalizer),
  };
}

}  // namespace graft
