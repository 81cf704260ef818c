// How a node is computed, whoever computes it: a plan (src/runtime), constant folding and REFERENCE (src/infer), the
// checker (src/check).
//
//   Candidates      the kernels that may compute the node, best first; `first` tries them in order
//   PreparedKernel  one of them, prepared for the node: what it has packed, its state, the scratch memory it needs
//   KernelCall      calls of it: fills graft_call and answers the host functions of a running kernel (kernels/call.hpp)
//
// A kernel declines with an error of kind `unsupported`, from `accept`, `pack` or `prepare`; the next one is tried
// then. Any other error is a fault of the model or of the kernel: no other kernel is tried, the error is reported.
//
// LSTMSequence, which packs its weights, in a plan: first(accept); the layouts are chosen; PreparedKernel calls
// `prepare`, which asks for the packed weights, and `pack` runs once per compiled model (runtime/packs.hpp). `taken`
// then names the inputs that the plan may free. A kernel that declines only now makes the plan go on with the next one.
//
// Loop, whose outputs depend on its body: `prepare` infers the body through NodeContext. A call has outputs without
// memory; `allocate` gets them some from KernelCall::make, and `run_body` goes to KernelCall::run_graph: a request
// runs the program of the body, which was compiled with the model, REFERENCE evaluates the graph. What the outputs have
// become is compared with what was declared when the kernel returns.
#pragma once

#include "kernels/context.hpp"

namespace graft {

// Kernels and their reasons, in the order in which they have declined.
using Declined = std::vector<std::pair<std::string, std::string>>;
// "gemm declined with 'expected f32, got f16'; ..."
std::string to_text(const Declined& declined);

// The kernels that may compute a node, best first: functions (KernelDef) or sources (SourceKernelDef).
template <class Def>
class Candidates {
 public:
  void add(const std::vector<Def>& kernels) { list_.insert(list_.end(), kernels.begin(), kernels.end()); }
  bool empty() const { return list_.empty(); }
  // The kernel that is tried next, or that did not decline.
  const Def& kernel() const { return list_[at_]; }
  std::string_view name() const { return view(kernel().record->name); }

  // Calls f(kernel) for this kernel and those after it until one does not decline. False: all have.
  template <class F>
  bool first(F&& f) {
    while (at_ < list_.size())
      if (attempt(f)) return true;
    return false;
  }
  // Calls f(kernel) for this kernel alone. False: it declined, and the one after it is next.
  template <class F>
  bool attempt(F&& f) {
    try {
      f(kernel());
      return true;
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::unsupported) throw;
      decline(e);
      return false;
    }
  }
  void decline(Error reason) {
    declined.emplace_back(name(), reason.message());
    last = std::move(reason);
    ++at_;
  }

  Declined declined;
  std::optional<Error> last;  // with which a kernel has declined

 private:
  std::vector<Def> list_;
  size_t at_ = 0;
};

// Those of these devices, which are in order of preference.
Candidates<KernelDef> kernel_candidates(const Registry& registry, const OpDef& op,
                                        std::span<const std::string> devices);

// Throws if the kernel declines the node for what its attributes, types and shapes are.
template <class Record>
void ask(const Record& kernel, NodeContext& node) {
  if (kernel.accept) check_callback(kernel.accept(&node, kernel.user));
}

// What a kernel's `pack` made, and the inputs that the kernel no longer reads.
struct Packed {
  std::shared_ptr<const void> made;
  std::vector<size_t> taken;
};
// Calls the kernel's `pack`. `constants` are the constant inputs; empty tensors stand for the others.
Packed pack_constants(const graft_kernel& kernel, const Node& node, std::vector<std::optional<Info>> inputs,
                      const std::vector<Tensor>& constants);

class PreparedKernel {
 public:
  using Pack = std::function<Packed(const graft_kernel&)>;

  PreparedKernel() = default;
  // Throws if the kernel declines. `pack` is called if it has something to pack and asks for it.
  PreparedKernel(const KernelDef& def, NodeContext& node, const Pack& pack);
  explicit operator bool() const { return kernel != nullptr; }
  void* state() const { return state_.get(); }

  const graft_kernel* kernel = nullptr;
  const Source* source = nullptr;
  size_t scratch_bytes = 0;
  std::vector<size_t> taken;  // inputs that it has packed and reads no more
  // Operations that it applies to its results, each with the kernel that it takes them from: "HSwish (simd_f32)".
  std::vector<std::pair<std::string, std::shared_ptr<const void>>> applied;

 private:
  std::shared_ptr<const void> packed_;  // may be used by the state
  std::shared_ptr<void> state_;
};

// The first kernel that takes the node with plain tensors, prepared. Empty: all have declined.
PreparedKernel prepare_first(Candidates<KernelDef>& kernels, NodeContext& node, const PreparedKernel::Pack& pack);

}  // namespace graft
