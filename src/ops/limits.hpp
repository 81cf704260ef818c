// The value range of an element type.
#pragma once

#include <cmath>
#include <graft/types.hpp>
#include <limits>

namespace graft {

// The lowest finite value of a type.
inline double lowest_of(DType type) {
  switch (type) {
    case DType::f64: return std::numeric_limits<double>::lowest();
    case DType::f32: return std::numeric_limits<float>::lowest();
    case DType::bf16: return -0x1.fep127;
    case DType::f16: return -65504;
    case DType::f8e4m3: return -448;
    case DType::f8e4m3fnuz: return -240;
    case DType::f8e5m2:
    case DType::f8e5m2fnuz: return -57344;
    case DType::f4e2m1: return -6;
    case DType::nf4: return -1;
    default: return is_signed_integer(type) ? -std::ldexp(1.0, bits_of(type) - 1) : 0;
  }
}

}  // namespace graft
