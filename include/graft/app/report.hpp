// What came of reading a model: the layers that are unknown, and which rule imported each of the others.
//
//   graft::Report report = model.report();
//   if (!report.complete()) std::puts(report.to_text().c_str());      // with the commands that generate skeletons
//   for (const graft::Claim& c : report.claims)
//     if (c.extension) std::printf("%s was imported by %s\n", c.layer.c_str(), c.by.c_str());
//
// Plain values, independent of the model they come from.
#pragma once

#include "attribute.hpp"
#include "fields.hpp"
#include "ports.hpp"

namespace graft {

// All layers of one type that no rule claims.
struct GRAFT_API UnknownType {
  std::string type, domain;
  int64_t version = 1;
  struct GRAFT_API Layer {
    std::string name;
    std::vector<std::optional<Info>> inputs;
    size_t outputs = 0;
    std::vector<std::pair<std::string, Attribute>> attributes;
    size_t weights = 0;
    std::vector<std::pair<std::string, std::string>> other_attributes;
    std::vector<Info> declared;
    static constexpr std::tuple fields{
        field("name", &Layer::name, "name of the layer"),
        field("inputs", &Layer::inputs, "types and shapes; none: absent"),
        field("outputs", &Layer::outputs, "number of outputs"),
        field("attributes", &Layer::attributes, "attributes as the file has them"),
        field("weights", &Layer::weights, "number of weights, which are the last inputs"),
        field("other_attributes", &Layer::other_attributes, "what no attribute holds, such as \"a graph\""),
        field("declared", &Layer::declared, "the outputs as the file describes them, as far as it does")};
  };
  std::vector<Layer> layers;
  bool is_operation = false;
  std::string note;
  static constexpr std::tuple fields{
      field("type", &UnknownType::type, "type of the layers"),
      field("domain", &UnknownType::domain, "domain of the type"),
      field("version", &UnknownType::version, "version of the domain"),
      field("layers", &UnknownType::layers, "all layers of the type"),
      field("is_operation", &UnknownType::is_operation, "`op` of a replacement: an operation, not a layer"),
      field("note", &UnknownType::note, "what is near: a similar name, a definition that does not take the layer")};
};

// Which rule handled a layer.
struct GRAFT_API Claim {
  std::string layer, type, domain;
  std::string by;
  std::vector<std::string> operations;
  bool extension = false;
  std::string added_by;
  static constexpr std::tuple fields{
      field("layer", &Claim::layer, "name of the layer"),
      field("type", &Claim::type, "type of the layer in its framework"),
      field("domain", &Claim::domain, "domain of the type"),
      field("by", &Claim::by,
            "built-in, function of the model, mapping file ..., replacement '...' of ..., no rule, or the extension's "
            "name"),
      field("operations", &Claim::operations, "operations that it became"),
      field("extension", &Claim::extension, "whether a rule of an extension imported it"),
      field("added_by", &Claim::added_by,
            "such as \"raw pass 'fuse_gelu' of libacme.so\"; empty: a layer of the file")};
};

// What a raw pass of an extension changed in the framework's model, before its import.
struct GRAFT_API RawPassEffect {
  std::string name, extension;
  std::vector<std::string> added, removed, changed;
  std::vector<std::string> replacements;
  size_t layers_before = 0, layers_after = 0;
  static constexpr std::tuple fields{
      field("name", &RawPassEffect::name, "name of the pass"),
      field("extension", &RawPassEffect::extension, "extension that has it"),
      field("added", &RawPassEffect::added, "layers, as \"'gelu' (Gelu)\""),
      field("removed", &RawPassEffect::removed, "layers"),
      field("changed", &RawPassEffect::changed, "layers"),
      field("replacements", &RawPassEffect::replacements, "entries of a replacement file that it handled"),
      field("layers_before", &RawPassEffect::layers_before, "layers of the model before it"),
      field("layers_after", &RawPassEffect::layers_after, "layers of the model after it")};
  // A line, and a line for each kind of change.
  std::string to_text() const;
};

// A layer with a rule that failed.
struct GRAFT_API Problem {
  std::string layer, type;
  Error error;
  std::vector<std::string> inputs;
  std::string after;
  static constexpr std::tuple fields{
      field("layer", &Problem::layer, "name of the layer"),
      field("type", &Problem::type, "type of the layer in its framework"),
      field("error", &Problem::error, "why it cannot be imported"),
      field("inputs", &Problem::inputs, "inputs of the model whose values the layer needs when it is imported"),
      field("after", &Problem::after, "an unknown layer that it depends on, the likely cause; empty: none")};
};

struct GRAFT_API Report {
  size_t layers = 0;
  std::vector<UnknownType> unknown;
  std::vector<Problem> problems;
  std::vector<Claim> claims;
  std::vector<std::string> warnings;
  std::vector<UnknownType> passed_on;
  std::vector<std::string> assumed;
  std::vector<std::string> notes;
  std::vector<std::string> overridden;
  std::vector<RawPassEffect> raw_passes;
  std::string arguments, extensions;

  // Whether the model can be converted and compiled.
  bool complete() const { return unknown.empty() && problems.empty(); }
  // Whether ConvertOptions::stub_unknown can write it: all problems are layers behind unknown ones.
  bool can_stub() const {
    for (const Problem& p : problems)
      if (p.after.empty()) return false;
    return true;
  }
  static constexpr std::tuple fields{
      field("layers", &Report::layers, "number of layers in the file"),
      field("complete", &Report::complete, "whether the model can be converted and compiled"),
      field("unknown", &Report::unknown, "unknown layers by type"),
      field("problems", &Report::problems, "known layers that cannot be imported"),
      field("claims", &Report::claims, "which rule imported each layer; of an IR: its stubs only"),
      field("warnings", &Report::warnings, "such as unused attributes"),
      field("passed_on", &Report::passed_on, "layers that become opaque nodes on request: only an extension runs them"),
      field("assumed", &Report::assumed, "sequence inputs whose length is not given: imported with one item"),
      field("notes", &Report::notes, "published replacements that are not needed"),
      field("overridden", &Report::overridden, "built-in operations that an extension replaces"),
      field("raw_passes", &Report::raw_passes, "passes of extensions that changed the model before its import"),
      field("arguments", &Report::arguments, "files and options that read the model the same way again"),
      field("extensions", &Report::extensions, "files of the extensions that are loaded, separated by commas")};
  // Unknown layers and problems: types, counts, layers, attributes, shapes, and how to generate a skeleton for each.
  // Empty if the model is complete.
  std::string to_text() const;
  // Raw passes, claims and warnings, one per line, as `graft explain` prints them.
  std::string claims_text() const;
};

}  // namespace graft
