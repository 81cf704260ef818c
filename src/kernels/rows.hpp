// Element-wise operations as functions of rows, for kernels of other operations: graft_kernel::rows.
#pragma once

#include "kernels/kernel.hpp"

namespace graft {

// The first kernel of an operation for the CPU that has such a function and takes f32, prepared. `numbers` are the
// inputs but the first. `named`: the kernel of this name alone. Throws `unsupported` with what the kernels say if there
// is none.
PreparedKernel prepare_rows(const Registry& registry, Node node, std::span<const float> numbers,
                            std::string_view named = {});

}  // namespace graft
