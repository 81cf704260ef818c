// The application interface: read a model, convert it, compile it for a device, run it, and ask why.
//
//   graft::Core core;
//   core.add_extension("./libmy_ops.so");
//   graft::Model model = core.read_model("model.onnx");
//   graft::CompiledModel compiled = core.compile_model(model, "CPU");
//   graft::InferRequest request = compiled.create_infer_request();
//   request.set_tensor("image", graft::Tensor::wrap(graft::DType::f32, {1, 3, 224, 224}, pixels));   // no copy
//   request.infer();
//   const float* scores = request.get_output_tensor(0).data<float>();
//
// It offers all that the program `graft` does, which is written on it alone. The parts, each included here:
//
//   read.hpp     cutting, shapes, files of custom layers      report.hpp      unknown layers, who imported what
//   convert.hpp  preprocessing, precision, IR versions        explain.hpp     passes, kernels, memory, times
//   values.hpp   tensors from and to files, random ones       operations.hpp  operations, rules, extensions
//   log.hpp      a listener for log messages                  limits.hpp      what a model may ask for
//   query.hpp    which layers a device supports
//
// Ownership: objects are handles; copies refer to the same thing, which lives as long as any handle needs it. A
// compiled model does not depend on the Model it was made from, and neither depends on the Core.
//
// Definitions: what is added to a Core or removed from it concerns models that are read afterwards. A Model keeps the
// definitions that it was read with, a CompiledModel those of its Model.
//
// Threads: everything may be called from several threads at once. A request runs one inference at a time and refuses
// other calls meanwhile; different requests of one compiled model run at the same time.
//
// Errors: everything that goes wrong is thrown as graft::Error (error.hpp), with a message, its context and a hint. The
// library neither prints nor exits. (Misusing a Shape or a Dim, which are header-only, throws Failure of types.hpp.)
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>

#include "app/convert.hpp"
#include "app/explain.hpp"
#include "app/extension_files.hpp"
#include "app/log.hpp"
#include "app/memory.hpp"
#include "app/operations.hpp"
#include "app/ports.hpp"
#include "app/query.hpp"
#include "app/read.hpp"
#include "app/report.hpp"
#include "app/values.hpp"

// The entry function of a program with GRAFT_EXTENSION (extension.hpp) in its sources, for Core::add_extension.
extern "C" __attribute__((visibility("default"))) const graft_extension* graft_extension_entry(const graft_host*);

namespace graft {

// How a model that takes utterances in chunks is used. The first frame is repeated `left` times before the utterance
// and the last one `right` times behind it; the results of the first left + right frames are dropped. What remains are
// the results of the whole utterance. Between utterances, InferRequest::reset_state.
struct GRAFT_API Streaming {
  int64_t left = 0, right = 0;
};

// A model in memory: the graph as it was imported, before optimization for a device.
class GRAFT_API Model {
 public:
  std::string name() const;
  std::string framework() const;  // "onnx", "ir", ...
  std::string path() const;       // of its main file
  size_t node_count() const;
  // In the order of the model file, which is also the order of positions in InferRequest.
  std::vector<Port> inputs() const;
  std::vector<Port> outputs() const;
  // The same in the order and structure of the framework.
  std::vector<Group> input_groups() const;
  std::vector<Group> output_groups() const;
  // Layers without a known operation, as "name (type)"; a model with such layers does not compile. An extension can
  // define them. `report` has the details, and which rule imported each of the other layers.
  std::vector<std::string> unknown_layers() const;
  Report report() const;
  // Throws the report if a layer is unknown or could not be imported, as compiling and converting do.
  void require_complete() const;
  // Changes the shapes of inputs, by name, and infers all others again. Fails, leaving the model unchanged, if the
  // model cannot be run with these shapes.
  void reshape(const std::map<std::string, Shape>& shapes);
  // Makes any tensor of the model an output and returns its position among the outputs. A name is that of an output of
  // the model, which keeps its position, of a layer (its output 0; "layer:1" for another), or of a tensor. One that may
  // be a layer or a tensor is rejected, except in Caffe, where layers take precedence: "conv1" is the convolution, even
  // if an in-place layer writes the blob "conv1" again, unless that is an output of the model.
  size_t add_output(const std::string& name);
  // Outputs by name, in this order, as values of the framework; any other tensor is added as by add_output. Names that
  // ReadOptions::cut.more_outputs lists are those of the framework's own model. All outputs if no name is given.
  std::vector<Group> select_outputs(const std::vector<std::string>& names);
  // Only of models that take utterances in chunks (ReadOptions::streaming), and their IRs.
  std::optional<Streaming> streaming() const;
  // Writes the IR as it is: `path` (.xml) and the weights next to it (.bin). `convert_model` optimizes it first.
  void save_ir(const std::string& path) const;
  // The model as it is read back from an IR that is written after the passes.
  Model through_ir() const;
  // The graph in the textual form, for reading and for tests.
  std::string to_text() const;

