// Chains of element-wise operations as one step.
#pragma once

#include "devices/opencl/emit.hpp"
#include "runtime/plan.hpp"

namespace graft {

// Steps with a formula take in the producers of their operands that also have one, whose results nothing else uses, and
// whose shape is theirs. `works` are by node.
void fuse_formulas(Plan& plan, std::vector<OpenclWork>& works, size_t most_work_items);

}  // namespace graft
