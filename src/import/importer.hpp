// Imports a raw graph: applies import rules to produce a graph of operations.
#pragma once

#include <map>
#include <optional>

#include "graph/graph.hpp"
#include "import/cut.hpp"
#include "infer/inference.hpp"
#include "readers/raw.hpp"
#include "schema/registry.hpp"

namespace graft {

// All layers of one type without a rule.
struct UnknownType {
  std::string type, domain;
  int64_t version = 1;
  struct Layer {
    std::string name;
    std::vector<std::optional<Info>> inputs;  // none: absent
    size_t outputs = 0;
    std::vector<std::pair<std::string, Attribute>> fields;
  };
  std::vector<Layer> layers;
};

// Which rule handled a layer.
struct Claim {
  std::string layer, type, domain;
  // "built-in", "function of the model", "mapping file ...", "replacement '...' of ...", or the extension's name
  std::string by;
  std::vector<std::string> operations;
  bool extension = false;  // handled by a rule of an extension
};

struct Problem {
  std::string layer, type;
  Error error;
};

// An entry of a replacement file that asks for a pass over the whole graph.
struct GeneralReplacement {
  std::string id, file;
  Attributes attributes;  // nested ones under dotted paths
};

struct ImportReport {
  size_t layers = 0;  // of the file
  std::vector<UnknownType> unknown;
  std::vector<Problem> problems;  // layers with a rule that failed
  std::vector<Claim> claims;
  std::vector<std::string> warnings;  // unused fields, for example
  // For every requested input: the place as written, and the nodes of the graph it became.
  std::vector<std::pair<std::string, std::vector<std::string>>> cut_inputs;
  // Layers that a mapping file passes through: converted, but only an extension can run them.
  std::vector<UnknownType> passed_on;
  std::vector<GeneralReplacement> general;
  bool complete() const { return unknown.empty() && problems.empty(); }
};

struct LayerMapping;
struct ReplacementConfig;

struct ImportOptions {
  ReadRequest read;
  CutRequest cut;                            // applied between reading and import
  std::vector<std::string> disabled_passes;  // of those that run right after import
  // Types or shapes that override those of the file, by input name.
  std::map<std::string, Shape> input_shapes;
  std::map<std::string, DType> input_types;
  int max_depth = 64;              // of functions and sub-graphs
  size_t max_inlined = 2'000'000;  // layers added by inlining function calls
  FoldLimits fold_limits;
  std::shared_ptr<const LayerMapping> mapping;            // CustomLayersMapping.xml; for Caffe
  std::shared_ptr<const ReplacementConfig> replacements;  // sub-graphs that are replaced before the import
  bool allow_unmatched = false;                           // a replacement that matches nothing is only a warning
};

struct Imported {
  Graph graph;
  ImportReport report;
};

// Imports as much as possible. Unknown layers become opaque nodes and are listed in the report.
Imported import_model(const RawModel& model, const Registry& registry, const ImportOptions& options = {});

}  // namespace graft
