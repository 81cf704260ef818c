// What an extension passes across the border, which may be wrong: lengths without memory are errors, not crashes.
#pragma once

#include <span>

#include "base/error.hpp"
#include "base/tensor.hpp"

namespace graft {

// A list of the extension; `what` is one of its entries in the plural: "inputs".
template <class T>
std::span<const T> given_list(const T* items, size_t count, std::string_view what) {
  if (!items && count) throw_user("expected ", count, " ", what, ", got a null pointer");
  return {items, count};
}
std::string_view given_text(graft_str s, std::string_view what);

// The dimensions of an extension's shape, type and shape of its value.
Shape given_shape(const graft_shape& s);
Info given_info(const graft_info& i);

// Copies the elements.
Tensor copy_of(const graft_tensor& t);

}  // namespace graft
