// The application interface: read a model, compile it for a device, run it.
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
// Ownership: objects are handles; copies refer to the same thing, which lives as long as any handle needs it. A
// compiled model does not depend on the Model it was made from.
//
// Threads: a request runs one inference at a time, but different requests of one compiled model may run on different
// threads at once. Core and Model must not be changed by one thread while another one uses them.
//
// Errors: everything that goes wrong is thrown as graft::Error (error.hpp), with a message, its context and a hint. The
// library neither prints nor exits.
#pragma once

#include <chrono>
#include <functional>
#include <map>

#include "memory.hpp"

namespace graft {

// An input or output of a model. Dimensions that are unknown until run time are unknown in `shape`.
struct GRAFT_API Port {
  std::string name;                // of the layer
  std::vector<std::string> names;  // of the tensor, as the framework called it
  DType type = DType::undefined;
  Shape shape;
  // The name users know it by: the first tensor name, otherwise the name of the layer.
  const std::string& any_name() const { return names.empty() ? name : names[0]; }
};

// An input or output as the framework sees it. Most are a single tensor; ONNX also has sequences, optionals and maps,
// which are represented by any number of tensors here.
struct GRAFT_API Group {
  enum class Kind {
    tensor,    // a single port
    sequence,  // the parts are its items; a part that is a run stands for any number of items
    run,       // each slice along the first axis of its part is an item; for a map, each row of the values
    optional,  // the part is its value; no part: empty
    map,       // the parts are its keys and its values
  };
  std::string name;  // empty for parts
  Kind kind = Kind::tensor;
  size_t port = 0;  // for a tensor: its index in inputs() or outputs()
  std::vector<Group> parts;
};

// Time spent in one node, and the kernel that ran it. Enable it with Options::profile.
struct GRAFT_API ProfilingInfo {
  std::string node_name, node_type, kernel;
  double microseconds = 0;  // over all calls
  uint64_t calls = 0;
};

// A model in memory: the graph as it was imported, before optimization for a device.
class GRAFT_API Model {
 public:
  std::string name() const;
  std::string framework() const;  // "onnx", "ir", ...
  // In the order of the model file, which is also the order of positions in InferRequest.
  std::vector<Port> inputs() const;
  std::vector<Port> outputs() const;
  // The same in the order and structure of the framework.
  std::vector<Group> input_groups() const;
  std::vector<Group> output_groups() const;
  // Layers without a known operation; a model with such layers does not compile. An extension can define them.
  std::vector<std::string> unknown_layers() const;
  // Changes the shapes of inputs, by name, and infers all others again. Fails, leaving the model unchanged, if the
  // model cannot be run with these shapes.
  void reshape(const std::map<std::string, Shape>& shapes);
  // Makes any tensor of the model an output and returns its position among the outputs; a tensor that is an output
  // already keeps its position. A name is that of a layer (its output 0), "layer:1" for another output of it, or that
  // of a tensor. A name that could be both is rejected, except in Caffe, where layers take precedence: "conv1" is the
  // convolution, even if an in-place layer writes the blob "conv1" again.
  size_t add_output(const std::string& name);
  // Writes the IR: `path` (.xml) and the weights next to it (.bin).
  void save_ir(const std::string& path) const;
  // The graph in the textual form, for reading and for tests.
  std::string to_text() const;

  struct State;
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

// How to compile a model.
struct GRAFT_API Options {
  int streams = 1;       // asynchronous requests that run at the same time
  int threads = 0;       // for all streams together; 0: one per core
  bool profile = false;  // measure every operation
  bool passes = true;    // optimize the graph first; REFERENCE never does
};

// A model prepared for a device: kernels are chosen, weights packed, memory planned. Immutable and thread-safe.
class GRAFT_API CompiledModel {
 public:
  // A new independent request. May be called from several threads.
  InferRequest create_infer_request();
  std::vector<Port> inputs() const;
  std::vector<Port> outputs() const;
  std::vector<Group> input_groups() const;
  std::vector<Group> output_groups() const;
  std::string device() const;
  const Options& options() const;

  struct State;
  explicit CompiledModel(std::shared_ptr<State> s) : s_(std::move(s)) {}
  const std::shared_ptr<State>& state() const { return s_; }

 private:
  std::shared_ptr<State> s_;
};

// Properties of the inputs that the model file leaves open.
struct GRAFT_API ReadOptions {
  std::map<std::string, size_t> items;      // the lengths of sequence inputs
  std::vector<std::string> absent;          // optional inputs that are empty
  std::map<std::string, Tensor> constants;  // inputs to replace by constants
};

// The entry point: knows operations, file formats and devices. Usually one per application.
class GRAFT_API Core {
 public:
  Core();
  // Loads a shared library of operations, kernels, import rules and passes (see extension.hpp). It stays loaded until
  // the process ends. Models read before do not know its operations.
  void add_extension(const std::string& path);
  // Reads a model file; the format is recognized by its content. `weights` is the second file of formats that have
  // two: the .caffemodel of a .prototxt, or the .bin of an .xml (by default the one next to it). Fails if the file
  // cannot be read; layers of unknown types are listed by Model::unknown_layers instead.
  Model read_model(const std::string& path, const std::string& weights = {});
  Model read_model(const std::string& path, const std::string& weights, const ReadOptions& options);
  // Compiles a model for a device. Fails with kind `unsupported` if the model has unknown layers or operations without
  // a kernel.
  CompiledModel compile_model(const Model& model, const std::string& device = "CPU", const Options& options = {});
  CompiledModel compile_model(const std::string& path, const std::string& device = "CPU", const Options& options = {});
  // The names accepted by compile_model: "CPU", "REFERENCE", ...
  std::vector<std::string> get_available_devices() const;
  std::string device_description(const std::string& device) const;

  struct State;
  const std::shared_ptr<State>& state() const { return s_; }

 private:
  std::shared_ptr<State> s_;
};

}  // namespace graft
