// Evaluates nodes and graphs with the reference kernels, one after another, each result in its own memory. Slow and
// simple; the basis of the REFERENCE device and of constant folding.
#pragma once

#include <atomic>
#include <limits>

#include "base/limits.hpp"
#include "base/running.hpp"
#include "base/threads.hpp"
#include "graph/graph.hpp"
#include "infer/variables.hpp"
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

// Refuses a value with a data-dependent shape that takes more than `most` bytes (Limits::value_bytes).
void check_dynamic(uint64_t most, DType type, std::span<const int64_t> dims);
// Refuses what a kernel allocates for an output if the shape function has declared otherwise.
void check_allocation(size_t output, const Shape& declared, std::span<const int64_t> dims);
// Refuses to run a body with a parameter that contradicts what was inferred for it.
void check_parameter(const Graph& body, size_t index, const Info& given);

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
