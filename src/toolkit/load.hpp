// Any model file: recognised by content, read, imported.
#pragma once

#include "import/replace.hpp"
#include "toolkit/state.hpp"

namespace graft {

enum class Format { onnx, caffe, tensorflow, ir, text };

// Throws when the content is none of the known formats; says what it looks like where it can.
Format recognise(const std::string& path);
std::string_view format_name(Format f);

std::shared_ptr<Model::State> load_model(const std::shared_ptr<Core::State>& core,
                                         const std::vector<std::string>& files, const ImportOptions& options = {});

// Imports a framework's model after what the options ask to be done to it first.
Imported import_taught(RawModel raw, const Registry& registry, const ImportOptions& options);

// What the replacements of the options find in the model; nothing is imported.
std::vector<ReplacementOutcome> try_replacements(const Core::State& core, const std::vector<std::string>& files,
                                                 const ImportOptions& options);
// Fills a replacement file in from the model (updated_replacements) and writes it again, whole or not at all.
void update_replacements(const Core::State& core, const std::vector<std::string>& files, const ImportOptions& options,
                         const std::string& path);

// Layers of a graph that nobody defined, in the form of the import report.
std::vector<UnknownType> opaque_layers(const Graph& g);

// Throws the whole verdict where something is unknown or could not be imported.
void require_complete(const Model::State& model);
// Throws where a mapping file passed layers on that nothing here can run.
void require_runnable(const ImportReport& report);
// What the model's own replacements of kind `general` ask of the passes.
PassOptions pass_options(const ImportReport& report);
// Gives inputs other shapes and types, and infers all others anew.
void reshape_inputs(Graph& g, const Registry& registry, const std::map<std::string, Shape>& shapes,
                    const std::map<std::string, DType>& types);

// The model as it comes back from an IR that was written after the passes.
Model through_ir(const Model& model);

// All of it, for people: types, counts, layers, fields, shapes, and the command that scaffolds each.
std::string verdict_text(const Model::State& model);

// Files and options that read a model the same way again, quoted for a shell: what follows `graft convert`.
std::string load_arguments(const std::vector<std::string>& files, const ImportOptions& options);
// The value of --extensions for what is loaded; empty: nothing is.
std::string extension_arguments(const Registry& registry);

}  // namespace graft
