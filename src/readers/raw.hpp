// A framework's model as stored in its files: with the framework's own types and names, not interpreted.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/limits.hpp"
#include "graph/attribute.hpp"
#include "schema/framework.hpp"

namespace graft {

struct RawGraph;

// A field of a layer: a plain value, or graphs, or tensors, or (inside a function) another name for the caller's field.
struct RawField {
  Attribute value;
  std::vector<std::shared_ptr<RawGraph>> graphs;
  std::vector<Tensor> tensors;
  std::string refers_to;
};
inline RawField field_of(Attribute value) { return {std::move(value), {}, {}, {}}; }
inline RawField field_of(std::shared_ptr<RawGraph> graph) { return {{}, {std::move(graph)}, {}, {}}; }

// How a node came about that is not from the file.
struct RawOrigin {
  std::string stands_for;   // a sub-graph: "replacement 'x' of f.json"
  std::string added_by;     // "raw pass 'x' of lib.so"
  std::vector<Info> infos;  // of the outputs of an operation that may be unknown
  std::string source;       // the line of the program that the file was exported from: "net.py:12 in layers.0"
  // A framework whose rule for this type is taken where the model's own has none: operators of TensorFlow in a .tflite
  // file.
  std::string fallback_framework;
};

struct RawNode {
  std::string type;
  std::string domain;
  std::string name;
  std::vector<std::string> inputs;                       // empty: absent
  std::vector<std::string> outputs;                      // empty: unused
  std::vector<std::pair<std::string, RawField>> fields;  // nested parameters under dotted paths
  size_t weights = 0;                                    // how many of the last inputs are weights of the layer
  size_t position = 0;                                   // byte offset or line in the file
  bool is_operation = false;                             // `type` is one of ours, the fields are its attributes

  // Rare, and models have many nodes.
  const RawOrigin& origin() const {
    static const RawOrigin file;
    return origin_ ? *origin_ : file;
  }
  RawOrigin& set_origin() {
    origin_ = std::make_shared<RawOrigin>(origin());
    return *origin_;
  }

  const RawField* find(std::string_view path) const {
    for (const auto& [name, field] : fields)
      if (name == path) return &field;
    return nullptr;
  }

 private:
  std::shared_ptr<RawOrigin> origin_;  // null: from the file
};

struct RawValue {
  std::string name;
  Info info;
  std::string kind;             // empty: a tensor; else "sequence", "optional", "map", "sparse tensor"
  std::string also;             // an alternative name of an input in its framework
  std::vector<RawValue> parts;  // a sequence's or an optional's element; a map's keys and values
  bool unused = false;          // has no consumers: an input of the model only if the user names it
};

struct RawGraph {
  std::string name;
  std::vector<RawValue> inputs, outputs;
  std::map<std::string, RawValue> values;  // types and shapes of intermediate values
  std::vector<std::pair<std::string, Tensor>> constants;
  std::vector<RawNode> nodes;
};

struct RawFunction {
  std::string domain, name;
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> fields;                         // that the caller must give
  std::vector<std::pair<std::string, RawField>> defaults;  // that the caller may give
  std::map<std::string, int64_t> opsets;
  std::vector<RawNode> nodes;
};

struct RawModel {
  std::string framework;  // its name, see framework.hpp
  Conventions conventions;
  std::string path;  // of the main file
  std::string producer;
  std::string position_unit = "byte";     // what RawNode::position counts
  std::map<std::string, int64_t> opsets;  // domain -> version
  RawGraph graph;
  std::vector<RawFunction> functions;
  std::string first_output;          // optional suffix of the name of a layer's first output: ":0" in TensorFlow
  std::vector<std::string> symbols;  // names of unknown dimensions; Dim::symbol() - 1 is an index
  std::optional<std::pair<int64_t, int64_t>> streaming;  // frames of context before and behind an utterance
};

}  // namespace graft
