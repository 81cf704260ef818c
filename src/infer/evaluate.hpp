// Evaluates nodes and graphs with the reference kernels, one after another, each result in its own memory. Slow and
// simple; the basis of the REFERENCE device and of constant folding.
#pragma once

#include <atomic>
#include <limits>

#include "base/limits.hpp"
#include "base/running.hpp"
#include "base/threads.hpp"
#include "graph/graph.hpp"
#include "kernels/context.hpp"
#include "kernels/variables.hpp"
#include "schema/registry.hpp"

namespace graft {

// Gives the kernels of extensions memory that shows what they write outside of it.
class OutputGuard {
 public:
  virtual ~OutputGuard() = default;
  virtual Tensor make(DType type, const std::vector<int64_t>& dims) = 0;
  virtual void returned(const Node& node, const RunningKernel& kernel) = 0;
};

struct Evaluation {
  const Registry& registry;
  ThreadPool* pool = nullptr;   // null: on the calling thread
  size_t max_bytes = SIZE_MAX;  // limit for one output
  Variables* variables = nullptr;
  const std::atomic<bool>* cancel = nullptr;
  int max_depth = 64;  // of bodies in bodies
  void (*observe)(void* arg, const Graph& graph, NodeId node, double microseconds,
                  std::span<const Tensor> outputs) = nullptr;
  void* observe_arg = nullptr;
  std::string_view device = {};                               // whose kernels are tried before the reference kernels
  double max_work = std::numeric_limits<double>::infinity();  // limit for one node without bodies, see work_of
  uint64_t max_dynamic = UINT64_MAX;                          // Limits::value_bytes
  std::string scope = {};                                     // of the graph among the variables
  // Memory for the outputs of extensions, and what is to be done when their kernel has returned; null: as usual.
  OutputGuard* guard = nullptr;
};

// A node as its kernels see it when it runs: what its outputs are follows from the values of its inputs, of which
// absent ones are empty tensors. They stay where they are as long as the context is used.
class RunningNode : public NodeContext {
 public:
  RunningNode(const Registry& registry, const OpDef& op, const Node& node, const std::vector<Tensor>& inputs,
              const Limits& limits);
};

// About how many elements computing a node touches: as the operation states it, else guessed from the shapes.
double work_of(const Node& node, const OpDef& op, std::span<const Tensor> inputs,
               const std::vector<std::optional<Info>>& outputs);

// Outputs of one node. Absent inputs are empty tensors.
std::vector<Tensor> evaluate_node(const Evaluation& how, const Node& node, const OpDef& op,
                                  std::span<const Tensor> inputs, size_t output_count);

// Results of a graph. `more` requests further values, appended to the results.
std::vector<Tensor> evaluate_graph(const Evaluation& how, const Graph& graph, std::span<const Tensor> inputs,
                                   std::span<const ValueId> more = {});

}  // namespace graft
