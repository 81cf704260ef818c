// NumPy's .npy files, read and written.
#pragma once

#include <graft/app/memory.hpp>

#include "base/limits.hpp"

namespace graft {

Tensor read_npy(const std::string& path, const Limits& limits = {});
Tensor read_npy(std::string_view bytes, std::shared_ptr<const void> keeper, const Limits& limits = {});
// bf16, f8 and f4 are widened to f32, 4-bit integers to 8 bits, strings become fixed-width unicode.
std::string npy_bytes(const Tensor& t);
void write_npy(const std::string& path, const Tensor& t);

}  // namespace graft
