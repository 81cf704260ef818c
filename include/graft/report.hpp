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
#include "ports.hpp"

namespace graft {

// All layers of one type that no rule claims.
struct GRAFT_API UnknownType {
  std::string type, domain;
  int64_t version = 1;
  struct GRAFT_API Layer {
    std::string name;
    std::vector<std::optional<Info>> inputs;  // none: absent
    size_t outputs = 0;
    std::vector<std::pair<std::string, Attribute>> fields;
    size_t weights = 0;                                             // number of weights, which are the last inputs
    std::vector<std::pair<std::string, std::string>> other_fields;  // what no attribute holds: name, "a graph"
    std::vector<Info> declared;  // the outputs as the file describes them, as far as it does
  };
  std::vector<Layer> layers;
  bool is_operation = false;  // `op` of a replacement: an operation of this name is looked for, not a rule
  std::string note;           // what is near: a similar name, a definition that does not take the layer
};

// Which rule handled a layer.
struct GRAFT_API Claim {
  std::string layer, type, domain;
  // "built-in", "function of the model", "mapping file ...", "replacement '...' of ...", "no rule", or the extension's
  // name
  std::string by;
  std::vector<std::string> operations;  // that it became
  bool extension = false;               // handled by a rule of an extension
  std::string added_by;                 // "raw pass 'fuse_gelu' of libacme.so"; empty: a layer of the file
};

// What a raw pass of an extension changed in the framework's model, before its import.
struct GRAFT_API RawPassEffect {
  std::string pass, extension;
  std::vector<std::string> added, removed, changed;  // layers, as "'gelu' (Gelu)"
  std::vector<std::string> replacements;             // ids of entries of a replacement file that it handled
  size_t layers_before = 0, layers_after = 0;        // of the whole model
  // A line, and a line for each kind of change.
  std::string to_text() const;
};

// A layer with a rule that failed.
struct GRAFT_API Problem {
  std::string layer, type;
  Error error;
  std::vector<std::string> inputs;  // of the model, whose values the layer needs when it is imported
  std::string after;                // an unknown layer that it depends on, the likely cause; empty: none
};

struct GRAFT_API Report {
  size_t layers = 0;  // of the file
  std::vector<UnknownType> unknown;
  std::vector<Problem> problems;
  std::vector<Claim> claims;            // of an IR: its stubs only
  std::vector<std::string> warnings;    // unused fields, for example
  std::vector<UnknownType> passed_on;   // layers that become opaque nodes as asked for: only an extension can run them
  std::vector<std::string> assumed;     // sequence inputs whose length is not given: imported with one item
  std::vector<std::string> notes;       // published replacements that are not needed
  std::vector<std::string> overridden;  // built-in operations that an extension takes the place of, as text
  std::vector<RawPassEffect> raw_passes;  // of extensions, that changed the model before its import
  // The arguments of `graft convert` that read the model the same way again, quoted for a shell, and the value of
  // --extensions.
  std::string arguments, extensions;

  // Whether the model can be converted and compiled.
  bool complete() const { return unknown.empty() && problems.empty(); }
  // Whether ConvertOptions::stub_unknown can write it: all problems are layers behind unknown ones.
  bool can_stub() const {
    for (const Problem& p : problems)
      if (p.after.empty()) return false;
    return true;
  }
  // Unknown layers and problems, as the command line prints them: types, counts, layers, fields, shapes, and the
  // command that generates a skeleton for each. Empty if the model is complete.
  std::string to_text() const;
  // Raw passes, claims and warnings, one per line, as `graft explain` prints them.
  std::string claims_text() const;
};

}  // namespace graft