  struct State;  // of the library itself
  explicit Model(std::shared_ptr<State> s) : s_(std::move(s)) {}
  const std::shared_ptr<State>& state() const { return s_; }

 private:
  std::shared_ptr<State> s_;
};

// One inference at a time: its inputs, outputs and memory. Create one request per concurrent inference.
class GRAFT_API InferRequest {
 public:
  // By tensor or layer name, or by position. The memory is used in place, without a copy, so it must stay valid and
  // unchanged while the request runs. An output tensor of matching type and shape receives the result directly.
  void set_tensor(const std::string& name, const Tensor& t);
  void set_input_tensor(size_t index, const Tensor& t);
  void set_output_tensor(size_t index, const Tensor& t);
  // The current tensor. Results are valid until the next run of this request; clone() them to keep them longer.
  Tensor get_tensor(const std::string& name) const;
  Tensor get_input_tensor(size_t index) const;
  Tensor get_output_tensor(size_t index) const;
  // Takes a result out of the request, which uses other memory in its next run: the tensor stays as it is. An output
  // that was set by set_output_tensor remains set, and is returned.
  Tensor take_output_tensor(size_t index);

  // Runs in the calling thread and returns when the results are available.
  void infer();
  // Runs on a stream of the compiled model and returns at once. `wait` blocks until the run is over and rethrows what
  // it threw; `wait_for` returns false if the time is up before that.
  void start_async();
  void wait();
  bool wait_for(std::chrono::milliseconds time);
  // Stops before the next operation; `wait` then throws an Error of kind cancelled. May be called from any thread.
  void cancel();
  // Called on the thread of a stream when an asynchronous run is over, with the exception it threw or null. The
  // callback may start the request again.
  void set_callback(std::function<void(std::exception_ptr)> callback);

  // One entry per node, accumulated over all runs of this request. Requires Options::profile.
  std::vector<ProfilingInfo> get_profiling_info() const;
  // Resets the variables of stateful models (ReadValue, Assign) to their initial values.
  void reset_state();

  struct State;
  explicit InferRequest(std::shared_ptr<State> s) : s_(std::move(s)) {}

 private:
  std::shared_ptr<State> s_;
};

// What a compiled model is for.
enum class PerformanceHint {
  none,        // the property PERFORMANCE_HINT, else latency
  latency,     // one request at a time, answered as soon as possible by all threads
  throughput,  // as many requests as possible at the same time, each on as few threads as it can do with
};

// How to compile a model. CompiledModel::options has the numbers that were chosen.
struct GRAFT_API Options {
  int streams = 0;  // asynchronous requests that run at the same time; 0: as `hint` says
  int threads = 0;  // for all streams together; 0: as many as the machine gives the process
  PerformanceHint hint = PerformanceHint::none;
  bool hyper_threads = false;                  // count all hardware threads of a core, if `threads` is 0
  bool profile = false;                        // measure every operation
  bool passes = true;                          // optimize the graph first; REFERENCE never does
  std::vector<std::string> disabled_passes{};  // of those (Core::passes), by name
  // For HETERO: layer => device, for layers that shall not go to the first device that supports them. Goes before the
  // affinities in an IR (an attribute "affinity" in the <rt_info> of a layer).
  std::map<std::string, std::string> affinities{};
};

struct GRAFT_API ThreadsInfo {
  int threads = 1;
  std::string reason;
  Notes notes;  // settings that are ignored, and why
};

// A model prepared for a device: kernels are chosen, weights packed, memory planned. Immutable and thread-safe.
class GRAFT_API CompiledModel {
 public:
  // A new independent request. May be called from several threads.
  InferRequest create_infer_request() const;
  std::vector<Port> inputs() const;
  std::vector<Port> outputs() const;
  std::vector<Group> input_groups() const;
  std::vector<Group> output_groups() const;
  std::string device() const;
  const Options& options() const;
  // What the passes did, which kernel runs each operation and why others declined, and how memory is planned, for
  // inputs of these dimensions; without any, for those that sample_dims gives. It is what a request with such inputs
  // runs.
  Explanation explain(const std::vector<std::vector<int64_t>>& input_dims = {}) const;

