// A plan under construction, and the stages that complete it, each in a file of its own:
//
//   select     how each node is computed: which kernel, or why none is needed
//   layouts    the layout of every value, and reorders where a consumer needs another one
//   steps      slots and steps
//   lifetimes  which slots share memory
//   place      where each one is in the arena
#pragma once

#include <mutex>

#include "runtime/plan.hpp"

namespace graft {

// How a node is computed.
struct Work {
  enum Kind { none, constant, view, kernel, run_time } kind = none;
  const OpDef* op = nullptr;
  Candidates<KernelDef> kernels;  // that may compute it
  PreparedKernel prepared;
  // What the chosen kernel gets and gives, per port. With `in_memory_order` it sees plain tensors whose dimensions are
  // in the order of the memory.
  std::vector<Layout> inputs, outputs;
  bool in_memory_order = false;
  bool may_overwrite = true;  // where the operation allows its output to take the place of its input
  Choice choice;
};

struct Draft {
  struct Value {
    size_t consumers = 0;
    bool is_result = false;  // of the model
    bool planned = false;    // its shape is known before the run
    Layout layout = Layout::plain;
    Tensor constant;        // empty: computed at run time, or released
    bool released = false;  // a constant of which only a packed form exists
  };

  Draft(Graph graph, const KernelSource& kernels, const std::vector<Info>& inputs, const CompileOptions& options);

  Value& value(ValueId v) { return values[v.node][v.port]; }
  const Info& info(ValueId v) const { return plan->graph.info(v); }
  void count_consumers();
  // Frees a constant that its only consumer has taken, unless other plans may need it.
  void release(ValueId v);

  const KernelSource& kernels;
  const CompileOptions& options;
  std::shared_ptr<Plan> plan;
  Inference inference;
  std::vector<NodeId> order;
  std::vector<Work> works;                 // by node
  std::vector<std::vector<Value>> values;  // by node and port
  bool frees_constants = false;
  size_t freed = 0;  // bytes of constants since the heap was trimmed
  std::mutex mutex;  // kernels are prepared on several threads; guards `inference`
};

// ---- the stages ----

void select_kernels(Draft& draft);
// The same for a device that computes nodes in a way of its own: `compute` sets the work of a node that is neither a
// constant nor a view, or throws.
void select_kernels(Draft& draft, const std::function<void(NodeId)>& compute);
void choose_layouts(Draft& draft);
void make_steps(Draft& draft);
void share_memory(Plan& plan);
// The offset of every slot is a multiple of `alignment`.
void place_slots(Plan& plan, size_t alignment = 64);

// ---- for the stages ----

// Chooses the first kernel that accepts the node, of those that have not declined yet. Throws if there is none.
void choose_kernel(Draft& draft, NodeId id);
// Prepares the chosen kernel for the chosen layouts. False: it declined, and the next one was chosen.
bool prepare_chosen(Draft& draft, NodeId id);

// Whether the elements are in the same order whether channels are last or not.
bool same_order(std::span<const int64_t> dims);
// [N, C, H, W] => [N, H, W, C], filled up to `rank` with ones in front.
std::vector<int64_t> memory_order(std::vector<int64_t> dims, size_t rank);
// The root of a slot, with the path to it shortened.
uint32_t root_of(Plan& plan, uint32_t slot);

}  // namespace graft
