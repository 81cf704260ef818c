#include "mo_options.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "transform_option.hpp"

namespace graft::cli {
namespace {

constexpr const char* to_onnx = "export the model to ONNX";
constexpr const char* by_extension = "implement the layer as an extension; graft new generates a skeleton";

struct Refused {
  const char* option;
  bool has_value;
  const char* why;
  const char* instead;
};
constexpr Refused refused[] = {
    {"--move_to_preprocess", false, "IR version 11 has no preprocessing section",
     "omit the option: --mean_values are then inserted as an Add before the first layer"},
    {"--generate_deprecated_IR_V7", false, "only IR versions 10 and 11 can be written", "omit the option"},
    {"--generate_deprecated_IR_V2", false, "only IR versions 10 and 11 can be written", "omit the option"},
    {"--keep_shape_ops", false, "operations on known shapes are folded into constants",
     "make a dimension dynamic to keep them: --input_shape [?,3,224,224]"},
    {"--example_input", true, "models are read from files, not from a Python process", to_onnx},
    {"--tensorflow_subgraph_patterns", true, "TensorFlow is not used for inference", by_extension},
    {"--tensorflow_operation_patterns", true, "TensorFlow is not used for inference", by_extension},
    {"--offload_unsupported_operations_to_tf", false, "TensorFlow is not used for inference", by_extension},
};

// Options that request the default behavior.
struct Granted {
  const char* option;
  bool has_value;
  const char* because;
};
constexpr Granted granted[] = {
    {"--caffe_parser_path", true, "fields of any Caffe fork are read without a generated parser"},
    {"--tensorflow_custom_layer_libraries", true,
     "graphs are read without TensorFlow, also with operations that it does not know"},
    {"--share_weights", false, "weights are memory-mapped from the model file"},
    {"--disable_weights_compression", false, "weights of FakeQuantize keep their precision"},
    {"--legacy_mxnet_model", false, "symbols of all MXNet versions are read"},
    {"--enable_ssd_gluoncv", false, "the whole graph is imported, including its anchors and detection"},
    {"--legacy_ir_generation", false, "there is only one IR writer"},
    {"--use_new_frontend", false, "there is only one importer"},
    {"--use_legacy_frontend", false, "there is only one importer"},
};

// Passes that each switch disables or enables.
struct Switch {
  bool MoOptions::*given;  // null: ConvertOptions::channels_first
  bool leaves_out;         // true: the switch disables them; false: they run only with the switch
  std::vector<const char*> passes;
};
const std::vector<Switch>& switches() {
  static const std::vector<Switch> all = {
      {&MoOptions::no_fusing, true, {"fuse_linear", "fuse_multiply_add", "fuse_pads", "fuse_batch_norm"}},
      {&MoOptions::no_group_fusing, true, {"group_convolutions"}},
      {&MoOptions::no_strides, true, {"move_strides"}},
      {nullptr, true, {"sink_transposes", "raise_transposes", "merge_transposes"}},
      {&MoOptions::concats, false, {"reuse_concats"}},
  };
  return all;
}

bool is_word(const std::string& s, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view w) { return equal_ignoring_case(s, w); });
}

bool holds_zero_byte(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  char block[65536];
  while (in.read(block, sizeof block), in.gcount() > 0)
    if (std::memchr(block, 0, static_cast<size_t>(in.gcount()))) return true;
  return false;
}

}  // namespace

// The object must not move until the command line is parsed.
void MoOptions::add(CLI::App& app) {
  for (const Refused& r : refused) {
    auto refuse = [r] { throw UsageError(text(r.option, " is not supported: ", r.why), r.instead); };
    if (r.has_value)
      app.add_option_function<std::string>(r.option, [refuse](const std::string&) { refuse(); })->group("");
    else app.add_flag_callback(r.option, refuse)->group("");
  }
  for (const Granted& g : granted) {
    auto grant = [this, g] { notes.push_back(text(g.option, " has no effect: ", g.because)); };
    if (g.has_value)
      app.add_option_function<std::string>(g.option, [grant](const std::string&) { grant(); })->group("");
    else app.add_flag_callback(g.option, grant)->group("");
  }
  auto option = [&](const char* names, std::string& target, const char* what, const char* type, const char* group) {
    app.add_option(names, target, what)->type_name(type)->group(group);
  };
  auto flag = [&](const char* names, bool& target, const char* what, const char* group) {
    app.add_flag(names, target, what)->group(group);
  };
  option("--framework", framework,
         "check the framework of the model, one of graft ops --frameworks (default: detected from the file)", "NAME",
         "Model");
  mxnet.add(app);
  option("--saved_model_dir", saved_model, "SavedModel directory", "DIR", "Model");
  option("--input_meta_graph", meta_graph, "MetaGraph file (.meta) next to its checkpoint", "FILE", "Model");
  flag("--input_model_is_text", is_text,
       "check that the TensorFlow graph is in text format (default: detected from the file)", "Model");
  option("--data_type", data_type,
         "data type of the stored weights: FP32 (float) or FP16 (half); inputs and outputs are unchanged", "TYPE",
         "Output");
  flag("--disable_fusing", no_fusing, "do not fuse multiplications, additions and pads into convolutions", "Passes");
  flag("--disable_gfusing", no_group_fusing, "do not merge parallel convolutions into grouped convolutions", "Passes");
  flag("--disable_resnet_optimization", no_strides, "do not move strides between convolutions", "Passes");
  flag("--enable_concat_optimization", concats, "let a Concat reuse the result of another Concat", "Passes");
  option("--tensorflow_object_detection_api_pipeline_config", pipeline,
         "accepted but not needed: the whole graph is imported, including its detection postprocessing", "FILE",
         "Model");
  option("--tensorboard_logdir", tensorboard, "also write the imported graph as an event file of TensorBoard", "DIR",
         "Report");
  option(
      "--transform", transform,
      "LowLatency2: recurrent layers keep their state between runs; MakeStateful[param_res_names={'in':'out'}]: inputs "
      "and outputs become state",
      "NAME[ARGUMENT=VALUE],...", "Passes");
  flag("--progress", progress, "show conversion progress", "Report");
  flag("--stream_output", stream, "show conversion progress, one line per step", "Report");
  app.add_flag_callback(
         "--version",
         [] {
           std::printf("graft %s\n", GRAFT_VERSION);
           throw CLI::Success();
         },
         "print the version and exit")
      ->group("Report");
}

