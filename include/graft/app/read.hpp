// How to read a model: which part of it, with which inputs, and with which files of custom layers.
//
//   graft::ReadOptions options;
//   options.cut.inputs.push_back({.place = "conv1", .shape = graft::Shape{1, 3, 224, 224}});
//   options.cut.outputs = {"pool5"};
//   options.mapping = "CustomLayersMapping.xml";
//   graft::Model model = core.read_model({"net.prototxt", "net.caffemodel"}, options);
//
// These are plain values. What does not fit the model is reported by read_model as an Error of kind `request`.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "fields.hpp"
#include "limits.hpp"
#include "memory.hpp"

namespace graft {

// ---- cutting ----
//
// Places are named as in the model's own framework, and as for the Model Optimizer: "conv" is a layer, "conv:1" its
// output 1, "0:conv" its input 0; the name of a tensor works too. A layer as an input means its inputs, a layer as an
// output means its first output.

// "5", "True" or "[1 2 3]", not yet of any type: it becomes that of the input.
struct GRAFT_API FrozenValue {
  std::vector<std::string> items;
  bool list = false;
};

struct GRAFT_API CutInput {
  std::string place;
  std::optional<Shape> shape{};
  std::optional<DType> type{};
  std::optional<FrozenValue> value{};  // the input becomes this constant
  bool listed = true;  // from a complete list of inputs: it is an error if the outputs depend on another one
};

struct GRAFT_API CutRequest {
  std::vector<CutInput> inputs;
  std::vector<std::string> outputs;
  std::optional<Shape> only_shape;
  std::optional<int64_t> batch;
  // The name of an output of the model is that output. One that only the imported graph knows is no error. If `outputs`
  // lists the same places, they are the only ones, unless only the graph knows one.
  std::vector<std::string> more_outputs;
  static constexpr std::tuple options{
      option("inputs", &CutRequest::inputs, "inputs of the converted model (default: those of the model)")
          .spelled("input"),
      option("outputs", &CutRequest::outputs, "outputs of the converted model: layers, tensors, layer:0 or 0:layer")
          .spelled("output"),
      option("only_shape", &CutRequest::only_shape, "shape of the one input that the model has").spelled("input_shape"),
      option("batch", &CutRequest::batch, "batch size: first dimension of all inputs").spelled("batch,b"),
      option("more_outputs", &CutRequest::more_outputs, "layers or tensors that become outputs as well")};

  // Whether inputs and their shapes stay as they are: other outputs alone change no shape.
  bool keeps_inputs() const { return inputs.empty() && !only_shape && !batch; }
  bool empty() const { return keeps_inputs() && outputs.empty() && more_outputs.empty(); }
};

// ---- options ----

struct GRAFT_API ReadOptions {
  CutRequest cut;

  // Properties of the inputs that the file leaves open or that differ from it, by name.
  std::map<std::string, Shape> shapes;
  std::map<std::string, DType> types;
  std::map<std::string, size_t> items;
  std::vector<std::string> absent;
  std::map<std::string, Tensor> constants;

  // Files of custom layers.
  std::string mapping;
  bool nested_names = false;
  std::string replacements;
  bool allow_unmatched = false;

  std::string checkpoint;
  std::vector<std::string> tags;
  std::string signature;

  std::string save_parameters;

  std::string counts;
  bool remove_output_softmax = false;
  bool streaming = false, remove_memory = false;

  LimitChanges limits;

  std::vector<std::string> disabled_passes;
  bool strict = false;

