// The Model Optimizer's other options: those that mean something here, and those that are refused by name.
#pragma once

#include "command.hpp"
#include "passes/pass.hpp"

namespace graft::cli {

struct MoOptions {
  std::string framework, data_type, checkpoint, meta_graph, saved_model, tags, pipeline, finegrain, transform;
  bool compress = false, is_text = false, progress = false, stream = false;
  bool no_fusing = false, no_group_fusing = false, no_strides = false, concats = false, keep_transposes = false;
  std::vector<std::string> notes;  // on options that change nothing

  void add(CLI::App& app);

  // Files that options name, and what the readers have to know. To be called before the model's files are looked at.
  void add_to(ModelOptions& model, ImportOptions& import) const;
  // Refuses a framework that is not the one of the files.
  void check_framework(const std::vector<std::string>& files) const;
  // Says what became of --tensorflow_object_detection_api_pipeline_config, now that the model is known.
  void note_pipeline(const Model& model) const;
  bool half() const;  // weights are to be stored as f16
  // Passes to leave out or to run, of those that there are, and nodes that they leave alone.
  PassOptions passes(const Registry& registry) const;
  // Warnings about patterns of --finegrain_fusing that no node's name matches.
  std::vector<std::string> unmatched(const Graph& graph) const;
};

// Warns about environment variables that steered the Model Optimizer.
void check_environment();

}  // namespace graft::cli
