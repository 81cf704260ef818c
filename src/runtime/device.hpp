// Devices compile graphs into programs, and programs create executions that run.
#pragma once

#include <atomic>
#include <functional>
#include <graft/app/explain.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/limits.hpp"
#include "graph/graph.hpp"
#include "infer/evaluate.hpp"
#include "schema/registry.hpp"

namespace graft {

class Device;

struct CompileOptions {
  int threads = 0;       // of the pool, that one run may use; 0: all
  bool profile = false;  // measure every operation
  Limits limits;         // of inference, and value_bytes
  bool body = false;     // the shapes of the inputs depend on the data of another graph
  // Values of Device::properties that applications have set, by device and name.
  std::map<std::string, std::map<std::string, std::string>> properties{};

  // ---- for devices that pass parts of the graph on to others ----

  std::map<std::string, std::string> affinities{};  // layer => device, assigned by hand
  // Optimizes a graph for a device; without one, only in ways that suit every device. Nodes that `is_kept` names stay.
  // Empty: graphs are compiled as they are.
  std::function<void(Graph&, const Device*, const std::function<bool(const std::string&)>& is_kept)> optimize{};
};

// Whether a device can compute a node, and why not.
struct Support {
  bool supported = false;
  std::string reason;  // supported: the kernel's name, or empty; otherwise why not
};

// A setting of a device that applications can change.
struct DeviceProperty {
  std::string name;                                   // in capitals: "CONFIG_FILE"
  std::string fallback;                               // its value until it is set
  void (*check)(const std::string& value) = nullptr;  // throws on a value that it cannot have
  bool custom_layers = false;                         // the value is a file of custom layers, which are loaded
};

// Time spent in one operation over all runs of an execution.
struct ProfileEntry {
  std::string node, type, kernel;
  double microseconds = 0;
  uint64_t calls = 0;
};

// One request's memory and state. Not for two threads at once.
class Execution {
 public:
  virtual ~Execution() = default;
  // `outputs` may contain tensors to write into; they are used where type and shape fit, otherwise replaced.
  virtual void run(std::span<const Tensor> inputs, std::vector<Tensor>& outputs, const std::atomic<bool>* cancel) = 0;
  virtual std::vector<ProfileEntry> profile() const = 0;
  virtual void reset_state() { variables.clear(); }
  Variables variables;
};

class Program {
 public:
  virtual ~Program() = default;
  virtual std::unique_ptr<Execution> create_execution() = 0;
  // For inputs of these types and shapes.
  virtual Explanation explain(const std::vector<Info>& inputs) = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;
  virtual std::string description() const = 0;
  // Why the device cannot be used on this machine, and what to do; none if it can.
  virtual std::optional<Error> unavailable() const { return std::nullopt; }
  // Whether graphs are optimized before they are compiled for this device.
  virtual bool wants_passes() const { return true; }
  // Whether programs use tensors where they are, in host memory; otherwise they copy their inputs and outputs.
  virtual bool uses_host_memory() const { return true; }
  virtual std::vector<DeviceProperty> properties() const { return {}; }
  // The device that runs the operations which this one has no kernel for; empty: none.
  virtual std::string fallback() const { return ""; }
  // One entry per node id of the graph, whose types and shapes are inferred.
  virtual std::vector<Support> query(const Graph& graph, const Registry& registry,
                                     const CompileOptions& options) const = 0;
  virtual std::unique_ptr<Program> compile(Graph graph, const Registry& registry,
                                           const CompileOptions& options) const = 0;
};

}  // namespace graft
