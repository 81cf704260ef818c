// TensorFlow's element-wise layers.
#include <graft/op.hpp>

#include "layout.hpp"

namespace graft {
namespace {

template <class F>
Rule tf_rule(std::string_view type, F f) {
  return tensorflow(type).expand(+f);
}

Value tf_add_n(Builder& layer) {
  Value sum = layer.input(0);
  for (size_t i = 1; i < layer.inputs(); ++i) sum = sum + layer.input(i);
  return sum;
}
// Integers: rounded down, or truncated toward zero.
Value tf_floor_div(Builder& layer) {
  Value y = layer.op("Divide", {layer.input(0), layer.input(1)}, {{"m_pythondiv", true}});
  return is_real(y.type()) ? layer.op("Floor", {y}) : y;
}
Value tf_div(Builder& layer) { return layer.op("Divide", {layer.input(0), layer.input(1)}, {{"m_pythondiv", false}}); }
Value tf_div_no_nan(Builder& layer) {
  Value a = layer.input(0), b = layer.input(1), zero = like(b, 0);
  Value safe = build::select(layer.op("Equal", {b, zero}), like(b, 1), b);
  return build::select(layer.op("Equal", {b, zero}), like(a, 0), a / safe);
}
Value tf_leaky_relu(Builder& layer) {
  Value x = layer.input(0);
  return layer.op("PRelu", {x, layer.typed({layer.get<float>("alpha", 0.2f)}, {1}, x.type())});
}
Value tf_selu(Builder& layer) {
  Value x = layer.input(0);
  return layer.op(
      "Selu", {x, layer.typed({1.6732632423543772}, {1}, x.type()), layer.typed({1.0507009873554805}, {1}, x.type())});
}
Value tf_cast(Builder& layer) {
  layer.has("Truncate");
  return convert(layer.input(0), layer.get<DType>("DstT"));
}
Value tf_clip(Builder& layer) {
  return layer.op("Minimum", {layer.op("Maximum", {layer.input(0), layer.input(1)}), layer.input(2)});
}
// The condition of the old Select may be a vector that selects rows.
Value tf_select(Builder& layer) {
  Value condition = layer.input(0), yes = layer.input(1);
  Shape c = condition.shape(), y = yes.shape();
  if (c.ranked() && y.ranked() && c.rank() == 1 && y.rank() > 1) {
    std::vector<int64_t> axes;
    for (size_t i = 1; i < y.rank(); ++i) axes.push_back(static_cast<int64_t>(i));
    condition = unsqueeze(condition, axes);
  }
  return build::select(condition, yes, layer.input(2));
}
Value tf_compare_approximately(Builder& layer) {
  Value d = layer.op("Abs", {layer.input(0) - layer.input(1)});
  return layer.op("Less", {d, like(d, layer.get<float>("tolerance", 1e-5f))});
}
Value tf_xlogy(Builder& layer) {
  Value x = layer.input(0), y = layer.input(1), zero = layer.op("Equal", {x, like(x, 0)});
  return build::select(zero, like(x, 0), x * layer.op("Log", {build::select(zero, like(y, 1), y)}));
}
Value tf_is_finite(Builder& layer) {
  Value x = layer.input(0);
  return layer.op("IsFinite", {x});
}

}  // namespace

Definitions define_tensorflow_elementwise() {
  Definitions ops;
  struct Same {
    std::string_view type, op, opset;
  };
  static constexpr Same same[] = {
      {"Abs", "Abs", "opset1"},
      {"Acos", "Acos", "opset1"},
      {"Acosh", "Acosh", "opset4"},
      {"Add", "Add", "opset1"},
      {"AddV2", "Add", "opset1"},
      {"Asin", "Asin", "opset1"},
      {"Asinh", "Asinh", "opset4"},
      {"Atan", "Atan", "opset1"},
      {"Atanh", "Atanh", "opset4"},
      {"BitwiseAnd", "BitwiseAnd", "opset13"},
      {"BitwiseOr", "BitwiseOr", "opset13"},
      {"BitwiseXor", "BitwiseXor", "opset13"},
      {"Ceil", "Ceiling", "opset1"},
      {"Cos", "Cos", "opset1"},
      {"Cosh", "Cosh", "opset1"},
      {"Equal", "Equal", "opset1"},
      {"Erf", "Erf", "opset1"},
      {"Exp", "Exp", "opset1"},
      {"Floor", "Floor", "opset1"},
      {"FloorMod", "FloorMod", "opset1"},
      {"Greater", "Greater", "opset1"},
      {"GreaterEqual", "GreaterEqual", "opset1"},
      {"IsInf", "IsInf", "opset10"},
      {"IsNan", "IsNaN", "opset10"},
      {"Less", "Less", "opset1"},
      {"LessEqual", "LessEqual", "opset1"},
      {"Log", "Log", "opset1"},
      {"LogicalAnd", "LogicalAnd", "opset1"},
      {"LogicalNot", "LogicalNot", "opset1"},
      {"LogicalOr", "LogicalOr", "opset1"},
      {"Maximum", "Maximum", "opset1"},
      {"Minimum", "Minimum", "opset1"},
      {"Mod", "Mod", "opset1"},
      {"Mul", "Multiply", "opset1"},
      {"Neg", "Negative", "opset1"},
      {"NotEqual", "NotEqual", "opset1"},
      {"Pow", "Power", "opset1"},
      {"RealDiv", "Divide", "opset1"},
      {"Relu", "Relu", "opset1"},
      {"Rint", "Round", "opset5"},
      {"Round", "Round", "opset5"},
      {"SelectV2", "Select", "opset1"},
      {"Sigmoid", "Sigmoid", "opset1"},
      {"Sign", "Sign", "opset1"},
      {"Sin", "Sin", "opset1"},
      {"Sinh", "Sinh", "opset1"},
      {"Softplus", "SoftPlus", "opset4"},
      {"Softsign", "SoftSign", "opset9"},
      {"Sqrt", "Sqrt", "opset1"},
      {"SquaredDifference", "SquaredDifference", "opset1"},
      {"Sub", "Subtract", "opset1"},
      {"Swish", "Swish", "opset4"},
      {"swish_f32", "Swish", "opset4"},
      {"Tan", "Tan", "opset1"},
      {"Tanh", "Tanh", "opset1"},
      {"TruncateMod", "Mod", "opset1"},
      {"LogicalXor", "LogicalXor", "opset1"},
  };
  for (const Same& s : same) ops += tensorflow(s.type).to(s.op, s.opset).ignore("incompatible_shape_error");
  ops += Definitions{
      tf_rule("AccumulateNV2", tf_add_n).ignore("N").ignore("shape"),
      tf_rule("AddN", tf_add_n).ignore("N"),
      tf_rule("ApproximateEqual", tf_compare_approximately),
      tf_rule("Atan2", [](Builder& layer) { return tf::arc_tangent(layer.input(0), layer.input(1)); }),
      tf_rule("Cast", tf_cast),
      tf_rule("ClipByValue", tf_clip),
      tf_rule("Div", tf_div),
      tf_rule("DivNoNan", tf_div_no_nan),
      tf_rule("Erfc", [](Builder& layer) { return 1 - layer.op("Erf", {layer.input(0)}); }),
      tf_rule("Expm1", [](Builder& layer) { return layer.op("Exp", {layer.input(0)}) - 1; }),
      tf_rule("FloorDiv", tf_floor_div),
      tf_rule("Inv", [](Builder& layer) { return 1 / layer.input(0); }),
      tf_rule("Invert", [](Builder& layer) { return layer.op("BitwiseNot", {layer.input(0)}); }),
      tf_rule("IsFinite", tf_is_finite),
      tf_rule("LeakyRelu", tf_leaky_relu),
      tf_rule("LeftShift",
              [](Builder& layer) {
                return layer.op("BitwiseLeftShift", {layer.input(0), layer.input(1)});
              }),
      tf_rule("Log1p", [](Builder& layer) { return layer.op("Log", {layer.input(0) + 1}); }),
      tf_rule("MulNoNan",
              [](Builder& layer) {
                Value x = layer.input(0), y = layer.input(1), none = layer.op("Equal", {y, like(y, 0)});
                return build::select(none, like(x, 0), x * y);
              }),
      tf_rule("Ndtri",
              [](Builder& layer) { return layer.op("ErfInv", {layer.input(0) * 2 - 1}) * 1.41421356237309504880; }),
      tf_rule("OnesLike",
              [](Builder& layer) { return build::fill(layer, 1, layer.input(0).type(), shape_of(layer.input(0))); }),
      tf_rule("Reciprocal", [](Builder& layer) { return 1 / layer.input(0); }),
      tf_rule("Relu6",
              [](Builder& layer) {
                return layer.op("Clamp", {layer.input(0)}, {{"min", 0.0}, {"max", 6.0}});
              }),
      tf_rule("RightShift",
              [](Builder& layer) {
                return layer.op("BitwiseRightShift", {layer.input(0), layer.input(1)});
              }),
      tf_rule("Rsqrt",
              [](Builder& layer) {
                return layer.op("Power", {layer.input(0), like(layer.input(0), -0.5)});
              }),
      tf_rule("Select", tf_select),
      tf_rule("Selu", tf_selu),
      tf_rule("Square", [](Builder& layer) { return layer.input(0) * layer.input(0); }),
      tf_rule("TruncateDiv", tf_div),
      tf_rule("Xdivy",
              [](Builder& layer) {
                Value x = layer.input(0), y = layer.input(1), zero = layer.op("Equal", {x, like(x, 0)});
                return build::select(zero, like(x, 0), x / build::select(zero, like(y, 1), y));
              }),
      tf_rule("Xlogy", tf_xlogy),
      tf_rule("ZerosLike",
              [](Builder& layer) { return build::fill(layer, 0, layer.input(0).type(), shape_of(layer.input(0))); }),
  };
  return ops;
}

}  // namespace graft
