#include "mo_options.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/pattern.hpp"
#include "base/text.hpp"
#include "readers/checkpoint_state.hpp"
#include "readers/tensorflow.hpp"

namespace graft::cli {
namespace {

constexpr const char* mxnet = "MXNet models come later";
constexpr const char* kaldi = "Kaldi models come later";
constexpr const char* to_onnx = "export the model as ONNX";
constexpr const char* by_extension = "write the layer as an extension: graft new";

struct Refused {
  const char* option;
  bool has_value;
  const char* why;
  const char* instead;
};
constexpr Refused refused[] = {
    {"--move_to_preprocess", false, "IR version 11 has no section for means",
     "without it --mean_values become an Add in front of the model"},
    {"--generate_deprecated_IR_V7", false, "only IR version 11 is written", "leave the option out"},
    {"--generate_deprecated_IR_V2", false, "only IR version 11 is written", "leave the option out"},
    {"--keep_shape_ops", false, "what depends on known shapes is computed",
     "leave a dimension open to keep it: --input_shape [?,3,224,224]"},
    {"--example_input", true, "models are read from files, not from a Python process", to_onnx},
    {"--tensorboard_logdir", true, "graphs for TensorBoard are not written", "graft explain --text prints the graph"},
    {"--tensorflow_custom_layer_libraries", true, "TensorFlow is not run while converting", by_extension},
    {"--tensorflow_subgraph_patterns", true, "TensorFlow is not run beside the model", by_extension},
    {"--tensorflow_operation_patterns", true, "TensorFlow is not run beside the model", by_extension},
    {"--offload_unsupported_operations_to_tf", false, "TensorFlow is not run beside the model", by_extension},
    {"--input_symbol", true, mxnet, to_onnx},
    {"--nd_prefix_name", true, mxnet, to_onnx},
    {"--pretrained_model_name", true, mxnet, to_onnx},
    {"--save_params_from_nd", false, mxnet, to_onnx},
    {"--legacy_mxnet_model", false, mxnet, to_onnx},
    {"--enable_ssd_gluoncv", false, mxnet, to_onnx},
    {"--counts", true, kaldi, to_onnx},
    {"--remove_output_softmax", false, kaldi, to_onnx},
    {"--remove_memory", false, kaldi, to_onnx},
};

// Options that ask for what is so anyway.
struct Granted {
  const char* option;
  bool has_value;
  const char* because;
};
constexpr Granted granted[] = {
    {"--caffe_parser_path", true, "fields of every fork of Caffe are read without a parser made for it"},
    {"--share_weights", false, "weights are mapped from the model's file"},
    {"--disable_weights_compression", false, "weights of FakeQuantize keep their precision"},
    {"--legacy_ir_generation", false, "there is one way to write an IR"},
    {"--use_new_frontend", false, "there is one importer"},
    {"--use_legacy_frontend", false, "there is one importer"},
};

// What the switches mean for the passes.
struct Switch {
  bool MoOptions::*given;
  bool leaves_out;  // given: without them; else they run only when it is given
  std::vector<const char*> passes;
};
const std::vector<Switch>& switches() {
  static const std::vector<Switch> all = {
      {&MoOptions::no_fusing, true, {"fuse_linear", "fuse_multiply_add", "fuse_pads", "fuse_batch_norm"}},
      {&MoOptions::no_group_fusing, true, {"group_convolutions"}},
      {&MoOptions::no_strides, true, {"move_strides"}},
      {&MoOptions::keep_transposes, true, {"sink_transposes", "raise_transposes", "merge_transposes"}},
      {&MoOptions::concats, false, {"reuse_concats"}},
  };
  return all;
}

bool is_word(const std::string& s, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view w) { return equal_ignoring_case(s, w); });
}

// Regular expressions are what --finegrain_fusing has always taken; the words come from whoever runs the command.
std::vector<Pattern> patterns(const std::string& list) {
  std::vector<Pattern> out;
  for (std::string_view word : split(list, ',')) try {
      if (!trim(word).empty()) out.emplace_back(trim(word));
    } catch (const Error& e) {
      throw UsageError(text("--finegrain_fusing: ", e.message()), e.hint());
    }
  return out;
}

