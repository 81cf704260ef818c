// Loads any model file: recognized by content, read, imported.
#pragma once

#include "import/replace.hpp"
#include "toolkit/state.hpp"

namespace graft {

enum class Format { onnx, caffe, tensorflow, ir, text };

// Throws when the content is in none of the supported formats.
Format recognise(const std::string& path);
std::string_view format_name(Format f);

std::shared_ptr<Model::State> load_model(const std::shared_ptr<Core::State>& core,
                                         const std::vector<std::string>& files, const ImportOptions& options = {});

// Imports a framework's model, after applying the options that change it before the import.
Imported import_taught(RawModel raw, const Registry& registry, const ImportOptions& options);

// The matches of the options' replacements in the model; nothing is imported.
std::vector<ReplacementOutcome> try_replacements(const Core::State& core, const std::vector<std::string>& files,
                                                 const ImportOptions& options);
// Fills in a replacement file from the model (updated_replacements) and rewrites it atomically.
void update_replacements(const Core::State& core, const std::vector<std::string>& files, const ImportOptions& options,
                         const std::string& path);

// Unknown layers of a graph, in the form of the import report.
std::vector<UnknownType> opaque_layers(const Graph& g);

// Throws the full report if a layer is unknown or could not be imported.
void require_complete(const Model::State& model);
// Throws if a mapping file passed through layers that no loaded operation can run.
void require_runnable(const ImportReport& report);
// The pass calls requested by the model's replacements of kind `general`.
PassOptions pass_options(const ImportReport& report);
// Changes shapes and types of inputs, and infers all others again.
void reshape_inputs(Graph& g, const Registry& registry, const std::map<std::string, Shape>& shapes,
                    const std::map<std::string, DType>& types);

// The model as it would be read back from an IR written after the passes.
Model through_ir(const Model& model);

// The full report as text: types, counts, layers, fields, shapes, and the command that generates a skeleton for each.
std::string verdict_text(const Model::State& model);

// Files and options that read a model the same way again, quoted for a shell: the arguments of `graft convert`.
std::string load_arguments(const std::vector<std::string>& files, const ImportOptions& options);
// The value of --extensions for the loaded extensions; empty: none.
std::string extension_arguments(const Registry& registry);

}  // namespace graft
