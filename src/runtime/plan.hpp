// The plan for a graph and one set of input shapes: which kernel runs when, and where every value is stored.
#pragma once

#include "infer/inference.hpp"
#include "runtime/device.hpp"
#include "runtime/packs.hpp"

namespace graft {

// What choosing kernels for a compiled graph needs: the devices whose kernels may be used, in order of preference.
struct KernelSource {
  const Registry& registry;
  const std::vector<std::string>& devices;
  Packs& packs;
};
// The first kernel that accepts node `id` of the graph with plain tensors, prepared. Throws when none does.
PreparedKernel choose_kernel(const KernelSource& from, const OpDef& op, const Graph& graph, NodeId id,
                             NodeContext& context);

// A value, or another view of one. Slots that are views of others share their root's memory.
struct Slot {
  enum Kind { arena, constant, input, output, dynamic } kind = dynamic;
  Info info;
  std::vector<int64_t> dims;  // when the shape is known
  Layout layout = Layout::plain;
  bool is_alias = false;  // only another form of a value that has its own slot
  uint32_t root;          // slot that owns the memory; itself unless a view
  size_t index = 0;       // of the constant, input or output
  size_t offset = 0;      // in the arena
  size_t last_step = 0;   // the last consumer
};

inline constexpr uint32_t no_slot = UINT32_MAX;

struct Step {
  NodeId node;
  const OpDef* op;
  PreparedKernel kernel;          // empty: decided at run time
  std::vector<uint32_t> inputs;   // slots; no_slot: absent
  std::vector<uint32_t> outputs;  // slots
  std::vector<uint8_t> used;      // per output: 0 if it is unused
  size_t scratch_offset = 0;
  bool may_overwrite = true;
};

struct Plan {
  explicit Plan(Graph g) : graph(std::move(g)) {}
  Graph graph;  // with this plan's shapes and reorders
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<Tensor> constants;  // empty: no step reads it
  std::vector<uint32_t> inputs;   // slot of each parameter
  std::vector<uint32_t> results;  // slot of each result
  size_t arena_bytes = 0;
  Explanation explanation;
};

// `only`: no other plan will be made of this graph, so that constants which kernels have packed are freed.
std::shared_ptr<const Plan> make_plan(Graph graph, const KernelSource& kernels, const std::vector<Info>& inputs,
                                      const CompileOptions& options, bool only);

}  // namespace graft