  static constexpr std::tuple options{
      options_of(&ReadOptions::cut),
      option("shapes", &ReadOptions::shapes, "shapes of inputs, by name").spelled("input_shape,shape"),
      option("types", &ReadOptions::types, "element types of inputs, by name").spelled("input"),
      option("items", &ReadOptions::items, "number of items of a sequence input").spelled("items"),
      option("absent", &ReadOptions::absent, "optional inputs without a value").spelled("items"),
      option("constants", &ReadOptions::constants, "inputs to replace by constants")
          .spelled("freeze_placeholder_with_value"),
      option("mapping", &ReadOptions::mapping, "CustomLayersMapping.xml: layers to pass through unchanged")
          .spelled("k,custom_layers_mapping,custom-layers-mapping", "FILE")
          .of("caffe"),
      option("nested_names", &ReadOptions::nested_names,
             "with a mapping file: name nested parameters outer__inner instead of inner")
          .spelled("enable_flattening_nested_params")
          .of("caffe"),
      option("replacements", &ReadOptions::replacements, "JSON file with subgraph replacements")
          .spelled("transformations_config,transformations-config,tensorflow_use_custom_operations_config", "FILE"),
      option("allow_unmatched", &ReadOptions::allow_unmatched,
             "warn instead of failing if an entry of the replacement file matches nothing")
          .spelled("allow-unmatched"),
      option("checkpoint", &ReadOptions::checkpoint,
             "checkpoint with the variables of a graph: its prefix, its .index, its folder, or the file \"checkpoint\"")
          .spelled("input_checkpoint", "FILE")
          .of("tensorflow"),
      option("tags", &ReadOptions::tags, "tags of the graph in the SavedModel (default: serve)")
          .spelled("saved_model_tags", "TAGS")
          .of("tensorflow"),
      option(
          "signature", &ReadOptions::signature,
          "signature of a SavedModel (default: serving_default, or the only signature) or of a .tflite file (default: "
          "the main sub-graph)")
          .spelled("saved_model_signature", "NAME")
          .of("tensorflow,tflite"),
      option("save_parameters", &ReadOptions::save_parameters, "file to write the arrays of all given files to")
          .of("mxnet"),
      option("counts", &ReadOptions::counts, "file with the counts of the classes; -log of their priors is added")
          .spelled("counts", "FILE")
          .of("kaldi"),
      option("remove_output_softmax", &ReadOptions::remove_output_softmax,
             "drop the softmax at the end of the only output")
          .spelled("remove_output_softmax")
          .of("kaldi"),
      option("streaming", &ReadOptions::streaming,
             "for chunks of an utterance; earlier frames are kept in variables (ReadValue, Assign)")
          .spelled("streaming")
          .of("kaldi"),
      option("remove_memory", &ReadOptions::remove_memory,
             "for chunks of an utterance; earlier frames are inputs and outputs of the model")
          .spelled("remove_memory")
          .of("kaldi"),
      option("limits", &ReadOptions::limits,
             "limits on what the model may ask for; the model is also compiled and written with them")
          .spelled("limit"),
      option("disabled_passes", &ReadOptions::disabled_passes, "passes of extensions to skip when the model is read"),
      option("strict", &ReadOptions::strict, "fail if reading the model gives a warning, such as an unused attribute")
          .spelled("strict")};
};

// The format of a model file or folder, by its content: the name of a framework (Core::frameworks), "ir" or "text".
// Fails if it is none of them. Core::recognize_format knows those of extensions, too.
GRAFT_API std::string recognize_format(const std::string& path);

// ---- replacements of sub-graphs ----

// One sub-graph matched by an entry of a replacement file.
struct GRAFT_API ReplacementMatch {
  std::string name;                          // of the node that replaces it
  std::vector<std::string> nodes;            // in the order of the file
  std::vector<std::string> inputs, outputs;  // tensors; empty: an unused output
  std::vector<std::string> notes;            // values that enter the sub-graph besides its inputs
  static constexpr std::tuple fields{
      field("name", &ReplacementMatch::name, "name of the node that replaces it"),
      field("nodes", &ReplacementMatch::nodes, "in the order of the file"),
      field("inputs", &ReplacementMatch::inputs, "tensors"),
      field("outputs", &ReplacementMatch::outputs, "tensors; empty: an unused output"),
      field("notes", &ReplacementMatch::notes, "values that enter the sub-graph besides its inputs")};
};

// What one entry does to a model (Core::try_replacements).
struct GRAFT_API ReplacementOutcome {
  enum Kind { scope, points, general };
  std::string id;
  Kind kind = general;
  std::string op;
  std::vector<ReplacementMatch> matches;
  std::vector<std::string> missed;  // instances that matched nothing, and why
  std::vector<Error> errors;        // contradictions between entry and model
  std::string not_needed;           // why the importer does without a published entry; empty: it is applied
  std::string_view kind_name() const;
  std::string to_text() const;
  static constexpr std::tuple fields{
      field("id", &ReplacementOutcome::id, "of the entry"),
      field("match_kind", &ReplacementOutcome::kind_name, "scope, points or general"),
      field("op", &ReplacementOutcome::op, "operation or layer type that it becomes"),
      field("matches", &ReplacementOutcome::matches, "sub-graphs that it matches"),
      field("missed", &ReplacementOutcome::missed, "instances that matched nothing, and why"),
      field("errors", &ReplacementOutcome::errors, "contradictions between entry and model"),
      field("not_needed", &ReplacementOutcome::not_needed,
            "why the importer does without a published entry; empty: it is applied")};
};

}  // namespace graft
