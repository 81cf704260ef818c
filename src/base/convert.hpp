// Element type conversion between tensors of any two types.
#pragma once

#include <graft/abi.h>

namespace graft {

// As graft_host::convert: float to integer truncates and saturates (NaN becomes 0), narrowing integers wraps, anything
// to boolean is "not zero". Finite numbers too large for f8, f4 or nf4 become
// the largest one; infinity becomes infinity or NaN where the type has one. Strings convert only to and from
// strings.
void convert(const graft_tensor& from, graft_tensor& to);

}  // namespace graft
