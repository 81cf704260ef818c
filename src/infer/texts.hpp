// Text that a model makes when it runs counts like a value with a data-dependent shape: against Limits::value_bytes.
#pragma once

#include "base/limits.hpp"
#include "base/tensor.hpp"

namespace graft {

// Refuses text that takes more than `most` bytes.
void check_texts(uint64_t most, uint64_t bytes);
// What the texts of a tensor take when each of them is copied; 0 for tensors of numbers.
uint64_t bytes_of_texts(const Tensor& t);

}  // namespace graft
