// Splits a graph into parts, each for one device.
//
// The phase of a node is the number of changes of device on the way to it: the maximum over its inputs of the phase of
// the producer, plus one if the producer is on another device. The nodes of one device and one phase are a part. So
// parts depend on parts of lower phases alone, there are no cycles, and a device gets no more parts than the graph's
// paths change between devices. docs/decisions/0014 compares this with OpenVINO's algorithm.
#pragma once

#include "graph/graph.hpp"
#include "infer/inference.hpp"

namespace graft {

struct GraphPart {
  size_t device = 0, phase = 0;
  Graph graph;
  // Of the whole graph: the nodes of the part, and the values per parameter and per result.
  std::vector<NodeId> nodes;
  std::vector<ValueId> inputs, outputs;
};

// `device_of`: per node id, no_device for parameters, results and constants. Constants, and values that are known to be
// constant, are copied into each part that uses them. Parts are sorted by phase, then device.
std::vector<GraphPart> split_graph(const Graph& graph, const std::vector<size_t>& device_of, Inference& inference);

}  // namespace graft
