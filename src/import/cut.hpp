// Cutting a part out of a model and freezing inputs (CutRequest of graft/app/read.hpp), by the names of the model's own
// framework.
#pragma once

#include <functional>
#include <graft/app/read.hpp>

#include "graph/graph.hpp"
#include "readers/raw.hpp"
#include "schema/registry.hpp"

namespace graft {

struct CutEffect {
  // For each requested input that remains an input: the place as written and the nodes it became.
  std::vector<std::pair<std::string, std::vector<std::string>>> inputs;
  std::map<std::string, std::string> node_names;   // of values that became inputs or constants
  std::map<std::string, std::string> other_names;  // of values that became inputs: as the request names the edge
  std::vector<std::string> warnings;
  // For each of CutRequest::more_outputs its position among the outputs; none: no such place exists.
  std::vector<std::optional<size_t>> more_outputs;
};

// Runs before import. `import` is called if a type or shape has to be inferred from the whole model. Removes what no
// output depends on. Throws RequestError if the request does not fit.
CutEffect cut_model(RawModel& model, const CutRequest& request, const std::function<Graph(const RawModel&)>& import,
                    const Limits& limits = {});
// Names the nodes created by a cut, after import.
void name_cut_nodes(Graph& graph, const CutEffect& effect);

// The same on a graph. Types and shapes must be inferred again afterwards, unless the request only adds outputs.
CutEffect cut_graph(Graph& graph, const CutRequest& request, bool tensors_share_names = false);

}  // namespace graft
