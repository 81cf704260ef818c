// Converting a model to IR (.xml and .bin): preprocessing, passes, precision, and what came of it.
//
//   graft::ConvertOptions options;
//   options.preprocess.mean = {{"data", {104, 117, 123}}};
//   options.compress_to_f16 = true;
//   graft::ConvertReport done = graft::convert_model(core.read_model("net.onnx"), "out/net.xml", options);
//   std::puts(done.to_text().c_str());
//
// What does not fit the model is thrown as an Error of kind `request`. Messages name options as the command line does
// ("--mean_values").
#pragma once

#include <functional>

#include "explain.hpp"
#include "memory.hpp"
#include "report.hpp"

namespace graft {

// ---- preprocessing ----
//
//   user's input -> Transpose (layout) -> Gather (channel order) -> Add(-mean) -> Multiply(1/scale) -> the model

// Values for the channels of an input; without a name, the n-th entry is for the n-th input.
struct GRAFT_API ChannelValues {
  std::string input;
  std::vector<double> values;
};

// One entry per dimension: {"N", "H", "W", "C"}; "?" for an unnamed one, "..." for any number of them. Without a name:
// all inputs, or, where a target is given, inputs and outputs of that rank.
struct GRAFT_API LayoutRequest {
  std::string name;
  std::vector<std::string> source,
      target;  // no target: only annotates the input
};

struct GRAFT_API Preprocessing {
  std::vector<ChannelValues> mean, scale;  // subtracted first, then divided by
  std::optional<double> scale_all;
  Tensor mean_image;                                      // [..., channels, height, width]; see read_mean_image
  std::optional<std::pair<int64_t, int64_t>> image_from;  // x, y where the crop begins; centered by default
  bool reverse_channels = false;                          // RGB <-> BGR, for inputs that are images
  std::vector<LayoutRequest> layouts;

  bool empty() const {
    return mean.empty() && scale.empty() && !scale_all && !mean_image && !reverse_channels && layouts.empty();
  }
};

// ---- options ----

struct GRAFT_API ConvertOptions {
  Preprocessing preprocess;
  bool channels_first = false;  // of TensorFlow models: their inputs are NCHW rather than NHWC

  std::vector<std::string> disabled_passes;  // by name (Core::passes); "all" for all of them
  std::vector<std::string> enabled_passes;   // of those that run only on request
  std::vector<std::string> keep;             // regular expressions: passes do not change nodes whose names begin so

  bool compress_to_f16 = false;    // store weights as f16; inputs, outputs and computations stay f32
  int ir_version = 11;             // or 10, for OpenVINO before 2022.1: static shapes only, no runtime information
  std::optional<int> max_opset{};  // fail if a layer needs a later opset
  std::string target;              // "openvino": express operations of the opset "graft" by others; fail if one cannot
  bool stub_unknown = false;       // write layers of unknown type, and those behind that need shapes, as stubs
  std::string name;                // of the model in the IR; empty: its own, or that of the file

  // Called at the beginning of each step and at the end: "reading ..." is not among them. May be empty.
  std::function<void(std::string_view step)> progress;
};

// ---- the result ----

struct GRAFT_API F16Report {
  size_t compressed = 0, kept = 0;  // constants of f32
  struct GRAFT_API Loss {
    std::string constant;
    int64_t elements = 0, clipped = 0, vanished = 0;  // too large for f16; too small, became 0
  };
  std::vector<Loss> losses;  // of those that were compressed
};

struct GRAFT_API ConvertReport {
  std::string xml, bin;  // the files
  std::string framework;
  size_t file_layers = 0, ir_layers = 0;
  size_t by_extensions = 0;        // layers imported by extensions
  int ir_version = 11, opset = 0;  // opset: the highest one of a layer; 0: none
  std::vector<Port> inputs, outputs;
  std::vector<Group> input_groups, output_groups;
  std::vector<PassEffect> passes;       // of all phases, in order
  std::vector<std::string> transposes;  // that remain
  std::optional<F16Report> f16;         // if it was requested
  std::vector<UnknownType> unknown;     // written unchanged (stub_unknown)
  std::vector<UnknownType> passed_on;   // as opaque nodes: running them requires an extension
  std::vector<std::string> warnings;    // also passed to the log listener

  // The files, and a line or two about the model.
  std::string to_text() const;
  // What each pass changed, and the Transposes that remain.
  std::string passes_text() const;
};

}  // namespace graft
