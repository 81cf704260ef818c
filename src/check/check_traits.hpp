// Whether an operation keeps what its traits promise (graft/traits.hpp), tried with the reference kernel.
#pragma once

#include "check/check_kernel.hpp"

namespace graft::testing {

// `outputs` are what the reference kernel computes of the sample.
std::optional<Fault> check_traits(const KernelCheck& how, const Sample& sample, const std::vector<Tensor>& outputs);

}  // namespace graft::testing
