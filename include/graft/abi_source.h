/* Kernels as source text (OpenCL C), part of the C ABI; its rules are in abi.h.
 *
 * A source kernel looks at a node (types, shapes, attributes, constants) and adds launches: a function of a source, its
 * arguments and the number of work items. The device compiles the source once and runs the launches in order. For an
 * element-wise operation it may give a formula instead.
 */
#ifndef GRAFT_ABI_SOURCE_H
#define GRAFT_ABI_SOURCE_H

#include "abi_values.h"

#ifdef __cplusplus
extern "C" {
#endif

struct graft_node;

enum {
  GRAFT_ARGUMENT_INPUT = 0,   /* memory of input `index` */
  GRAFT_ARGUMENT_OUTPUT = 1,  /* memory of output `index` */
  GRAFT_ARGUMENT_SCRATCH = 2, /* memory from add_scratch */
  GRAFT_ARGUMENT_LOCAL = 3,   /* `i` bytes of local memory */
  GRAFT_ARGUMENT_INT = 4,     /* `i` as int */
  GRAFT_ARGUMENT_LONG = 5,    /* `i` as long */
  GRAFT_ARGUMENT_FLOAT = 6    /* `f` as float */
};

/* The order of the dimensions B, F, Y, X of an input or output in memory, the first one outermost. The device reorders
 * before and after the launch. */
enum { GRAFT_BFYX = 0, GRAFT_BYXF = 1, GRAFT_YXFB = 2, GRAFT_FYXB = 3 };

typedef struct graft_argument {
  int32_t kind;
  int32_t format; /* of an input or output */
  size_t index;
  int64_t i;
  double f;
} graft_argument;

/* #define name value */
typedef struct graft_define {
  graft_str name;
  graft_str value;
} graft_define;

typedef struct graft_source_text {
  graft_str text;
  graft_str file; /* for messages of the compiler; empty: the source has no file */
} graft_source_text;

enum {
  /* Defines the macros of custom layers in front of the source: NUM_INPUTS, INPUT0_DIMS, INPUT0_TYPE, OUTPUT0_PITCHES,
   * GLOBAL_WORKSIZE, ... */
  GRAFT_LAUNCH_MACROS = 1
};

typedef struct graft_launch {
  uint32_t size;
  uint32_t flags;
  const graft_source_text* sources; /* concatenated */
  size_t source_count;
  graft_str entry;   /* the kernel function */
  graft_str options; /* of the compiler */
  const graft_define* defines;
  size_t define_count;
  const graft_argument* arguments; /* of the function, in its order */
  size_t argument_count;
  uint64_t global[3]; /* work items; 0 in the dimensions that are not used; all 0: nothing to compute */
  uint64_t local[3];  /* of a work group; all 0: the device chooses */
} graft_launch;
#define GRAFT_LAUNCH_MIN_SIZE (offsetof(graft_launch, local) + 3 * sizeof(uint64_t))

enum {
  GRAFT_FORMULA_DOUBLE = 1 /* REAL is double, whatever the types are */
};

/* An element-wise operation as a formula: element i of output 0 from the elements i of the inputs. The device writes
 * the kernel around it, and computes a chain of such operations in one.
 *
 * The text is OpenCL C. x0, x1, ... are elements of the inputs as REAL: float, or double where one of the types is f64;
 * booleans are 0 and 1. Types are boolean and floating-point numbers of at least 16 bits. */
typedef struct graft_formula {
  uint32_t size;
  uint32_t flags;
  graft_str functions;    /* definitions of functions that the text below calls */
  graft_str statements;   /* declarations that `result` uses; may be empty */
  graft_str result;       /* an expression */
  const int64_t* strides; /* null: inputs broadcast as in NumPy. Else for each input and each dimension of the output:
                           * the distance in elements between neighbors */
  size_t stride_count;
  size_t input_count; /* how many of the inputs the formula uses */
} graft_formula;
#define GRAFT_FORMULA_MIN_SIZE (offsetof(graft_formula, input_count) + sizeof(size_t))

enum {
  GRAFT_SOURCE_KERNEL_CONFIGURED = 1 /* named by the user: a warning says why it is not used */
};

/* One way of running an operation on a device that compiles sources. It takes part in the choice like graft_kernel. */
typedef struct graft_source_kernel {
  uint32_t size;
  uint32_t flags;
  graft_str op;                                           /* type; "*" and the word of a trait: all that have it */
  graft_str opset;                                        /* empty: every version of the operation */
  graft_str device;                                       /* "GPU", ... */
  graft_str name;                                         /* shown by explain */
  void* user;                                             /* passed to the functions below */
  graft_status (*accept)(struct graft_node*, void* user); /* null: accepts everything. Declines by fail(UNSUPPORTED) */
  graft_status (*emit)(struct graft_node*,
                       void* user); /* calls host->add_launch or host->set_formula; may decline, too */
} graft_source_kernel;
#define GRAFT_SOURCE_KERNEL_MIN_SIZE (offsetof(graft_source_kernel, emit) + sizeof(void*))

#ifdef __cplusplus
}
#endif

#endif
