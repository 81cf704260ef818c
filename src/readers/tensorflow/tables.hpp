// Lookup tables of TensorFlow: their initializers are not part of the graph that reads them.
#pragma once

#include "readers/tensorflow/graph.hpp"
#include "readers/tensorflow/tensor_bundle.hpp"

namespace graft {

// Where the content of tables may come from, other than constants.
struct TableSources {
  std::string folder;                         // of the SavedModel; asset files lie in its folder assets
  std::map<std::string, std::string> assets;  // values that hold the name of a file -> the file in that folder
  TensorBundle* checkpoint = nullptr;
};

// Gives the nodes of tables fields `keys` and `values`, as far as the model's initializers define them.
void fill_tables(TensorFlowGraph& graph, const TableSources& sources);

}  // namespace graft
