// Cutting a part out of a model and freezing inputs, by the names of the model's own framework.
//
// A place is written as for the Model Optimizer: "conv" is a layer, "conv:1" its output 1, "0:conv" its input 0; the
// name of a tensor will do too. A layer as an input means what it reads, a layer as an output means what it makes.
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
  bool listed = true;  // one of a list that is meant to be all inputs: another one that is needed is an error
};

struct CutRequest {
  std::vector<CutInput> inputs;
  std::vector<std::string> outputs;  // places; none: those of the model
  std::optional<Shape> only_shape;   // of the one input that the model has
  std::optional<int64_t> batch;      // first dimension of all inputs
  // Places that become outputs beside those of the model, whatever else is asked for; nothing is cut for them.
  std::vector<std::string> more_outputs;

  bool only_adds() const { return inputs.empty() && outputs.empty() && !only_shape && !batch; }
  bool empty() const { return only_adds() && more_outputs.empty(); }
};

struct CutEffect {
  // For each input of the request that is still one: the place as written and the nodes it became.
  std::vector<std::pair<std::string, std::vector<std::string>>> inputs;
  std::map<std::string, std::string> node_names;  // of values that became inputs or constants
  std::vector<std::string> warnings;
  // For each of CutRequest::more_outputs its position among the outputs; none: there is no such place.
  std::vector<std::optional<size_t>> more_outputs;
};

// Before import. `import` is called where a type or shape has to be learnt from the whole model. What no output needs
// is gone afterwards. Throws RequestError where the request does not fit.
CutEffect cut_model(RawModel& model, const CutRequest& request, const std::function<Graph(const RawModel&)>& import);
// Gives the nodes made by a cut their names, after import.
void name_cut_nodes(Graph& graph, const CutEffect& effect);

// The same on a graph. Types and shapes are to be inferred anew afterwards, unless the request only adds outputs.
CutEffect cut_graph(Graph& graph, const CutRequest& request, bool tensors_share_names = false);

}  // namespace graft
