// The CPU's own pass for networks in f16: they are computed in f32, and nothing in between is rounded to f16.
#include <graft/formula.hpp>
#include <graft/op.hpp>

namespace graft {
namespace {

// The value in f32: what it was made from, if that was f32.
Value widened(const Value& v) {
  if (!v || v.type() != DType::f16) return v;
  NodeRef narrow = made_by(v, "Convert");
  return narrow && narrow.input(0).type() == DType::f32 ? narrow.input(0) : convert(v, DType::f32);
}

Value widen(Rewrite& at) {
  NodeRef self = at.node();
  if (self.outputs() != 1) return {};
  bool narrow = false;
  std::vector<Value> inputs;
  for (const Value& v : at.all_inputs()) {
    narrow |= v && v.type() == DType::f16;
    inputs.push_back(widened(v));
  }
  if (!narrow) return {};
  return convert(at.like(self, inputs), at.self().type());
}

// Convert(Convert(x) to f16) to f32  =>  x
Value widen_again(Rewrite& at) {
  Value x = at.input(0);
  if (at.self().type() != DType::f32 || x.type() != DType::f16) return {};
  NodeRef narrow = made_by(x, "Convert");
  return narrow && narrow.input(0).type() == DType::f32 ? narrow.input(0) : Value();
}

}  // namespace

Definitions cpu_widen() {
  return {Pass("cpu_widen")
              .doc("compute f16 in f32")
              .device("CPU")
              .before("fold_constants")
              .visit({"Abs",
                      "Add",
                      "AvgPool",
                      "BatchNormInference",
                      "Broadcast",
                      "Clamp",
                      "Concat",
                      "Convolution",
                      "ConvolutionBackpropData",
                      "Cos",
                      "CumSum",
                      "Divide",
                      "Einsum",
                      "Elu",
                      "Equal",
                      "Erf",
                      "Exp",
                      "Floor",
                      "Gather",
                      "Gelu",
                      "Greater",
                      "GreaterEqual",
                      "GroupConvolution",
                      "GroupConvolutionBackpropData",
                      "GroupNormalization",
                      "HSigmoid",
                      "HSwish",
                      "HardSigmoid",
                      "Less",
                      "LessEqual",
                      "Log",
                      "LogSoftmax",
                      "MVN",
                      "MatMul",
                      "Maximum",
                      "Minimum",
                      "Mish",
                      "Multiply",
                      "Negative",
                      "NormalizeL2",
                      "PRelu",
                      "Pad",
                      "Power",
                      "ReduceL2",
                      "ReduceMax",
                      "ReduceMean",
                      "ReduceMin",
                      "ReduceSum",
                      "Relu",
                      "Reshape",
                      "Select",
                      "Sigmoid",
                      "Sin",
                      "Slice",
                      "SoftPlus",
                      "Softmax",
                      "Sqrt",
                      "SquaredDifference",
                      "Squeeze",
                      "StridedSlice",
                      "Subtract",
                      "Swish",
                      "Tanh",
                      "Transpose",
                      "Unsqueeze"},
                     widen),
          Pass("cpu_widen_again")
              .doc("remove rounding to f16 between operations")
              .device("CPU")
              .before("fold_constants")
              .after("cpu_widen")
              .visit({"Convert"}, widen_again)};
}

}  // namespace graft
