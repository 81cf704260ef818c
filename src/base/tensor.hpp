// Internal helpers on tensors.
#pragma once

#include <graft/app/memory.hpp>

#include "base/error.hpp"

namespace graft {

inline constexpr size_t tensor_alignment = 64;

// Bytes that `count` elements take; throws on overflow.
size_t bytes_for(DType type, int64_t count);
// Product of dimensions; throws on negative dimensions, and on overflow also if one of them is 0.
int64_t count_checked(std::span<const int64_t> dims);

std::shared_ptr<void> allocate_aligned(size_t bytes);

// The tensor that a file holds at `data`, without a copy unless it has bytes that are no boolean: they become 1.
Tensor tensor_in_file(DType type, std::vector<int64_t> dims, const char* data, std::shared_ptr<const void> keeper);

// A tensor over a copy of `values`.
template <class T>
Tensor make_tensor(std::vector<int64_t> dims, const std::vector<T>& values) {
  Tensor t(dtype_of<T>(), std::move(dims));
  std::copy(values.begin(), values.end(), t.data<T>());
  return t;
}
// The elements as T, converted.
template <class T>
std::vector<T> values_of(const Tensor& t) {
  Tensor same = t.to(dtype_of<T>());
  return std::vector<T>(same.data<T>(), same.data<T>() + same.size());
}

// True when the data pointer is aligned for the element type.
bool is_aligned(const Tensor& t);
// Same type, dimensions and bytes (contents, for strings).
bool same_content(const Tensor& a, const Tensor& b);

// A copy whose memory has the channels last (dimension 1), of at least one byte per element; or back from such memory.
// The dimensions stay.
Tensor with_channels_last(const Tensor& t);
Tensor from_channels_last(const Tensor& t);

}  // namespace graft