  struct State;
  explicit CompiledModel(std::shared_ptr<State> s) : s_(std::move(s)) {}
  const std::shared_ptr<State>& state() const { return s_; }

 private:
  std::shared_ptr<State> s_;
};

// The entry point: knows operations, file formats and devices. Usually one per application.
class GRAFT_API Core {
 public:
  Core();

  // ---- extensions ----
  //
  // Operations, kernels, import rules and passes, described with extension.hpp: from a shared library, or from the
  // program itself:
  //
  //   graft::ExtensionId id = core.add_extension(graft::definitions("acme", "1.0", [] { return define_cosh(); }));
  //   ...
  //   core.remove_extension(id);
  //
  // Later ones take precedence over earlier ones, and all over the built-in ones, until they are removed. Two libraries
  // that define the same operation are refused; definitions of the program may replace those of a library, or their own
  // earlier ones. Fails, leaving everything as it was, if the definitions contradict each other.
  //
  // Removed definitions are no longer found, but stay in memory, and their libraries loaded, until the process ends:
  // models that were read with them still use them.

  // Loads the extension that is in this file or folder now: a shared library; a Python file; custom layers for GPU or
  // VPU (.xml); a folder with CMakeLists.txt, which is built first, in its folder `build`; or a folder of extensions
  // for the Model Optimizer (ops/, front/, middle/, back/). One that is added already keeps its id and its place, also
  // if its file has changed since: remove it first.
  ExtensionId add_extension(const std::string& path);
  // Calls an entry function; what it returns must stay valid until the process ends, as `definitions` ensures.
  using Entry = std::function<const graft_extension*(const graft_host*)>;
  ExtensionId add_extension(const Entry& entry);
  // The same for several at once, which costs less than one after the other. Fails without adding any of them.
  std::vector<ExtensionId> add_extensions(const std::vector<std::string>& paths, const ToolOutput& output = {});
  // add_extensions({"a.so", "b.so"}): two literals would also be a pair of iterators.
  std::vector<ExtensionId> add_extensions(std::initializer_list<std::string> paths, const ToolOutput& output = {}) {
    return add_extensions(std::vector<std::string>(paths), output);
  }
  std::vector<ExtensionId> add_extensions(const std::vector<Entry>& entries);
  void remove_extension(ExtensionId id);
  // In the order in which they were added.
  std::vector<ExtensionInfo> extensions() const;

  // ---- models ----

  // Reads a model file; the format is recognized by its content. `weights` is the second file of formats that have
  // two: the .caffemodel of a .prototxt, or the .bin of an .xml (by default the one next to it). Fails if the file
  // cannot be read; layers of unknown types are listed by Model::unknown_layers instead.
  Model read_model(const std::string& path, const std::string& weights = {}) const;
  Model read_model(const std::string& path, const std::string& weights, const ReadOptions& options) const;
  // All files of a model, in any order that starts with the model itself.
  Model read_model(const std::vector<std::string>& files, const ReadOptions& options = {}) const;
  // Compiles a model for a device. Fails with kind `unsupported` if the model has unknown layers or operations without
  // a kernel.
  CompiledModel compile_model(const Model& model, const std::string& device = "CPU", const Options& options = {}) const;
  CompiledModel compile_model(const std::string& path, const std::string& device = "CPU",
                              const Options& options = {}) const;

  // Which layers of a model a device supports, and why not the others; for "HETERO:A,B", which of its devices each
  // layer is assigned to.
  QueryResult query_model(const Model& model, const std::string& device = "CPU", const Options& options = {}) const;

