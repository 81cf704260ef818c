// Nodes of the operations that every graph has. Name and outputs are left to the caller.
#pragma once

#include "graph/graph.hpp"

namespace graft {

inline Node constant_node(Tensor t) {
  Node n;
  n.type = "Constant", n.opset = "opset1";
  n.attrs["value"] = std::move(t);
  return n;
}
inline Node parameter_node(const Info& info) {
  Node n;
  n.type = "Parameter", n.opset = "opset1";
  n.attrs["shape"] = info.shape, n.attrs["element_type"] = info.type;
  return n;
}
inline Node result_node(ValueId v) {
  Node n;
  n.type = "Result", n.opset = "opset1", n.inputs = {v};
  return n;
}

}  // namespace graft
