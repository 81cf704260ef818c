#include "devices/vpu/prelude.hpp"

namespace graft {

const char* const vpu_half_extension = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n";

// Each function computes in float and rounds its result to half.
const char* const vpu_half_type = R"(
#undef vstore_half
#define cl_khr_fp16 1
#define half _Float16
#define HALF_MAX ((half)65504.0f)
#define HALF_MIN ((half)0x1.0p-14f)
#define HALF_EPSILON ((half)0x1.0p-10f)
#define as_half(x) __builtin_astype((x), half)
#define convert_half(x) ((half)(x))
#define convert_half_rte(x) ((half)(x))
#define GRAFT_F static inline __attribute__((overloadable))
#define GRAFT_EACH_1(M) \
  M(acos) M(acosh) M(acospi) M(asin) M(asinh) M(asinpi) M(atan) M(atanh) M(atanpi) M(cbrt) M(ceil) M(cos) M(cosh) \
  M(cospi) M(degrees) M(erf) M(erfc) M(exp) M(exp10) M(exp2) M(expm1) M(fabs) M(floor) M(lgamma) M(log) M(log10) \
  M(log1p) M(log2) M(logb) M(radians) M(rint) M(round) M(rsqrt) M(sign) M(sin) M(sinh) M(sinpi) M(sqrt) M(tan) \
  M(tanh) M(tanpi) M(tgamma) M(trunc)
#define GRAFT_EACH_2(M) \
  M(atan2) M(copysign) M(fdim) M(fmax) M(fmin) M(fmod) M(hypot) M(max) M(maxmag) M(min) M(minmag) M(pow) M(powr) \
  M(remainder) M(step)
#define GRAFT_EACH_3(M) M(clamp) M(fma) M(mad) M(mix) M(smoothstep)
#define GRAFT_1(name) GRAFT_F half name(half a) { return (half)name((float)a); }
#define GRAFT_2(name) GRAFT_F half name(half a, half b) { return (half)name((float)a, (float)b); }
#define GRAFT_3(name) GRAFT_F half name(half a, half b, half c) { return (half)name((float)a, (float)b, (float)c); }
GRAFT_EACH_1(GRAFT_1)
GRAFT_EACH_2(GRAFT_2)
GRAFT_EACH_3(GRAFT_3)
#define GRAFT_TEST(name) GRAFT_F int name(half a) { return name((float)a); }
GRAFT_TEST(isfinite) GRAFT_TEST(isinf) GRAFT_TEST(isnan) GRAFT_TEST(isnormal) GRAFT_TEST(signbit)
GRAFT_F half pown(half a, int n) { return (half)pown((float)a, n); }
GRAFT_F half dot(half a, half b) { return a * b; }
GRAFT_F half select(half a, half b, short c) { return c ? b : a; }
GRAFT_F half select(half a, half b, ushort c) { return c ? b : a; }
#define GRAFT_CONVERT(T, name) GRAFT_F T name(half a) { return name((float)a); }
#define GRAFT_CONVERTS(T) \
  GRAFT_CONVERT(T, convert_##T) GRAFT_CONVERT(T, convert_##T##_rte) GRAFT_CONVERT(T, convert_##T##_rtz) \
  GRAFT_CONVERT(T, convert_##T##_rtn) GRAFT_CONVERT(T, convert_##T##_rtp) GRAFT_CONVERT(T, convert_##T##_sat) \
  GRAFT_CONVERT(T, convert_##T##_sat_rte)
GRAFT_CONVERTS(char) GRAFT_CONVERTS(uchar) GRAFT_CONVERTS(short) GRAFT_CONVERTS(ushort) GRAFT_CONVERTS(int)
GRAFT_CONVERTS(uint) GRAFT_CONVERTS(long) GRAFT_CONVERTS(ulong)
GRAFT_F float convert_float(half a) { return (float)a; }
#define GRAFT_SPACE(A) \
  GRAFT_F float vload_half(size_t i, const A half* p) { return (float)p[i]; }
#define GRAFT_STORE_SPACE(A) \
  GRAFT_F void vstore_half(float v, size_t i, A half* p) { p[i] = (half)v; } \
  GRAFT_F void vstore_half_rte(float v, size_t i, A half* p) { p[i] = (half)v; }
GRAFT_SPACE(__global) GRAFT_SPACE(__local) GRAFT_SPACE(__private) GRAFT_SPACE(__constant)
GRAFT_STORE_SPACE(__global) GRAFT_STORE_SPACE(__local) GRAFT_STORE_SPACE(__private)
#define GRAFT_ASYNC(T, S, FROM, TO) \
  GRAFT_F event_t async_work_group_copy(TO T* to, const FROM T* from, size_t n, event_t e) { \
    return async_work_group_copy((TO S*)to, (const FROM S*)from, n, e); \
  }
GRAFT_ASYNC(half, short, __global, __local) GRAFT_ASYNC(half, short, __local, __global)
GRAFT_F event_t async_work_group_strided_copy(__local half* to, const __global half* from, size_t n, size_t stride,
                                              event_t e) {
  return async_work_group_strided_copy((__local short*)to, (const __global short*)from, n, stride, e);
}
GRAFT_F event_t async_work_group_strided_copy(__global half* to, const __local half* from, size_t n, size_t stride,
                                              event_t e) {
  return async_work_group_strided_copy((__global short*)to, (const __local short*)from, n, stride, e);
}
)";

const char* const vpu_half_vectors = R"(
typedef half graft_half2 __attribute__((ext_vector_type(2)));
typedef half graft_half3 __attribute__((ext_vector_type(3)));
typedef half graft_half4 __attribute__((ext_vector_type(4)));
typedef half graft_half8 __attribute__((ext_vector_type(8)));
typedef half graft_half16 __attribute__((ext_vector_type(16)));
#define half2 graft_half2
#define half3 graft_half3
#define half4 graft_half4
#define half8 graft_half8
#define half16 graft_half16
#define convert_half2(x) __builtin_convertvector((x), half2)
#define convert_half3(x) __builtin_convertvector((x), half3)
#define convert_half4(x) __builtin_convertvector((x), half4)
#define convert_half8(x) __builtin_convertvector((x), half8)
#define convert_half16(x) __builtin_convertvector((x), half16)
#define as_half2(x) __builtin_astype((x), half2)
#define as_half3(x) __builtin_astype((x), half3)
#define as_half4(x) __builtin_astype((x), half4)
#define as_half8(x) __builtin_astype((x), half8)
#define as_half16(x) __builtin_astype((x), half16)
#define GRAFT_WIDE(a, N) __builtin_convertvector((a), float##N)
#define GRAFT_NARROW(a, N) __builtin_convertvector((a), half##N)
#define GRAFT_V1(name, N) GRAFT_F half##N name(half##N a) { return GRAFT_NARROW(name(GRAFT_WIDE(a, N)), N); }
#define GRAFT_V2(name, N) \
  GRAFT_F half##N name(half##N a, half##N b) { return GRAFT_NARROW(name(GRAFT_WIDE(a, N), GRAFT_WIDE(b, N)), N); }
#define GRAFT_V3(name, N) \
  GRAFT_F half##N name(half##N a, half##N b, half##N c) { \
    return GRAFT_NARROW(name(GRAFT_WIDE(a, N), GRAFT_WIDE(b, N), GRAFT_WIDE(c, N)), N); \
  }
#define GRAFT_V2S(name, N) GRAFT_F half##N name(half##N a, half b) { return name(a, (half##N)(b)); }
#define GRAFT_WIDTHS(M, name) M(name, 2) M(name, 3) M(name, 4) M(name, 8) M(name, 16)
#define GRAFT_ALL_1(name) GRAFT_WIDTHS(GRAFT_V1, name)
#define GRAFT_ALL_2(name) GRAFT_WIDTHS(GRAFT_V2, name)
#define GRAFT_ALL_3(name) GRAFT_WIDTHS(GRAFT_V3, name)
GRAFT_EACH_1(GRAFT_ALL_1)
GRAFT_EACH_2(GRAFT_ALL_2)
GRAFT_EACH_3(GRAFT_ALL_3)
GRAFT_WIDTHS(GRAFT_V2S, max) GRAFT_WIDTHS(GRAFT_V2S, min) GRAFT_WIDTHS(GRAFT_V2S, fmax) GRAFT_WIDTHS(GRAFT_V2S, fmin)
#define GRAFT_CLAMP(name, N) \
  GRAFT_F half##N clamp(half##N a, half b, half c) { return clamp(a, (half##N)(b), (half##N)(c)); } \
  GRAFT_F half##N select(half##N a, half##N b, short##N c) { \
    return __builtin_astype(select(__builtin_astype(a, short##N), __builtin_astype(b, short##N), c), half##N); \
  }
GRAFT_WIDTHS(GRAFT_CLAMP, )
#define GRAFT_CONVERT_V(T, N) GRAFT_F T##N convert_##T##N(half##N a) { return convert_##T##N(GRAFT_WIDE(a, N)); }
#define GRAFT_ALL_CONVERT(T) GRAFT_WIDTHS(GRAFT_CONVERT_V, T)
GRAFT_ALL_CONVERT(char) GRAFT_ALL_CONVERT(uchar) GRAFT_ALL_CONVERT(short) GRAFT_ALL_CONVERT(ushort)
GRAFT_ALL_CONVERT(int) GRAFT_ALL_CONVERT(uint)
#define GRAFT_CONVERT_FLOAT(name, N) GRAFT_F float##N convert_float##N(half##N a) { return GRAFT_WIDE(a, N); }
GRAFT_WIDTHS(GRAFT_CONVERT_FLOAT, )
#define GRAFT_LOAD(A, N) \
  GRAFT_F half##N vload##N(size_t i, const A half* p) { \
    return __builtin_astype(vload##N(i, (const A short*)p), half##N); \
  } \
  GRAFT_F float##N vload_half##N(size_t i, const A half* p) { return GRAFT_WIDE(vload##N(i, p), N); }
#define GRAFT_STORE(A, N) \
  GRAFT_F void vstore##N(half##N v, size_t i, A half* p) { vstore##N(__builtin_astype(v, short##N), i, (A short*)p); } \
  GRAFT_F void vstore_half##N(float##N v, size_t i, A half* p) { vstore##N(GRAFT_NARROW(v, N), i, p); }
GRAFT_WIDTHS(GRAFT_LOAD, __global) GRAFT_WIDTHS(GRAFT_LOAD, __local) GRAFT_WIDTHS(GRAFT_LOAD, __private)
GRAFT_WIDTHS(GRAFT_LOAD, __constant)
GRAFT_WIDTHS(GRAFT_STORE, __global) GRAFT_WIDTHS(GRAFT_STORE, __local) GRAFT_WIDTHS(GRAFT_STORE, __private)
#define GRAFT_ASYNC_V(name, N) \
  GRAFT_ASYNC(half##N, short##N, __global, __local) GRAFT_ASYNC(half##N, short##N, __local, __global)
GRAFT_WIDTHS(GRAFT_ASYNC_V, )
GRAFT_F half dot(half2 a, half2 b) { return (half)dot(GRAFT_WIDE(a, 2), GRAFT_WIDE(b, 2)); }
GRAFT_F half dot(half3 a, half3 b) { return (half)dot(GRAFT_WIDE(a, 3), GRAFT_WIDE(b, 3)); }
GRAFT_F half dot(half4 a, half4 b) { return (half)dot(GRAFT_WIDE(a, 4), GRAFT_WIDE(b, 4)); }
)";

// Byte i of a transaction is in line i / width of either side. The work items of a group share the work of its
// transactions, so that all of them must reach the call, as for async_work_group_copy.
const char* const vpu_dma = R"(
typedef int item_dma_event_t;
#define GRAFT_DMA_WORDS(T, FROM, TO) \
  for (size_t i = first * sizeof(T); i < size; i += step * sizeof(T)) \
    *(TO T*)(dst + i / dst_width * dst_stride + i % dst_width) = \
        *(const FROM T*)(src + i / src_width * src_stride + i % src_width);
#define GRAFT_DMA(FROM, TO, EVENT, WHO, FIRST, STEP) \
  static inline __attribute__((overloadable)) void graft_copy( \
      const FROM uchar* src, TO uchar* dst, size_t src_width, size_t dst_width, size_t src_stride, size_t dst_stride, \
      size_t size, size_t first, size_t step) { \
    if (!src_width || !dst_width) return; \
    size_t all = (size_t)src | (size_t)dst | src_width | dst_width | src_stride | dst_stride | size; \
    if (all % 4 == 0) { GRAFT_DMA_WORDS(uint, FROM, TO) } \
    else if (all % 2 == 0) { GRAFT_DMA_WORDS(ushort, FROM, TO) } \
    else { GRAFT_DMA_WORDS(uchar, FROM, TO) } \
  } \
  static inline __attribute__((overloadable)) EVENT WHO##DmaCreate3DTransaction( \
      const FROM void* src, TO void* dst, size_t src_width, size_t dst_width, size_t src_stride, size_t dst_stride, \
      size_t num_planes, size_t src_plane_stride, size_t dst_plane_stride, size_t size, EVENT event) { \
    for (size_t p = 0; p < num_planes; ++p) \
      graft_copy((const FROM uchar*)src + p * src_plane_stride, (TO uchar*)dst + p * dst_plane_stride, src_width, \
                 dst_width, src_stride, dst_stride, size, FIRST, STEP); \
    return event; \
  } \
  static inline __attribute__((overloadable)) EVENT WHO##DmaCreateStrideTransaction( \
      const FROM void* src, TO void* dst, size_t src_width, size_t dst_width, size_t src_stride, size_t dst_stride, \
      size_t size, EVENT event) { \
    graft_copy((const FROM uchar*)src, (TO uchar*)dst, src_width, dst_width, src_stride, dst_stride, size, FIRST, \
               STEP); \
    return event; \
  } \
  static inline __attribute__((overloadable)) EVENT WHO##DmaCreateTransaction(const FROM void* src, TO void* dst, \
                                                                              size_t size, EVENT event) { \
    graft_copy((const FROM uchar*)src, (TO uchar*)dst, size, size, size, size, size, FIRST, STEP); \
    return event; \
  }
#define GRAFT_ITEM \
  ((get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0))
#define GRAFT_ITEMS (get_local_size(0) * get_local_size(1) * get_local_size(2))
GRAFT_DMA(__global, __local, event_t, WorkGroup, GRAFT_ITEM, GRAFT_ITEMS)
GRAFT_DMA(__local, __global, event_t, WorkGroup, GRAFT_ITEM, GRAFT_ITEMS)
GRAFT_DMA(__global, __private, item_dma_event_t, WorkItem, 0, 1)
GRAFT_DMA(__private, __global, item_dma_event_t, WorkItem, 0, 1)
static inline void WaitWorkItemDmaEvents(int count, item_dma_event_t* events) {}
)";

}  // namespace graft
