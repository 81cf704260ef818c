// Small changes of a graph by name of operation, for what is put in at the user's wish.
#pragma once

#include "graph/graph.hpp"
#include "infer/inference.hpp"

namespace graft {

class GraphEdit {
 public:
  GraphEdit(Graph& graph, const Registry& registry) : g(graph), inference(registry, graph) { inference.infer_all(); }

  ValueId constant(Tensor value, const std::string& name);
  ValueId list(const std::vector<int64_t>& values, const std::string& name);
  // A node of one output, inferred.
  ValueId add(std::string type, std::string opset, std::vector<ValueId> inputs, const std::string& name);

  std::vector<Use> readers(ValueId v) const;
  // These inputs read `to` from now on.
  void redirect(const std::vector<Use>& uses, ValueId to);

  Graph& g;
  Inference inference;
};

// Elements along `axis` in another order: element i of the result is element order[i].
Tensor reordered(const Tensor& t, size_t axis, const std::vector<int64_t>& order);

}  // namespace graft
