// Cutting a part out of a model and freezing inputs, by the names of the model's own framework.
//
// A place is written as for the Model Optimizer: "conv" is a layer, "conv:1" its output 1, "0:conv" its input 0; a
// tensor name works too. A layer as an input means its inputs, a layer as an output means its first output.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "graph/graph.hpp"
#include "readers/raw.hpp"
#include "schema/registry.hpp"

namespace graft {

// "5", "True" or "[1 2 3]", not yet of any type.
struct FrozenValue {
  std::vector<std::string> items;
  bool list = false;
};

struct CutInput {
  std::string place;
  std::optional<Shape> shape;
  std::optional<DType> type;
  std::optional<FrozenValue> value;  // the input becomes this constant
  bool listed = true;  // from a complete list of inputs: it is an error if the outputs depend on another one
};

struct CutRequest {
  std::vector<CutInput> inputs;
  std::vector<std::string> outputs;  // places; none: those of the model
  std::optional<Shape> only_shape;   // of the one input that the model has
  std::optional<int64_t> batch;      // first dimension of all inputs
  // Places that become outputs in addition to the other ones; nothing is cut for them.
  std::vector<std::string> more_outputs;

  bool only_adds() const { return inputs.empty() && outputs.empty() && !only_shape && !batch; }
  bool empty() const { return only_adds() && more_outputs.empty(); }
};

struct CutEffect {
  // For each requested input that remains an input: the place as written and the nodes it became.
  std::vector<std::pair<std::string, std::vector<std::string>>> inputs;
  std::map<std::string, std::string> node_names;  // of values that became inputs or constants
  std::vector<std::string> warnings;
  // For each of CutRequest::more_outputs its position among the outputs; none: no such place exists.
  std::vector<std::optional<size_t>> more_outputs;
};

// Runs before import. `import` is called if a type or shape has to be inferred from the whole model. Removes what no
// output depends on. Throws RequestError if the request does not fit.
CutEffect cut_model(RawModel& model, const CutRequest& request, const std::function<Graph(const RawModel&)>& import);
// Names the nodes created by a cut, after import.
void name_cut_nodes(Graph& graph, const CutEffect& effect);

// The same on a graph. Types and shapes must be inferred again afterwards, unless the request only adds outputs.
CutEffect cut_graph(Graph& graph, const CutRequest& request, bool tensors_share_names = false);

}  // namespace graft
