// How elements are stored on the GPU and what they are computed with, in OpenCL C.
#pragma once

#include <graft/types.hpp>

namespace graft {

inline std::string_view cl_storage(DType t) {
  switch (t) {
    case DType::boolean:
    case DType::u8: return "uchar";
    case DType::i8: return "char";
    case DType::i16: return "short";
    case DType::u16:
    case DType::bf16: return "ushort";
    case DType::i32: return "int";
    case DType::u32: return "uint";
    case DType::i64: return "long";
    case DType::u64: return "ulong";
    case DType::f16: return "half";
    case DType::f64: return "double";
    default: return "float";
  }
}
// The type to compute with.
inline std::string_view cl_compute(DType t) {
  if (t == DType::boolean) return "int";
  if (is_integer(t)) return is_signed_integer(t) ? "long" : "ulong";
  return t == DType::f64 ? "double" : "float";
}

inline constexpr std::string_view cl_preamble = R"(
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double SUM;
#else
typedef float SUM;
#endif
ushort to_bf16(float v) {
  uint b = as_uint(v);
  if ((b & 0x7fffffff) > 0x7f800000) return (ushort)((b >> 16) | 0x40);
  return (ushort)((b + 0x7fff + ((b >> 16) & 1)) >> 16);
}
)";

}  // namespace graft
