// Imports a raw graph: applies import rules to produce a graph of operations.
#pragma once

#include <algorithm>
#include <graft/app/read.hpp>
#include <graft/app/report.hpp>
#include <map>
#include <optional>

#include "graph/graph.hpp"
#include "import/cut.hpp"
#include "infer/inference.hpp"
#include "readers/raw.hpp"
#include "schema/registry.hpp"

namespace graft {

// What an input of the model holds that is a sequence or an optional.
struct InputForm {
  bool absent = false;           // an empty optional
  std::optional<size_t> length;  // of a sequence
  std::vector<Shape> shapes;     // of its items, or of the one tensor; none: as the file says
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
  std::vector<std::string> notes;     // published replacements that are not needed
  // For every requested input: the place as written, and the nodes of the graph it became.
  std::vector<std::pair<std::string, std::vector<std::string>>> cut_inputs;
  // Layers that become opaque nodes with given outputs, by a mapping file, an import rule or a raw pass: converted, but
  // only an extension can run them.
  std::vector<UnknownType> passed_on;
  std::vector<GeneralReplacement> general;
  std::vector<RawPassEffect> raw_passes;
  // For every place of CutRequest::more_outputs its position among the outputs; none: only the graph may know it.
  std::vector<std::optional<size_t>> more_outputs;
  // Inputs whose values decide the structure of an output or whether a layer can be imported.
  std::vector<std::string> decisive;
  // Sequences among the inputs whose length is not given: imported with one item, for inspection only.
  std::vector<std::string> assumed;
  bool complete() const { return unknown.empty() && problems.empty(); }
  // Whether all that fails depends on an unknown layer, so that it can be imported later.
  bool only_unknown() const {
    return std::all_of(problems.begin(), problems.end(), [](const Problem& p) { return !p.after.empty(); });
  }
};

struct LayerMapping;
struct ReplacementConfig;

struct ImportOptions {
  ReadOptions read;  // of the application
  // Types or shapes that override those of the file, by input name.
  std::map<std::string, Shape> input_shapes;
  std::map<std::string, DType> input_types;
  std::map<std::string, InputForm> input_forms;  // of inputs that are not tensors
  std::map<std::string, Tensor> input_values;    // inputs that become constants
  Limits limits;
  std::shared_ptr<const LayerMapping> mapping;            // CustomLayersMapping.xml; for Caffe
  std::shared_ptr<const ReplacementConfig> replacements;  // sub-graphs that are replaced before the import
};

struct Imported {
  Graph graph;
  ImportReport report;
};

// Imports as much as possible. Unknown layers become opaque nodes and are listed in the report.
Imported import_model(const RawModel& model, const Registry& registry, const ImportOptions& options = {});

}  // namespace graft
