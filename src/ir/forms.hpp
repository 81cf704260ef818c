// Forms of inputs and outputs in the runtime information of an IR, where other tools carry them along:
//
//   <rt_info><graft><outputs value='[{"name":"y","form":{"sequence":[0,1]}}]'/></graft></rt_info>
//
// A number is a position among the Parameters or Results of the file.
#pragma once

#include "graph/graph.hpp"

namespace graft {

// The runtime information of the whole model, with its forms; null where there is neither.
std::shared_ptr<const Xml> with_forms(const Graph& graph);
// Takes the forms out of the runtime information that was read. Refuses what does not fit the graph.
void take_forms(Graph& graph);

}  // namespace graft
