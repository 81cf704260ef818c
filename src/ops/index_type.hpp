// Results that are indices or sizes are i64 or i32.
#pragma once

#include <graft/op.hpp>

namespace graft {

inline void want_index_type(DType t, std::string_view attribute = "output_type") {
  if (t != DType::i64 && t != DType::i32) fail("expected ", attribute, " i64 or i32, got ", t);
}

}  // namespace graft
