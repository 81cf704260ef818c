// Converting a model to IR (.xml and .bin): preprocessing, passes, precision, and what came of it.
//
//   graft::ConvertOptions options;
//   options.preprocess.mean = {{"data", {104, 117, 123}}};
//   options.compress_to_f16 = true;
//   graft::ConvertReport done = graft::convert_model(core.read_model("net.onnx"), "out/net.xml", options);
//   std::puts(done.to_text().c_str());
//
// What does not fit the model is thrown as an Error of kind `request`. Messages
// name options by their members (Remedy in error.hpp).
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
// all inputs of that rank.
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
  static constexpr std::tuple options{
      option("mean", &Preprocessing::mean, "mean values to subtract from the channels, in the model's channel order")
          .spelled("mean_values"),
      option("scale", &Preprocessing::scale, "values to divide the channels by, after subtracting the means")
          .spelled("scale_values"),
      option("scale_all", &Preprocessing::scale_all, "value to divide all inputs by").spelled("scale,s", "NUMBER"),
      option("mean_image", &Preprocessing::mean_image, "mean image to subtract; inserted as an Add")
          .spelled("mean_file", "FILE"),
      option("image_from", &Preprocessing::image_from, "position of the input in the mean image (default: centered)")
          .spelled("mean_file_offsets"),
      option("reverse_channels", &Preprocessing::reverse_channels,
             "swap the first and third channel (RGB <-> BGR) of image inputs")
          .spelled("reverse_input_channels"),
      option("layouts", &Preprocessing::layouts, "layouts of inputs, and optionally new layouts of inputs and outputs")
          .spelled("layout")};
};

// ---- options ----

struct GRAFT_API ConvertOptions {
  Preprocessing preprocess;
  bool channels_first = false;

  std::vector<std::string> disabled_passes, enabled_passes;  // by name (Core::passes)
  std::vector<std::string> keep;

  std::vector<std::pair<std::string, std::string>> state;
  std::string recurrent_state;

  bool compress_to_f16 = false;
  int ir_version = 11;
  std::optional<int> max_opset{};
  std::string target;
  bool stub_unknown = false;
  std::string name;

  // Called at the beginning of each step and at the end: "reading ..." is not among them. May be empty.
  std::function<void(std::string_view step)> progress;

  static constexpr std::tuple options{
      options_of(&ConvertOptions::preprocess),
      option("channels_first", &ConvertOptions::channels_first,
             "treat the second dimension of the inputs as channels: they are NCHW rather than NHWC")
          .spelled("disable_nhwc_to_nchw")
          .of("tensorflow"),
      option("disabled_passes", &ConvertOptions::disabled_passes, "passes to skip; all: every pass")
          .spelled("disable-pass", "PASS"),
      option("enabled_passes", &ConvertOptions::enabled_passes, "passes to run that are off by default")
          .spelled("enable-pass", "PASS"),
      option("keep", &ConvertOptions::keep, "regular expressions: passes do not change nodes whose names begin so")
          .spelled("finegrain_fusing", "REGEX,..."),
      option("state", &ConvertOptions::state,
             "inputs that become state, each with the output of the run before that it gets; zeros in the first run")
          .spelled("transform"),
      option("recurrent_state", &ConvertOptions::recurrent_state,
             "recurrent layers keep their state between runs and begin with \"zeros\" or their \"initial\" values")
          .spelled("transform"),
      option("compress_to_f16", &ConvertOptions::compress_to_f16,
             "store weights as f16; inputs, outputs and computations stay f32")
          .spelled("compress_to_fp16"),
      option("ir_version", &ConvertOptions::ir_version,
             "IR version: 11, or 10 for OpenVINO before 2022.1 (static shapes only, no runtime information)")
          .spelled("ir_version,ir-version"),
      option("max_opset", &ConvertOptions::max_opset,
             "reject layers that opset N cannot express (default: no limit); layers use the earliest opset that "
             "supports them")
          .spelled("max_opset,max-opset"),
      option("target", &ConvertOptions::target,
             "openvino: express operations of the opset \"graft\" by those that OpenVINO has, or list those that "
             "cannot be expressed")
          .spelled("target", "RUNTIME"),
      option("stub_unknown", &ConvertOptions::stub_unknown, "write layers of unknown type unchanged instead of failing")
          .spelled("stub-unknown"),
      option("name", &ConvertOptions::name, "name of the model in the IR (default: its own, or that of the file)")};
};

// ---- the result ----

struct GRAFT_API F16Report {
  size_t compressed = 0, kept = 0;
  struct GRAFT_API Loss {
    std::string constant;
    int64_t elements = 0, clipped = 0, vanished = 0;
    static constexpr std::tuple fields{field("constant", &Loss::constant, "name of the constant"),
                                       field("elements", &Loss::elements, "number of elements"),
                                       field("clipped", &Loss::clipped, "values that were too large for f16"),
                                       field("vanished", &Loss::vanished, "values that were too small and became 0")};
  };
  std::vector<Loss> losses;
  static constexpr std::tuple fields{
      field("compressed", &F16Report::compressed, "constants stored as f16"),
      field("kept", &F16Report::kept, "constants kept as f32"),
      field("losses", &F16Report::losses, "compressed constants with values that f16 cannot hold")};
};

struct GRAFT_API ConvertReport {
  std::string xml, bin;
  std::string name;
  std::string framework;
  size_t file_layers = 0, ir_layers = 0;
  size_t by_extensions = 0;
  int ir_version = 11, opset = 0;
  std::vector<Port> inputs, outputs;
  std::vector<Group> input_groups, output_groups;
  std::vector<PassEffect> passes;
  std::vector<std::string> transposes;
  std::optional<F16Report> f16;
  std::vector<UnknownType> unknown;
  std::vector<UnknownType> passed_on;
  std::vector<std::string> warnings;
  static constexpr std::tuple fields{
      field("xml", &ConvertReport::xml, "file of the graph"),
      field("bin", &ConvertReport::bin, "file of the weights"),
      field("name", &ConvertReport::name, "name of the model in the IR"),
      field("framework", &ConvertReport::framework, "framework of the model"),
      field("file_layers", &ConvertReport::file_layers, "layers of the model's file"),
      field("ir_layers", &ConvertReport::ir_layers, "layers of the IR"),
      field("by_extensions", &ConvertReport::by_extensions, "layers that extensions imported"),
      field("ir_version", &ConvertReport::ir_version, "version of the IR"),
      field("opset", &ConvertReport::opset, "the highest opset of a layer; 0: none"),
      field("inputs", &ConvertReport::inputs, "inputs of the IR"),
      field("outputs", &ConvertReport::outputs, "outputs of the IR"),
      field("input_groups", &ConvertReport::input_groups, "inputs as the framework sees them"),
      field("output_groups", &ConvertReport::output_groups, "outputs as the framework sees them"),
      field("passes", &ConvertReport::passes, "passes of all phases, in order"),
      field("transposes", &ConvertReport::transposes, "names of the Transposes that remain"),
      field("f16", &ConvertReport::f16, "compression of the weights, if it was requested"),
      field("unknown", &ConvertReport::unknown, "unknown layers, written unchanged"),
      field("passed_on", &ConvertReport::passed_on, "layers that only an extension can run"),
      field("warnings", &ConvertReport::warnings, "warnings, which are also logged")};

  // The files, and the summary.
  std::string to_text() const;
  // A line or two about the model.
  std::string summary() const;
  // What each pass changed, and the Transposes that remain.
  std::string passes_text() const;
};

}  // namespace graft
