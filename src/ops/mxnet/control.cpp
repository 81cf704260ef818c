// Loops with a condition, in the form that the reader gives them (readers/mxnet/control.hpp).
#include "mxnet/building.hpp"
#include "onnx/loops.hpp"

namespace graft {
namespace {

// MXNet has no booleans and no scalars: a condition is a tensor with one number.
Value import_mxnet_condition(Builder& layer) { return as_scalar(convert(layer.input(0), DType::boolean)); }

// Collected values have as many rows as there may be iterations; those that did not happen are zeros.
std::vector<Value> import_mxnet_while(Builder& layer) {
  auto most = layer.get<int64_t>("max_iterations");
  if (most < 1 || most > 1 << 30) fail("expected 'max_iterations' of 1 to ", 1 << 30, ", got ", most);
  size_t states = layer.inputs() - std::min<size_t>(2, layer.inputs());
  std::vector<Value> out = make_loop(layer, layer.scalar(most));
  for (size_t i = states; i < out.size(); ++i) {
    Shape s = out[i].shape();
    if (!s.ranked()) unsupported("the rank of the values that a loop collects must be known");
    std::vector<int64_t> none(s.rank(), 0), others(s.rank() - 1, 0);
    Value missing = layer.ints({most}) - build::dim(out[i], 0);
    Value end = others.empty() ? missing : build::concat({missing, layer.ints(others)}, 0);
    out[i] = layer.op("Pad", {out[i], layer.ints(none), end, like(out[i], 0)}, {{"pad_mode", "constant"}});
  }
  return out;
}

}  // namespace

Definitions define_mxnet_control() {
  return {
      mxnet("Condition").domain("graft").expand(import_mxnet_condition),
      mxnet("While").domain("graft").expand(import_mxnet_while),
  };
}

}  // namespace graft
