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
  std::vector<CutInput> inputs;      // none: those of the model
  std::vector<std::string> outputs;  // places; none: those of the model
  std::optional<Shape> only_shape;   // of the one input that the model has
  std::optional<int64_t> batch;      // first dimension of all inputs
  // Places that become outputs as well; the name of an output of the model is that output. One that only the imported graph
  // knows is no error. If `outputs` lists the same places, they are the only ones, unless only the graph knows one.
  std::vector<std::string> more_outputs;

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
  std::map<std::string, size_t> items;      // the lengths of sequence inputs
  std::vector<std::string> absent;          // optional inputs that are empty
  std::map<std::string, Tensor> constants;  // inputs to replace by constants

  // Files of custom layers.
  std::string mapping;           // CustomLayersMapping.xml, for Caffe
  bool nested_names = false;     // with it: nested parameters are named outer__inner instead of inner
  std::string replacements;      // JSON, replacements of sub-graphs
  bool allow_unmatched = false;  // an entry that matches nothing is a warning instead of an error

  // TensorFlow.
  std::string checkpoint;         // values of variables: "model.ckpt", its .index, its folder, or the file "checkpoint"
  std::vector<std::string> tags;  // of the graph in a SavedModel; none: the one for serving
  std::string signature;          // of that graph; empty: serving_default, or the only one

  // MXNet.
  std::string save_parameters;  // file to write the arrays of all given files to

  // Kaldi.
  std::string counts;                  // file with the counts of the classes: -log of their priors is added
  bool remove_output_softmax = false;  // drop a softmax at the end of the only output
  // For chunks of an utterance instead of whole ones (Model::streaming): earlier frames are kept in variables
  // (ReadValue, Assign). With remove_memory the variables are inputs and outputs of the model instead.
  bool streaming = false, remove_memory = false;

  LimitChanges limits;  // limits.hpp; the model is also compiled and written with them

  std::vector<std::string> disabled_passes;  // of extensions, of those that run as soon as a model is read
};

// The format of a model file or folder, by its content: "onnx", "caffe", "tensorflow", "mxnet", "kaldi", "ir" or
// "text". Fails if it is none of them.
GRAFT_API std::string recognize_format(const std::string& path);

// ---- replacements of sub-graphs ----

// One sub-graph matched by an entry of a replacement file.
struct GRAFT_API ReplacementMatch {
  std::string name;                          // of the node that replaces it
  std::vector<std::string> nodes;            // in the order of the file
  std::vector<std::string> inputs, outputs;  // tensors; empty: an unused output
  std::vector<std::string> notes;            // values that enter the sub-graph besides its inputs
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
};

}  // namespace graft
