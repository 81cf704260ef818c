// The remaining Model Optimizer options: those that are supported, and those that are rejected by name.
#pragma once

#include "command.hpp"
#include "mxnet_options.hpp"

namespace graft::cli {

struct MoOptions {
  std::string framework, data_type, meta_graph, saved_model, pipeline, transform, tensorboard;
  bool is_text = false, progress = false, stream = false;
  bool no_fusing = false, no_group_fusing = false, no_strides = false, concats = false;
  MxnetOptions mxnet;
  std::vector<std::string> notes;  // about options without effect

  void add(CLI::App& app);

  // Adds the files given as options, and the options that the readers need. Call it before opening the model files.
  void add_to(ModelOptions& model, ReadOptions& read) const;
  // Throws if --framework is not the framework of the files.
  void check_framework(const Core& core, const std::vector<std::string>& files) const;
  // Prints a note about --tensorflow_object_detection_api_pipeline_config once the model is loaded.
  void note_pipeline(const Model& model) const;
  // Sets passes to skip or to enable, nodes that they must not change, and the precision.
  void apply(const Core& core, ConvertOptions& options);
};

// Warns about environment variables of the Model Optimizer.
void check_environment();

}  // namespace graft::cli
