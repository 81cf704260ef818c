// Tensors as PyTorch stores them: a storage of bytes, seen through sizes, strides and an offset.
#pragma once

#include <graft/app/memory.hpp>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/limits.hpp"
#include "readers/zip.hpp"

namespace graft {

// The element type of a number in the file's schema; undefined for complex numbers.
DType pytorch_element_type(int64_t number);

// A view of the storage if it is dense and aligned, otherwise a copy. `offset` and strides count elements.
Tensor strided_tensor(std::string_view storage, std::shared_ptr<const void> keeper, DType type,
                      std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t offset, const Limits& limits);

// The tensors of an archive by the names that the program gives them: weights, buffers and constants.
std::map<std::string, Tensor> pytorch_tensors(const ZipArchive& archive, const Limits& limits);

}  // namespace graft
