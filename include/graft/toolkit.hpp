// Running models from an application.
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
// Objects are handles: copies refer to the same thing. A request runs one inference at a time; different requests of
// one compiled model may run on different threads at once. Everything that goes wrong is thrown as graft::Error.
#pragma once

#include <chrono>
#include <functional>
#include <map>

#include "memory.hpp"

namespace graft {

// An input or output.
struct GRAFT_API Port {
  std::string name;                // of the layer
  std::vector<std::string> names;  // of the tensor, as the framework called it
  DType type = DType::undefined;
  Shape shape;
  // The name people know it by: the first tensor name, else the layer's.
  const std::string& any_name() const { return names.empty() ? name : names[0]; }
};

// An input or output as the framework sees it. Most are one tensor; ONNX also knows sequences, optionals and maps,
// which are several tensors here, or none.
struct GRAFT_API Group {
  enum class Kind {
    tensor,    // the port
    sequence,  // its items are the parts; a part that is a run stands for any number of items
    run,       // each slice along the first axis of its part is an item; of a map, each row of the values
    optional,  // the part is its value; no part: it holds nothing
    map,       // the parts are its keys and its values
  };
  std::string name;  // empty for parts
  Kind kind = Kind::tensor;
  size_t port = 0;  // of a tensor: its position in inputs() or outputs()
  std::vector<Group> parts;
};

struct GRAFT_API ProfilingInfo {
  std::string node_name, node_type, kernel;
  double microseconds = 0;  // over all calls
  uint64_t calls = 0;
};

class GRAFT_API Model {
 public:
  std::string name() const;
  std::string framework() const;  // "onnx", "ir", ...
  std::vector<Port> inputs() const;
  std::vector<Port> outputs() const;
  // The same in the framework's order and structure.
  std::vector<Group> input_groups() const;
  std::vector<Group> output_groups() const;
  // Layers that no operation is known for; a model with such layers does not compile.
  std::vector<std::string> unknown_layers() const;
  // Gives inputs other shapes; everything behind them is inferred anew.
  void reshape(const std::map<std::string, Shape>& shapes);
  // Makes any tensor of the model an output and returns its position among the outputs; one that is an output already
  // keeps its place. A name is that of a layer, which means its output 0, "layer:1" for another one, or that of a
  // tensor. A name that could be both is refused, except in Caffe, where layers go first: "conv1" is the convolution,
  // also where a layer in place writes the blob "conv1" once more.
  size_t add_output(const std::string& name);
  // Writes path (.xml) and the .bin beside it.
  void save_ir(const std::string& path) const;
  std::string to_text() const;

  struct State;
  explicit Model(std::shared_ptr<State> s) : s_(std::move(s)) {}
  const std::shared_ptr<State>& state() const { return s_; }

 private:
  std::shared_ptr<State> s_;
};

class GRAFT_API InferRequest {
 public:
  // By tensor or layer name, or by position. The memory is used as it is: no copy.
  void set_tensor(const std::string& name, const Tensor& t);
  void set_input_tensor(size_t index, const Tensor& t);
  void set_output_tensor(size_t index, const Tensor& t);
  Tensor get_tensor(const std::string& name) const;
  Tensor get_input_tensor(size_t index) const;
  Tensor get_output_tensor(size_t index) const;

  void infer();
  // Runs on a stream of the compiled model; `wait` throws what the run threw.
  void start_async();
  void wait();
  bool wait_for(std::chrono::milliseconds time);
  // Stops before the next operation; `wait` then throws an Error of kind cancelled.
  void cancel();
  // Called on a stream's thread when a run is over, with what it threw or null. May start the request again.
  void set_callback(std::function<void(std::exception_ptr)> callback);

  // Needs Options::profile.
  std::vector<ProfilingInfo> get_profiling_info() const;
  // Forgets what ReadValue and Assign remember.
  void reset_state();

  struct State;
  explicit InferRequest(std::shared_ptr<State> s) : s_(std::move(s)) {}

 private:
  std::shared_ptr<State> s_;
};

struct GRAFT_API Options {
  int streams = 1;       // asynchronous requests that run at the same time
  int threads = 0;       // for all streams together; 0: one per core
  bool profile = false;  // measure every operation
  bool passes = true;    // optimise the graph first; REFERENCE runs it as it stands in any case
};

class GRAFT_API CompiledModel {
 public:
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

// What a model is imported for, where its own file leaves that open.
struct GRAFT_API ReadOptions {
  std::map<std::string, size_t> items;      // of inputs that are sequences: how many
  std::vector<std::string> absent;          // inputs that are optional and hold nothing
  std::map<std::string, Tensor> constants;  // inputs that become constants
};

class GRAFT_API Core {
 public:
  Core();
  // Loads a shared library of operations. It stays loaded.
  void add_extension(const std::string& path);
  // Any supported model file; the format is recognised by its content. Throws when it cannot be read; layers of unknown
  // types are listed by Model::unknown_layers.
  Model read_model(const std::string& path, const std::string& weights = {});
  Model read_model(const std::string& path, const std::string& weights, const ReadOptions& options);
  CompiledModel compile_model(const Model& model, const std::string& device = "CPU", const Options& options = {});
  CompiledModel compile_model(const std::string& path, const std::string& device = "CPU", const Options& options = {});
  std::vector<std::string> get_available_devices() const;
  std::string device_description(const std::string& device) const;

  struct State;
  const std::shared_ptr<State>& state() const { return s_; }

 private:
  std::shared_ptr<State> s_;
};

}  // namespace graft
