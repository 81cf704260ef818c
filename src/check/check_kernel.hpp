// Everything that is checked of one kernel with one sample.
#pragma once

#include "check/kernel_call.hpp"

namespace graft::testing {

struct KernelCheck {
  const Registry& registry;
  const OpDef& op;
  uint64_t (*allocations)() = nullptr;  // CheckOptions::allocations and live
  int64_t (*live)() = nullptr;
};

// What the reference kernel computes: the yardstick of the others. None: the sample is refused, `refusal` says why.
struct Reference {
  std::vector<std::optional<Info>> inferred;
  std::vector<Tensor> outputs;
  std::optional<Fault> problem;  // of the shape function
  std::string refusal;
};
Reference reference_of(const KernelCheck& how, const Sample& sample);

enum class KernelVerdict { passed, declined, failed };
// What takes longer, and need not be done for each sample.
struct Thorough {
  bool concurrent = false;  // eight calls at once
  bool leaks = false;       // calls again and again, counting what stays allocated
};
// `problem` also says why a kernel declines.
KernelVerdict check_kernel(const KernelCheck& how, const Sample& sample, const Reference& reference,
                           const KernelDef& kernel, Thorough thorough, Fault& problem);

// The difference between what a kernel computes and the reference; empty: none that matters.
std::optional<Fault> difference_from_reference(const OpDef& op, const Tensor& expected, const Tensor& got,
                                               size_t output);

}  // namespace graft::testing