  // What each entry of ReadOptions::replacements matches in a model; nothing is imported.
  std::vector<ReplacementOutcome> try_replacements(const std::vector<std::string>& files,
                                                   const ReadOptions& options) const;
  // Fills in missing inputs and outputs of the scopes in a replacement file, `path`, from a model.
  void update_replacements(const std::vector<std::string>& files, const ReadOptions& options,
                           const std::string& path) const;

  // ---- what there is ----

  // Operations that are not overridden, by name and opset; import rules by framework, domain, type and version; passes
  // in the order they run.
  std::vector<OpInfo> operations() const;
  std::vector<RuleInfo> rules() const;
  // Frameworks whose models can be read, by name, those that extensions read included.
  std::vector<FrameworkInfo> frameworks() const;
  // The framework that goes by this name or alias, without regard to case: "TF" is "tensorflow". Throws an Error of
  // kind `request` if there is none.
  std::string framework_name(const std::string& name_or_alias) const;
  // The format of a model file or folder, by its content: the name of a framework, "ir" or "text". Fails if it is none.
  std::string recognize_format(const std::string& path) const;
  std::vector<PassInfo> passes() const;
  // Throws an Error of kind `request` for options that no model could be converted with: an unknown pass, an IR version
  // that cannot be written.
  void check(const ConvertOptions& options) const;
  // The names accepted by compile_model: "CPU", "REFERENCE", ... Where a machine has several devices of a kind,
  // "GPU.1" is the second one, and "GPU" or "GPU.0" the first. "HETERO:GPU,CPU" splits a model: each layer runs on the
  // first device that supports it.
  std::vector<std::string> get_available_devices() const;
  std::string device_description(const std::string& device) const;
  // How many threads a model gets if `Options::threads` is 0, and why: from GRAFT_NUM_THREADS, else the affinity mask
  // and CPU quota of the process.
  ThreadsInfo threads() const;
  // The other devices that Graft knows, and what this machine lacks to use them.
  std::vector<std::pair<std::string, std::string>> unavailable_devices() const;

  // ---- properties ----
  //
  // Defaults for models that are compiled afterwards, for one device or, without a device, for all that have the
  // property. Names and values are those of OpenVINO:
  //
  //   PERFORMANCE_HINT (LATENCY or THROUGHPUT), NUM_STREAMS (a number or AUTO), INFERENCE_NUM_THREADS,
  //   ENABLE_HYPER_THREADING and PERF_COUNT (YES or NO)            for Options that are left at their defaults
  //   MULTI_DEVICE_PRIORITIES                                      of HETERO: its list, if "HETERO" is given without
  //   AVAILABLE_DEVICES, FULL_DEVICE_NAME, SUPPORTED_PROPERTIES    read-only
  //
  // A device may have more. Unknown properties and values that a property cannot have are rejected; nothing is set
  // then.
  using Properties = std::map<std::string, std::string>;
  void set_property(const Properties& properties);
  void set_property(const std::string& device, const Properties& properties);
  std::string get_property(const std::string& device, const std::string& name) const;

  struct State;
  const std::shared_ptr<State>& state() const { return s_; }

 private:
  std::shared_ptr<State> s_;
};

// Optimizes a model and writes it as IR: `xml_path` and the .bin next to it, both or neither. The passes run on a copy,
// unless `model` is the last handle of its model: `convert_model(std::move(model), ...)` saves memory.
GRAFT_API ConvertReport convert_model(Model model, const std::string& xml_path, const ConvertOptions& options = {});

// Writes the graph of a model, as it was imported, to an event file for TensorBoard in `folder`, which is created if it
// is missing. Returns the path of the file.
GRAFT_API std::string write_tensorboard(const Model& model, const std::string& folder);

// A model that is imported for certain values, one per group of its inputs.
struct GRAFT_API Fitted {
  Model model;
  std::vector<Datum> values;  // per group of the model's inputs: without those that became constants
  Notes notes;                // what was done
};
// The model, read again with its own options if the values have other shapes or another structure than its inputs, or
// where their values decide what can be imported or how many items a sequence has. What reshape and add_output changed
// is lost then.
GRAFT_API Fitted fit_model(Model model, std::vector<Datum> values);

}  // namespace graft
