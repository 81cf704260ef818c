// Reads any model: recognized by content, read, imported, reported.
#pragma once

#include "toolkit/recognize.hpp"
#include "toolkit/state.hpp"

namespace graft {

// The options of the application, with the files that they name read.
ImportOptions import_options(const ReadOptions& options);
// The limit on nodes, if the user gives none: as many as are in proportion to the files.
inline constexpr uint64_t nodes_by_size = UINT64_MAX;
ImportOptions with_sizes(ImportOptions options, const std::vector<std::string>& files);

Model load_model(std::shared_ptr<const Registry> registry, const std::vector<std::string>& files,
                 const ImportOptions& options = {});

// A framework's model, or the requested part of it, before import.
RawModel read_part(const Registry& registry, const ModelFormat& format, const std::vector<std::string>& files,
                   const ImportOptions& options, CutEffect& effect);
// Imports a framework's model, after applying the options that change it before the import.
Imported import_replaced(RawModel raw, const Registry& registry, const ImportOptions& options);
// Changes shapes and types of inputs, and infers all others again.
void reshape_inputs(Graph& g, const Registry& registry, const std::map<std::string, Shape>& shapes,
                    const std::map<std::string, DType>& types, const Limits& limits = {});

// The description of a model for streaming that its graph and IR keep, and the same as it is read there.
std::shared_ptr<const Xml> streaming_info(const Streaming& streaming);
std::optional<Streaming> find_streaming(const Graph& g);

// The matches of the options' replacements in the model; nothing is imported.
std::vector<ReplacementOutcome> try_replacements(const Registry& registry, const std::vector<std::string>& files,
                                                 const ImportOptions& options);
// Fills in a replacement file from the model (updated_replacements) and rewrites it atomically.
void update_replacements(const Registry& registry, const std::vector<std::string>& files, const ImportOptions& options,
                         const std::string& path);

// A value that is an optional's own, where an optional is expected and the other way round.
inline const Datum& without_optional(const Datum& d) {
  return d.kind == Datum::optional && d.parts.size() == 1 ? d.parts[0] : d;
}

// ---- the report ----

Report report_of(const ModelOrigin& model);
// Unknown layers of a graph, in the form of the import report.
std::vector<UnknownType> opaque_layers(const Graph& g);
// Throws the full report if a layer is unknown or could not be imported.
void require_complete(const ModelOrigin& model);
// Throws if there are layers that were passed on as opaque nodes.
void require_runnable(const ImportReport& report);
// The pass calls requested by the model's replacements of kind `general`.
PassOptions pass_options(const ImportReport& report, const Limits& limits = {});

// Files, quoted for a shell, and options that read a model the same way again.
std::string load_arguments(const std::vector<std::string>& files, const ImportOptions& options);
// The loaded libraries, separated by commas; empty: none.
std::string extension_arguments(const Registry& registry);

}  // namespace graft
