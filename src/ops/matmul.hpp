// What the matrix products share.
#pragma once

#include <graft/op.hpp>

namespace graft {

inline void check_inner(const Dim& a, const Dim& b, const Shape& x, const Shape& y) {
  if (a.known() && b.known() && a.value() != b.value())
    fail("expected equal inner dimensions, got ", a, " and ", b, " for matrices of shapes ", x, " and ", y);
}

}  // namespace graft
