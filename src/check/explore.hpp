// Valid samples of an operation that refuses most of what its schema suggests.
#pragma once

#include "check/check_kernel.hpp"

namespace graft::testing {

// Found by trying: a change that gets another refusal than all before is a step forward, and refusals name the element
// types and numbers that are expected. Empty if none is found, or if the schema alone gives enough valid samples.
// Always the same for the same seed. `go_on` is asked now and then, and ends it by giving false.
std::vector<Sample> explored_samples(const Registry& registry, const OpDef& op, const KernelCheck& how, uint64_t seed,
                                     const std::function<bool()>& go_on);

}  // namespace graft::testing
