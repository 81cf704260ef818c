// Shared by the commands of `graft`.
#pragma once

#include <CLI/CLI.hpp>
#include <graft/app/extension_files.hpp>
#include <graft/app/files.hpp>
#include <graft/text.hpp>
#include <graft/toolkit.hpp>
#include <nlohmann/json.hpp>

#include "layer_options.hpp"
#include "log_level.hpp"
#include "option_words.hpp"
#include "result_json.hpp"

namespace graft::cli {

// Stable: 0 success, 1 usage error, 2 invalid or unsupported model, 3 bug in Graft.
enum ExitCode { done = 0, wrong_usage = 1, bad_model = 2, our_bug = 3 };

// The command line is invalid.
class UsageError : public Error {
 public:
  explicit UsageError(std::string message, std::string hint = {})
      : Error(ErrorKind::request, std::move(message), std::move(hint)) {}
};

// Keeps a value alive until the process exits: destroying a large model piece by piece would only waste time.
template <class T>
T& keep_to_the_end(T value) {
  static T* kept;
  kept = new T(std::move(value));
  return *kept;
}

// Looks up something named on the command line: a failed lookup is a usage error, not an error in the model.
template <class F>
auto as_usage(F&& look_up) {
  try {
    return look_up();
  } catch (const Error& e) {
    throw UsageError(e.message(), e.hint());
  }
}

// A model, extensions, a device: options that most commands have.
struct ModelOptions {
  std::vector<std::string> files;  // positional: model, then weights
  std::string model;               // --model
  std::string definition;          // --input_proto
  std::vector<std::string> weights;
  std::vector<std::string> extensions;  // each a comma list
  ReadOptions read;                     // those that are bound to options of the command line as they are
  std::string device = "CPU";
  std::vector<std::string> affinities;  // "conv1=CPU"
  std::vector<std::string> input_shapes;
  std::vector<std::string> items;   // "name=3", "name=none"
  std::vector<std::string> limits;  // "nodes=5000000"
  LayerOptions layers;

  void add_files(CLI::App& app, const char* definition_names = "--input_proto");
  void add_named_files(CLI::App& app, const char* definition_names = "--input_proto");  // without positional ones
  void add_extensions(CLI::App& app);
  void add_device(CLI::App& app);
  void add_shapes(CLI::App& app);
  void add_items(CLI::App& app);

  std::vector<std::string> all_files() const;
  Options compile_options() const;
  LimitChanges limit_changes() const;
  // How to read the model, and the requested part of it.
  ReadOptions reading(const CutRequest& part = {}) const;
  // Runs the action requested instead of the command, if any (LayerOptions::ran_action).
  bool ran_action(const Core& core, const ReadOptions& options, bool json) const;
};

// A core with the extensions loaded.
Core make_core(const ModelOptions& o);
Model load(const Core& core, const ModelOptions& o, ReadOptions options);
inline Model load(const Core& core, const ModelOptions& o) { return load(core, o, o.reading()); }

// "data[1,3,224,224],other[1,10]" or, for a single input, "[1,3,224,224]" or "1,3,224,224"; ? and a..b for unknown
// ones.
std::map<std::string, Shape> parse_shapes(const std::vector<std::string>& given, const std::vector<Port>& inputs);

// Each adds its subcommand; the callback runs it and may throw.
void add_convert(CLI::App& app);
void add_run(CLI::App& app);
void add_ops(CLI::App& app);
void add_explain(CLI::App& app);
void add_devices(CLI::App& app);
void add_bench(CLI::App& app);
void add_new(CLI::App& app);
void add_extgen(CLI::App& app);
void add_extgen_check(CLI::App& extgen);  // a command of extgen
void add_build(CLI::App& app);
void add_capture(CLI::App& app);
void add_check(CLI::App& app);

// Prints what a tool has printed that failed.
void print_tool_output(std::string_view output);

// Peak resident memory of this process, in bytes.
size_t peak_memory();

void print_json(const nlohmann::json& j);

// "a/b.onnx" -> "b"; "a/b.ONNX" -> ".onnx".
std::string stem_of(const std::string& path);
std::string extension_of(const std::string& path);

}  // namespace graft::cli
