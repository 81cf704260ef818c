// Devices compile graphs into programs, and programs create executions that run.
#pragma once

#include <atomic>
#include <graft/explain.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/limits.hpp"
#include "graph/graph.hpp"
#include "infer/evaluate.hpp"
#include "schema/registry.hpp"

namespace graft {

struct CompileOptions {
  int threads = 0;       // that one run may use; 0: all of the pool
  bool profile = false;  // measure every operation
  Limits limits;         // of inference, and value_bytes
  bool body = false;     // the shapes of the inputs depend on the data of another graph
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
  // Whether graphs are optimized before they are compiled for this device.
  virtual bool wants_passes() const { return true; }
  virtual std::unique_ptr<Program> compile(Graph graph, const Registry& registry,
                                           const CompileOptions& options) const = 0;
};

}  // namespace graft
