#include "kernels/kernel.hpp"

namespace graft {

std::string to_text(const Declined& declined) {
  std::string out;
  for (const auto& [kernel, reason] : declined)
    out += text(out.empty() ? "" : "; ", kernel, " declined with '", reason, "'");
  return out;
}

Candidates<KernelDef> kernel_candidates(const Registry& registry, const OpDef& op,
                                        std::span<const std::string> devices) {
  Candidates<KernelDef> out;
  for (const std::string& device : devices) {
    out.add(registry.kernels(op, device));
    if (registry.runs_other_versions(op, device))
      out.declined.emplace_back(device, text("no ", device, " kernel for this version (", op.opset(), ")"));
  }
  return out;
}

Packed pack_constants(const graft_kernel& kernel, const Node& node, std::vector<std::optional<Info>> inputs,
                      const std::vector<Tensor>& constants) {
  Packed out;
  NodeContext context(node, std::move(inputs));
  context.constants = [&](size_t i) { return constants[i] ? &constants[i] : nullptr; };
  context.taken = &out.taken;
  void* packed = nullptr;
  check_callback(kernel.pack(&context, kernel.user, &packed));
  out.made = {packed, [&kernel](const void* p) {
                if (kernel.release_packed) kernel.release_packed(const_cast<void*>(p), kernel.user);
              }};
  return out;
}

PreparedKernel::PreparedKernel(const KernelDef& def, NodeContext& node, const Pack& pack)
    : kernel(def.record), source(def.source) {
  std::optional<Packed> packed;
  struct Asking {  // packed constants are there for `prepare` alone
    NodeContext& node;
    ~Asking() { node.packs = nullptr; }
  } asking{node};
  node.packs = [&] {
    if (!packed) packed = kernel->pack ? pack(*kernel) : Packed();
    return packed->made.get();
  };
  node.scratch_bytes = 0;
  node.applied.clear();
  void* state = nullptr;
  if (kernel->prepare) check_callback(kernel->prepare(&node, kernel->user, &state));
  scratch_bytes = node.scratch_bytes;
  applied = std::move(node.applied);
  if (packed) packed_ = std::move(packed->made), taken = std::move(packed->taken);
  state_ = {state, [k = kernel](void* s) {
              if (k->release && s) k->release(s, k->user);
            }};
}

PreparedKernel prepare_first(Candidates<KernelDef>& kernels, NodeContext& node, const PreparedKernel::Pack& pack) {
  PreparedKernel out;
  kernels.first([&](const KernelDef& k) {
    if (!takes_plain(*k.record)) throw_unsupported("it does not take plain tensors");
    ask(*k.record, node);
    out = PreparedKernel(k, node, pack);
  });
  return out;
}

}  // namespace graft