// "folder/model.ckpt", its .index, its .data-00000-of-00001, TensorFlow's file "folder/checkpoint" that names one, or a
// folder with one checkpoint or such a file.
std::string checkpoint_index(const std::string& given) {
  namespace fs = std::filesystem;
  std::error_code ec;
  if (fs::is_directory(given, ec)) {
    std::vector<std::string> found;
    for (const auto& e : fs::directory_iterator(given, ec))
      if (e.path().extension() == ".index") found.push_back(e.path().string());
    std::sort(found.begin(), found.end());
    if (std::string state = given + "/checkpoint"; found.size() > 1 && fs::is_regular_file(state, ec))
      return read_checkpoint_state(state);
    if (found.size() != 1)
      throw UsageError(text("the folder '", given, "' has ", found.size(), " checkpoints"),
                       found.empty() ? "" : text("give one of ", join(found, ", ")));
    return found[0];
  }
  std::string base = given;
  if (size_t at = base.rfind(".data-"); at != base.npos) base.resize(at);
  std::string index = base.ends_with(".index") ? base : base + ".index";
  if (!fs::is_regular_file(index, ec) && fs::is_regular_file(given, ec)) return read_checkpoint_state(given);
  if (!fs::is_regular_file(index, ec))
    throw UsageError(text("there is no checkpoint '", given, "'"), text(index, " is looked for"));
  return index;
}

}  // namespace

