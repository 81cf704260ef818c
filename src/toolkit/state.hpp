// The implementation behind the handles of toolkit.hpp.
#pragma once

#include <condition_variable>
#include <graft/toolkit.hpp>
#include <mutex>

#include "import/importer.hpp"
#include "passes/pass.hpp"
#include "runtime/device.hpp"

namespace graft {

struct Core::State {
  Registry registry;
  std::vector<std::unique_ptr<Device>> devices;

  const Device& device(const std::string& name) const;
};

struct Model::State {
  std::shared_ptr<Core::State> core;
  std::string framework, path;
  std::string arguments;  // that read it the same way again, for a shell
  Graph graph;
  ImportReport report;            // empty for an IR
  std::vector<PassEffect> front;  // effects of extensions' front passes
};

class Streams;

struct CompiledModel::State {
  std::shared_ptr<Core::State> core;
  std::string device;
  Options options;
  std::vector<Port> inputs, outputs;
  std::vector<Group> input_groups, output_groups;
  std::unique_ptr<Program> program;
  std::unique_ptr<Streams> streams;
};

struct InferRequest::State : std::enable_shared_from_this<InferRequest::State> {
  std::shared_ptr<CompiledModel::State> model;
  std::unique_ptr<Execution> execution;
  std::vector<Tensor> inputs, outputs;
  std::vector<bool> given;  // outputs with memory set by the caller

  mutable std::mutex mutex;
  std::condition_variable done;
  bool running = false;
  int notifying = 0;  // running callbacks; one that starts the next run may overlap with the callback of that run
  std::atomic<bool> cancel{false};
  std::exception_ptr error;
  std::function<void(std::exception_ptr)> callback;

  void begin();  // throws when busy
  void run();    // the inference itself
  void end(std::exception_ptr e);
  // No run and no callback is in progress. Inside a callback, its own end is not waited for.
  bool idle() const { return !running && (notifying == 0 || notified == this); }
  static thread_local const State* notified;  // whose callback this thread is in
};

// Index of the port with this tensor or layer name; the error lists the existing names.
std::optional<size_t> position_of(const std::vector<Port>& ports, const std::string& name);
size_t find_port(const std::vector<Port>& ports, const std::string& name, std::string_view what);
// Whether a port accepts values of these dimensions.
bool takes(const Port& port, const std::vector<int64_t>& dims);
std::vector<Port> input_ports(const Graph& g);
std::vector<Port> output_ports(const Graph& g);
std::vector<Group> input_groups(const Graph& g);
std::vector<Group> output_groups(const Graph& g);

}  // namespace graft
