// Reads a GraphDef: nodes and functions, with references between nodes in normalized form.
#pragma once

#include "readers/tensorflow/tensor.hpp"

namespace graft {

struct TensorFlowNode : RawNode {
  std::vector<std::string> controls;  // nodes that must run before it
};

// References in `inputs` are "node" for its first output and "node:1" for others, also inside functions.
struct TensorFlowFunction {
  std::string name;
  std::vector<RawValue> inputs;      // kind "list": of tensors
  std::vector<std::string> outputs;  // references
  std::vector<TensorFlowNode> nodes;
};

struct TensorFlowGraph {
  int64_t producer = 0;  // version of the software that wrote it
  std::vector<TensorFlowNode> nodes;
  std::vector<TensorFlowFunction> functions;
};

class TensorFlowGraphReader {
 public:
  TensorFlowGraphReader(std::shared_ptr<const void> keeper, const char* origin, const Limits& limits)
      : origin_(origin), limits_(limits), tensors_(std::move(keeper), limits) {}

  TensorFlowGraph graph(std::string_view bytes);
  TensorFlowTensors& tensors() { return tensors_; }

 private:
  TensorFlowNode node(std::string_view bytes);
  std::pair<std::string, RawField> field(Wire w);
  RawField value(Wire w);
  RawField list(Wire w);
  TensorFlowFunction function(std::string_view bytes);

  const char* origin_;
  Limits limits_;
  TensorFlowTensors tensors_;
  size_t nodes_ = 0;
  bool complex_ = false;  // the current node involves complex numbers
};

// "a:1" -> {"a", 1}; "a" and "a:0" -> {"a", 0}.
std::pair<std::string_view, size_t> tensorflow_reference(std::string_view reference);
// The normalized form of a reference: without ":0".
std::string tensorflow_value(std::string_view node, size_t output);

}  // namespace graft