// The object must stay where it is until the command line is read.
void MoOptions::add(CLI::App& app) {
  for (const Refused& r : refused) {
    auto refuse = [r] { throw UsageError(text(r.option, " is not supported: ", r.why), r.instead); };
    if (r.has_value)
      app.add_option_function<std::string>(r.option, [refuse](const std::string&) { refuse(); })->group("");
    else app.add_flag_callback(r.option, refuse)->group("");
  }
  for (const Granted& g : granted) {
    auto grant = [this, g] { notes.push_back(text(g.option, " changes nothing: ", g.because)); };
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
  option("--framework", framework, "what the model must be: tf, caffe or onnx; recognised by content anyway", "NAME",
         "Model");
  option("--saved_model_dir", saved_model, "folder of a SavedModel", "DIR", "Model");
  option("--saved_model_tags", tags, "tags of the graph in the SavedModel; serve when not said", "TAGS", "Model");
  option("--input_meta_graph", meta_graph, "a MetaGraph (.meta) beside its checkpoint", "FILE", "Model");
  option("--input_checkpoint", checkpoint, "values of a TensorFlow graph's variables", "FILE", "Model");
  flag("--input_model_is_text", is_text, "the TensorFlow graph must be text; recognised by content anyway", "Model");
  option("--data_type", data_type, "FP32 (float) or FP16 (half): how weights are stored; inputs stay as they are",
         "TYPE", "Output");
  flag("--compress_to_fp16", compress, "the same as --data_type FP16", "Output");
  flag("--disable_fusing", no_fusing, "does not merge multiplications, additions and pads into convolutions", "Passes");
  flag("--disable_gfusing", no_group_fusing, "does not make grouped convolutions of single ones", "Passes");
  flag("--disable_resnet_optimization", no_strides, "does not move strides", "Passes");
  option("--finegrain_fusing", finegrain, "nodes whose names match are never merged", "REGEX,...", "Passes");
  flag("--enable_concat_optimization", concats, "lets a Concat use the result of another", "Passes");
  flag("--disable_nhwc_to_nchw", keep_transposes,
       "channels of TensorFlow models come second; transpositions stay where they are", "Passes");
  option("--tensorflow_object_detection_api_pipeline_config", pipeline,
         "accepted and not needed: the whole graph is imported, with the detections that it computes itself", "FILE",
         "Model");
  app.add_option_function<std::string>(
         "--transform",
         [](const std::string& v) {
           if (!trim(v).empty())
             throw UsageError(text("--transform ", v, " is not supported: its transformations are not there"),
                              "leave the option out; --list-passes shows what there is");
         })
      ->group("");
  flag("--progress", progress, "shows how far it is", "Report");
  flag("--stream_output", stream, "shows how far it is, a line per step", "Report");
  app.add_flag_callback(
         "--version",
         [] {
           std::printf("graft %s\n", GRAFT_VERSION);
           throw CLI::Success();
         },
         "prints the version and ends")
      ->group("Report");
}

void MoOptions::add_to(ModelOptions& model, ImportOptions& import) const {
  namespace fs = std::filesystem;
  if (!saved_model.empty()) {
    std::error_code ec;
    if (!fs::is_directory(saved_model, ec)) throw UsageError(text("there is no folder '", saved_model, "'"));
    model.files.insert(model.files.begin(), saved_model);
  }
  if (!meta_graph.empty()) {
    fs::path meta(meta_graph);
    std::string name = meta.filename().string();
    if (size_t at = name.rfind(".data-"); at != name.npos) meta.replace_filename(name.substr(0, at) + ".meta");
    else if (meta.extension() == ".index") meta.replace_extension(".meta");
    model.files.insert(model.files.begin(), meta.string());
  }
  int models = !saved_model.empty() + !meta_graph.empty() + !model.model.empty();
  if (models > 1) throw UsageError("--input_model, --saved_model_dir and --input_meta_graph exclude each other");
  for (std::string_view t : split(tags, ',')) import.read.tags.emplace_back(trim(t));
  if (!checkpoint.empty()) import.read.checkpoint = checkpoint_index(checkpoint);
  std::error_code ec;
  if (!pipeline.empty() && !fs::is_regular_file(pipeline, ec))
    throw UsageError(text("there is no file '", pipeline, "'"));
  if (!data_type.empty() && !is_word(data_type, {"FP16", "FP32", "half", "float"}))
    throw UsageError(text("--data_type is '", data_type, "'"), "types are FP16, FP32, half and float");
  if (compress && is_word(data_type, {"FP32", "float"}))
    throw UsageError("--compress_to_fp16 and --data_type FP32 contradict each other");
}

void MoOptions::check_framework(const std::vector<std::string>& files) const {
  if (!framework.empty()) {
    if (is_word(framework, {"mxnet"})) throw UsageError(text("--framework mxnet is not supported: ", mxnet), to_onnx);
    if (is_word(framework, {"kaldi"})) throw UsageError(text("--framework kaldi is not supported: ", kaldi), to_onnx);
    if (is_word(framework, {"paddle"})) throw UsageError("--framework paddle is not supported", to_onnx);
    if (!is_word(framework, {"tf", "tensorflow", "caffe", "onnx"}))
      throw UsageError(text("--framework is '", framework, "'"), "frameworks are tf, caffe and onnx");
    std::string wanted = is_word(framework, {"tf"}) ? "tensorflow" : to_lower(framework);
    std::string_view found = format_name(recognise(files[0]));
    if (found != wanted)
      throw UsageError(text("'", files[0], "' is a model of ", found, ", --framework says ", framework),
                       "leave --framework out, or give the right file");
  }
  if (is_text && !std::filesystem::is_directory(files[0])) {
    auto file = MappedFile::open(files[0]);
    if (recognise(files[0]) != Format::tensorflow || file->chars().find('\0') != std::string_view::npos)
      throw UsageError(text("'", files[0], "' is not a TensorFlow graph as text, --input_model_is_text says so"),
                       "leave the option out");
  }
}

bool MoOptions::half() const { return compress || is_word(data_type, {"FP16", "half"}); }

void MoOptions::note_pipeline(const Model& model) const {
  constexpr const char* option = "--tensorflow_object_detection_api_pipeline_config";
  if (pipeline.empty()) return;
  if (model.framework() != "tensorflow")
    throw UsageError(text(option, " is about TensorFlow models, this is a model of ", model.framework()),
                     "leave the option out");
  if (!model.unknown_layers().empty()) return log_warning(option, " is not read");
  std::vector<std::string> outputs;
  for (const Port& p : model.outputs()) outputs.push_back(p.any_name());
  note(text(option, " is not needed: the whole graph was imported, its outputs are ", join(outputs, ", ")));
}

PassOptions MoOptions::passes(const Registry& registry) const {
  PassOptions out;
  std::vector<PassInfo> known = list_passes(registry);
  for (const Switch& s : switches())
    for (const char* name : s.passes) {
      auto it = std::find_if(known.begin(), known.end(), [&](const PassInfo& p) { return p.name == name; });
      if (it == known.end()) continue;
      if (s.leaves_out && this->*s.given) out.disabled.emplace_back(name);
      if (!s.leaves_out && this->*s.given && it->on_request) out.enabled.emplace_back(name);
      if (!s.leaves_out && !(this->*s.given) && !it->on_request) out.disabled.emplace_back(name);
    }
  if (std::vector<Pattern> all = patterns(finegrain); !all.empty())
    out.is_kept = [all](const std::string& name) {
      return std::any_of(all.begin(), all.end(), [&](const Pattern& p) { return p.begins(name); });
    };
  return out;
}

std::vector<std::string> MoOptions::unmatched(const Graph& g) const {
  std::vector<std::string> out;
  std::vector<Pattern> all = patterns(finegrain);
  for (size_t i = 0; i < all.size(); ++i) {
    bool found = false;
    for (NodeId id = 0; id < g.end_id() && !found; ++id) found = g[id].alive && all[i].begins(g[id].name);
    if (!found) out.push_back(text("no node's name matches '", all[i].source(), "' of --finegrain_fusing"));
  }
  return out;
}

void check_environment() {
  for (const char* name : {"MO_ENABLED_TRANSFORMS", "MO_DISABLED_TRANSFORMS", "MO_LOG_PATTERN"})
    if (std::getenv(name))
      log_warning(name,
                  " is set, which names parts of the Model Optimizer and means nothing here; --disable-pass leaves out "
                  "passes");
}

}  // namespace graft::cli
