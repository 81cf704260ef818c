// Kernels as source text: what their device computes with one sample, against the reference.
#pragma once

#include "check/check_kernel.hpp"
#include "runtime/device.hpp"

namespace graft::testing {

// Compiles and runs the sample on the device, twice. Declined: the device does not take the sample, or chooses another
// kernel than `kernel` for it.
KernelVerdict check_source_kernel(const KernelCheck& how, const Sample& sample, const Reference& reference,
                                  const Device& device, std::string_view kernel, Fault& problem);

}  // namespace graft::testing
