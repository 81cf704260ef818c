// A layer that could not be imported, as its file had it: of an unknown type, or behind one. Its node is opaque, and an
// IR stores the stub, so that import rules of an extension that is loaded later see the same layer.
#pragma once

#include "import/importer.hpp"
#include "import/mapping.hpp"
#include "readers/raw.hpp"

namespace graft {

struct Stub {
  std::string framework;
  std::string file, position_unit;  // where the layer was
  std::string first_output;         // as in RawModel
  std::map<std::string, int64_t> opsets;
  RawNode layer;
  std::vector<RawFunction> functions;  // of the model, that sub-graphs of the layer call

  // The values of the framework in the inputs of the node: the layer's inputs, then what its sub-graphs capture. A
  // sequence takes one input per item.
  struct Value {
    std::string name;             // empty: absent
    std::optional<size_t> items;  // of a sequence
  };
  std::vector<Value> values;

  int64_t version() const;
};

// The rule for a layer that goes first and matches its version and fields; null: there is none.
const RuleDef* rule_for(const Registry& registry, std::string_view framework, const RawNode& layer, int64_t version);

// "module.Class" of a Caffe layer in Python, which goes by its class alone too; empty: it is none.
std::string python_class(const RawNode& raw);
// The entry of a mapping file for a layer of the file; null: none. That of a Python layer's class goes first.
const MappedLayer* mapped_layer(const LayerMapping& mapping, const RawNode& raw);

// What a node shows of a stub: the fields with a plain value that XML can express.
Attributes plain_attributes(const RawNode& layer);

// Names that the sub-graphs of a layer use and do not produce themselves, in alphabetical order.
std::vector<std::string> captured_names(const RawNode& layer);

size_t count_stubs(const Graph& graph);  // in bodies too

// Imports all stubs of a graph, in bodies too, and infers what depends on them. What still has no rule, or fails, stays
// a stub and is in the report.
ImportReport import_stubs(Graph& graph, const Registry& registry, const ImportOptions& options);

}  // namespace graft
