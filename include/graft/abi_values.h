/* Values that cross the ABI: strings, element types, shapes, tensors, attribute values. Part of abi.h, which has the
 * rules of the ABI. */
#ifndef GRAFT_ABI_VALUES_H
#define GRAFT_ABI_VALUES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t graft_status;
enum {
  GRAFT_OK = 0,
  GRAFT_USER = 1,        /* the caller or the model is wrong */
  GRAFT_UNSUPPORTED = 2, /* valid, but not supported; also: a kernel declines */
  GRAFT_IO = 3,          /* a file could not be read or written */
  GRAFT_INTERNAL = 4     /* a bug */
};

typedef struct graft_str {
  const char* data;
  size_t size;
} graft_str;

/* Element types. The numbers are part of the ABI. */
typedef int32_t graft_type;
enum {
  GRAFT_UNDEFINED = 0, /* not known (yet) */
  GRAFT_BOOLEAN = 1,
  GRAFT_F64 = 2,
  GRAFT_F32 = 3,
  GRAFT_F16 = 4,
  GRAFT_BF16 = 5,
  GRAFT_I64 = 6,
  GRAFT_I32 = 7,
  GRAFT_I16 = 8,
  GRAFT_I8 = 9,
  GRAFT_I4 = 10,
  GRAFT_U64 = 11,
  GRAFT_U32 = 12,
  GRAFT_U16 = 13,
  GRAFT_U8 = 14,
  GRAFT_U4 = 15,
  GRAFT_U1 = 16,
  GRAFT_STRING = 17, /* elements are graft_str; their bytes belong to the host */
  GRAFT_F8E4M3 = 18, /* finite, no infinity */
  GRAFT_F8E5M2 = 19,
  GRAFT_F8E4M3FNUZ = 20, /* the ONNX variants without negative zero */
  GRAFT_F8E5M2FNUZ = 21,
  GRAFT_F8E8M0 = 22, /* a power of two */
  GRAFT_F4E2M1 = 23,
  GRAFT_NF4 = 24
};

/* A dimension: known if min == max; otherwise any value in min..max. Unbounded: max == INT64_MAX. Two unknown
 * dimensions with the same symbol other than 0 are equal. */
typedef struct graft_dim {
  int64_t min;
  int64_t max;
  uint32_t symbol;
  uint32_t reserved;
} graft_dim;

typedef struct graft_shape {
  int32_t rank; /* -1: unknown */
  int32_t reserved;
  const graft_dim* dims;
} graft_shape;

typedef struct graft_info {
  graft_type type;
  int32_t reserved;
  graft_shape shape;
} graft_info;

/* How the elements of a tensor are ordered in memory. Its dimensions are listed as the operation defines them,
 * [N, C, H, W] for example, whatever the layout. */
enum {
  GRAFT_PLAIN = 0,         /* row-major */
  GRAFT_CHANNELS_LAST = 1, /* dimension 1 varies fastest: [N, H, W, C] */
  GRAFT_ANY_LAYOUT = -1    /* only in graft_layouts */
};

/* A tensor in memory. Dense in its layout if `strides` is null. 4-bit and 1-bit elements are packed: two or eight to
 * a byte, 4-bit low nibble first, 1-bit highest bit first. */
typedef struct graft_tensor {
  uint32_t size;
  graft_type type;
  int32_t rank;
  int32_t layout; /* GRAFT_PLAIN, unless the kernel has declared another */
  const int64_t* dims;
  const int64_t* strides; /* in elements */
  void* data;
} graft_tensor;
#define GRAFT_TENSOR_MIN_SIZE (offsetof(graft_tensor, data) + sizeof(void*))

typedef int32_t graft_kind;
enum {
  GRAFT_NONE = 0,
  GRAFT_BOOL = 1,    /* i */
  GRAFT_INT = 2,     /* i */
  GRAFT_FLOAT = 3,   /* f */
  GRAFT_TEXT = 4,    /* s */
  GRAFT_DTYPE = 5,   /* i, a graft_type */
  GRAFT_SHAPE = 6,   /* shape */
  GRAFT_TENSOR = 7,  /* tensor */
  GRAFT_INTS = 8,    /* items: int64_t[count] */
  GRAFT_FLOATS = 9,  /* items: double[count] */
  GRAFT_TEXTS = 10,  /* items: graft_str[count] */
  GRAFT_DTYPES = 11, /* items: graft_type[count] */
  GRAFT_GRAPH = 12,  /* a sub-graph of a framework model: see import_body */
  GRAFT_TENSORS = 13 /* items: const graft_tensor*[count] */
};

/* An attribute value. Only the field named next to its kind above is used. */
typedef struct graft_value {
  graft_kind kind;
  int32_t reserved;
  int64_t i;
  double f;
  graft_str s;
  const void* items;
  size_t count;
  graft_shape shape;
  const graft_tensor* tensor;
} graft_value;

typedef struct graft_named_value {
  graft_str name;
  graft_value value;
} graft_named_value;

/* An element-wise operation over rows of f32 in place: y[r * step + i] becomes f(y[r * step + i], numbers[0], ...) for
 * r < rows and i < length. It neither allocates nor uses other threads. */
typedef graft_status (*graft_rows_function)(const void* state, void* user, const float* numbers, float* y, int64_t rows,
                                            int64_t step, int64_t length);
typedef struct graft_rows {
  graft_rows_function apply;
  const void* state; /* the first two arguments of `apply` */
  void* user;
} graft_rows;

#ifdef __cplusplus
}
#endif

#endif
