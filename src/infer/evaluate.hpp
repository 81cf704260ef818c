// Evaluates nodes and graphs with the reference kernels, one after another, each result in its own memory. Slow and
// simple; the basis of the REFERENCE device and of constant folding.
#pragma once

#include <atomic>
#include <limits>
#include <map>

#include "base/limits.hpp"
#include "base/threads.hpp"
#include "graph/graph.hpp"
#include "schema/registry.hpp"

namespace graft {

// State that outlives a run (ReadValue, Assign).
using Variables = std::map<std::string, Tensor, std::less<>>;

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
};

// Refuses a value with a data-dependent shape that takes more than `most` bytes (Limits::value_bytes).
void check_dynamic(uint64_t most, DType type, std::span<const int64_t> dims);
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