void MoOptions::add_to(ModelOptions& model, ReadOptions& read) const {
  namespace fs = std::filesystem;
  if (!saved_model.empty()) {
    std::error_code ec;
    if (!fs::is_directory(saved_model, ec)) throw UsageError(text("directory not found: '", saved_model, "'"));
    model.files.insert(model.files.begin(), saved_model);
  }
  if (!meta_graph.empty()) {
    fs::path meta(meta_graph);
    std::string name = meta.filename().string();
    if (size_t at = name.rfind(".data-"); at != name.npos) meta.replace_filename(name.substr(0, at) + ".meta");
    else if (meta.extension() == ".index") meta.replace_extension(".meta");
    model.files.insert(model.files.begin(), meta.string());
  }
  mxnet.add_to(model, read);
  int models = !saved_model.empty() + !meta_graph.empty() + !model.model.empty();
  if (models > 1) throw UsageError("--input_model, --saved_model_dir and --input_meta_graph are mutually exclusive");
  std::error_code ec;
  if (!pipeline.empty() && !fs::is_regular_file(pipeline, ec))
    throw UsageError(text("file not found: '", pipeline, "'"));
  if (!data_type.empty() && !is_word(data_type, {"FP16", "FP32", "half", "float"}))
    throw UsageError(text("--data_type: expected FP16, FP32, half or float, got '", data_type, "'"));
}

void MoOptions::check_framework(const Core& core, const std::vector<std::string>& files) const {
  if (!framework.empty()) {
    if (is_word(framework, {"paddle"})) throw UsageError("--framework paddle is not supported", to_onnx);
    std::string wanted = as_usage([&] { return core.framework_name(framework); });
    std::string found = core.recognize_format(files[0]);
    if (found != wanted)
      throw UsageError(text("--framework: expected ", framework, ", got the ", found, " model '", files[0], "'"),
                       "omit --framework, or pass a matching file");
  }
  if (is_text && !std::filesystem::is_directory(files[0])) {
    if (core.recognize_format(files[0]) != "tensorflow" || holds_zero_byte(files[0]))
      throw UsageError(text("--input_model_is_text: expected a TensorFlow graph in text format, got '", files[0], "'"),
                       "omit the option");
  }
}

void MoOptions::note_pipeline(const Model& model) const {
  constexpr const char* option = "--tensorflow_object_detection_api_pipeline_config";
  if (pipeline.empty()) return;
  if (model.framework() != "tensorflow")
    throw UsageError(text(option, ": expected a TensorFlow model, got a model of ", model.framework()),
                     "omit the option");
  if (!model.unknown_layers().empty()) return warn(text(option, " is ignored"));
  std::vector<std::string> outputs;
  for (const Port& p : model.outputs()) outputs.push_back(p.any_name());
  note(text(option, " is not needed: the whole graph was imported; outputs: ", join(outputs, ", ")));
}

void MoOptions::apply(const Core& core, ConvertOptions& out) {
  std::vector<PassInfo> known = core.passes();
  if (out.compress_to_f16 && is_word(data_type, {"FP32", "float"}))
    throw UsageError("--compress_to_fp16 and --data_type FP32 are mutually exclusive");
  auto given = [&](const Switch& s) { return s.given ? this->*s.given : out.channels_first; };
  for (const Switch& s : switches())
    for (const char* name : s.passes) {
      auto it = std::find_if(known.begin(), known.end(), [&](const PassInfo& p) { return p.name == name; });
      if (it == known.end()) continue;
      if (s.leaves_out && given(s)) out.disabled_passes.emplace_back(name);
      if (!s.leaves_out && given(s) && it->on_request) out.enabled_passes.emplace_back(name);
      if (!s.leaves_out && !given(s) && !it->on_request) out.disabled_passes.emplace_back(name);
    }
  parse_transforms(transform, out, notes);
  out.compress_to_f16 |= is_word(data_type, {"FP16", "half"});
}

void check_environment() {
  for (const char* name : {"MO_ENABLED_TRANSFORMS", "MO_DISABLED_TRANSFORMS", "MO_LOG_PATTERN"})
    if (std::getenv(name))
      warn(text(name,
                " is set but has no effect: it refers to Model Optimizer transformations; use --disable-pass to skip "
                "passes"));
}

}  // namespace graft::cli
