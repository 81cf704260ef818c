/* The border between Graft and an extension, in C.
 *
 * An extension is a shared library that exports one symbol, `graft_extension_entry`. Graft calls it once with a table
 * of host functions and gets back a record that lists operations, kernels and import rules: plain data and function
 * pointers. Nothing is linked in either direction, so an extension built by another compiler, or against an older or
 * newer copy of this header, works.
 *
 * Most authors never read this file: `op.hpp` and its neighbours are a C++ layer over it that lives entirely in the
 * extension's own binary. Built-in operations are written with that layer too and enter by the same function.
 *
 * Rules of the border
 *  - Records (`graft_op`, `graft_kernel`, ...) begin with `size`, the size the writer knew. They only ever grow at the
 *    end; a reader looks at a field only when `size` covers it. Arrays of records are arrays of pointers.
 *  - Values (`graft_str`, `graft_dim`, `graft_shape`, `graft_info`, `graft_value`, `graft_port_map`) never change.
 *  - No ownership changes hands. What the extension returns from its entry stays valid while the process lives. What
 *    the host passes to a callback is valid until that callback returns.
 *  - No exception crosses. A callback that fails calls `host->fail(...)` and returns the same status.
 *  - Text is UTF-8, pointer and length, not terminated.
 */
#ifndef GRAFT_ABI_H
#define GRAFT_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GRAFT_ABI_VERSION 1u

typedef int32_t graft_status;
enum {
  GRAFT_OK = 0,
  GRAFT_USER = 1,        /* the caller or the model is wrong */
  GRAFT_UNSUPPORTED = 2, /* understood, but not something we can do; also: this kernel declines */
  GRAFT_IO = 3,          /* a file could not be read or written */
  GRAFT_INTERNAL = 4     /* a bug */
};

typedef struct graft_str {
  const char* data;
  size_t size;
} graft_str;

/* Element types. The numbers are part of the border. */
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

/* A dimension: known when min == max; otherwise any value in min..max. Unbounded: max == INT64_MAX. Two unknown
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

/* A tensor in memory. Dense and row-major when `strides` is null. 4-bit and 1-bit elements are packed: two or eight to
 * a byte, 4-bit low nibble first, 1-bit highest bit first. */
typedef struct graft_tensor {
  uint32_t size;
  graft_type type;
  int32_t rank;
  int32_t layout; /* 0: plain. Others are reserved for blocked layouts. */
  const int64_t* dims;
  const int64_t* strides; /* in elements */
  void* data;
} graft_tensor;

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

/* An attribute's value. Only the field named beside its kind is used. */
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

/* ---- what an extension gives ----------------------------------------------------------------------------------- */

enum {
  GRAFT_ATTR_REQUIRED = 1, /* has no default and may not be absent */
  GRAFT_ATTR_OPTIONAL = 2, /* may be absent, which is a meaning of its own */
  GRAFT_ATTR_F32 = 4       /* a FLOAT or FLOATS held in 32 bits */
};

typedef struct graft_attr {
  uint32_t size;
  uint32_t flags;
  graft_kind kind;
  graft_str name;
  graft_str doc;
  graft_value fallback;     /* the default; kind NONE when required or optional */
  double min, max;          /* bounds of numbers, of each item of a list */
  const graft_str* allowed; /* the words that a TEXT may be; null: any */
  size_t allowed_count;
} graft_attr;

enum {
  GRAFT_PORT_OPTIONAL = 1, /* may be absent */
  GRAFT_PORT_VARIADIC = 2  /* the last one only: any number, also none */
};

typedef struct graft_port {
  uint32_t size;
  uint32_t flags;
  graft_str name;
  graft_str doc;
} graft_port;

/* How a node's inputs and outputs meet the parameters and results of one of its bodies. */
enum { GRAFT_PURPOSE_NONE = 0, GRAFT_CURRENT_ITERATION = 1, GRAFT_EXECUTION_CONDITION = 2 };
typedef struct graft_port_map {
  int64_t external; /* index of the node's input or output; -1: not connected outside */
  int64_t internal; /* index of the body's parameter or result */
  int32_t sliced;   /* nonzero: one part per iteration along `axis` */
  int32_t purpose;
  int64_t axis, start, end, stride, part_size;
} graft_port_map;

typedef struct graft_back_edge {
  int64_t result;    /* of one iteration ... */
  int64_t parameter; /* ... is this in the next */
} graft_back_edge;

typedef struct graft_body {
  uint32_t size;
  uint32_t parameter_count;
  uint32_t result_count;
  uint32_t reserved;
  const graft_port_map* inputs;
  size_t input_count;
  const graft_port_map* outputs;
  size_t output_count;
  const graft_back_edge* back_edges;
  size_t back_edge_count;
  const graft_info* parameters; /* as far as they are known */
} graft_body;

/* Handles that belong to the host. */
typedef struct graft_node graft_node;     /* an operation in a graph: attributes, inputs, outputs, bodies */
typedef struct graft_import graft_import; /* a framework's layer while it becomes operations */
typedef struct graft_runner graft_runner; /* one call of a kernel */

/* One call of a kernel. The host fills it once per compiled node; a call costs nothing beyond the function itself. */
typedef struct graft_call {
  uint32_t size;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t reserved;
  const graft_tensor* const* inputs; /* null entry: an absent optional input */
  graft_tensor* const* outputs;      /* data == null: allocate it with host->allocate */
  void* state;                       /* what `prepare` made; shared by concurrent calls */
  void* scratch;                     /* what `prepare` asked for; this call's own */
  void* user;                        /* the kernel record's */
  graft_runner* runner;
  const uint8_t* wanted; /* per output; 0: nobody reads it. Writing it all the same is fine, leaving it out is faster */
} graft_call;

/* One way of running an operation on a device. Devices try their kernels for an operation in order and take the first
 * that accepts. Device "REFERENCE" is the operation's own definition of what is right. */
typedef struct graft_kernel {
  uint32_t size;
  uint32_t flags;
  graft_str op;                                    /* type, e.g. "Elu" */
  graft_str opset;                                 /* e.g. "opset1" */
  graft_str device;                                /* "REFERENCE", "CPU", ... */
  graft_str name;                                  /* shown by explain, e.g. "gemm_f32" */
  void* user;                                      /* handed to the functions below */
  graft_status (*accept)(graft_node*, void* user); /* null: takes everything. Declines through fail(UNSUPPORTED) */
  graft_status (*prepare)(graft_node*, void* user, void** state); /* null: no state */
  graft_status (*run)(const graft_call*);
  void (*release)(void* state, void* user);
} graft_kernel;

enum {
  GRAFT_OP_PURE = 1,        /* same inputs, same outputs: may be computed at conversion */
  GRAFT_OP_VIEW = 2,        /* output 0 is input 0's bytes under another shape */
  GRAFT_OP_IN_PLACE = 4,    /* output 0 may be written over input 0 when types and sizes agree */
  GRAFT_OP_SINK = 8,        /* has an effect of its own: kept although nobody reads it */
  GRAFT_OP_ELEMENTWISE = 16 /* output element i depends on the (broadcast) input elements i alone */
};

typedef struct graft_op {
  uint32_t size;
  uint32_t flags;
  graft_str name;
  graft_str opset;
  graft_str ir_name; /* how the IR spells the type; empty: as `name` */
  graft_str doc;
  const graft_attr* const* attrs;
  size_t attr_count;
  const graft_port* const* inputs;
  size_t input_count;
  const graft_port* const* outputs;
  size_t output_count;
  const graft_str* bodies; /* prefixes of the body sections in the IR: "" for <body>, "then_" for <then_body> */
  size_t body_count;
  void* user; /* handed to infer */
  graft_status (*infer)(graft_node*, void* user);
  graft_str decomposition; /* the same in other operations, in the textual form; empty: none */
  const graft_str* cases;  /* examples for the checker, as in tests/ops */
  size_t case_count;
  /* About how many elements a call touches, for the types and shapes of the node's inputs and outputs. Folding
   * constants is paid from a budget in this unit. Null: the number of elements where the operation is element-wise or a
   * view, the product of input and output elements elsewhere. */
  graft_status (*cost)(graft_node*, void* cost_user, double* elements);
  void* cost_user;
} graft_op;

/* What the first release knew of the record above. */
#define GRAFT_OP_MIN_SIZE offsetof(graft_op, cases)

/* attribute `name` of our operation <- field `path` of the framework's layer, or `fallback` where it is absent */
typedef struct graft_attr_rule {
  graft_str name;
  graft_str path;
  graft_value fallback; /* kind NONE: the operation's own default */
} graft_attr_rule;

/* The ranks that a rule takes for one input of the layer; checked before the rule runs, where the rank is known. */
typedef struct graft_rank {
  uint32_t input;
  int32_t min;
  int32_t max;
} graft_rank;

/* Turns a framework's layer into operations. Without `expand` it is data: one node of `op` with the same inputs. */
typedef struct graft_rule {
  uint32_t size;
  uint32_t flags;
  graft_str framework; /* "onnx", "caffe", "tensorflow", "mxnet", "kaldi" */
  graft_str domain;    /* ONNX domain; empty: the default one */
  graft_str type;      /* the framework's name for the layer */
  int64_t since;       /* for framework operator-set versions since <= v < until */
  int64_t until;
  graft_str op;
  graft_str opset;
  const graft_attr_rule* attrs;
  size_t attr_count;
  const graft_named_value* conditions; /* all must hold: the field has this value */
  size_t condition_count;
  const graft_str* ignored; /* fields that mean nothing to us */
  size_t ignored_count;
  void* user; /* handed to expand */
  graft_status (*expand)(graft_import*, void* user);
  const graft_rank* ranks; /* at most one per input */
  size_t rank_count;
} graft_rule;

/* What the first release knew of the record above. */
#define GRAFT_RULE_MIN_SIZE (offsetof(graft_rule, expand) + sizeof(void*))

/* Where in the pipeline a pass stands. In front, layers that no rule knew are still in the graph as they came; in the
 * middle graphs are optimised; in the back they get their last form. Passes of GRAFT_WRITE run after all others, and
 * only when an IR is written; those of the same name are one pass. */
enum { GRAFT_FRONT = 0, GRAFT_MIDDLE = 1, GRAFT_BACK = 2, GRAFT_WRITE = 3 };

enum {
  GRAFT_PASS_ON_REQUEST = 1,     /* runs only when it is asked for by name */
  GRAFT_PASS_CONFIGURED = 2,     /* runs once per entry of kind "general" of a replacement file with its name as id */
  GRAFT_PASS_KEEPS_CONSTANTS = 4 /* what it makes of constants alone stays as it was made */
};

/* A rewrite of the graph. */
typedef struct graft_pass {
  uint32_t size;
  uint32_t flags;
  graft_str name;
  graft_str doc;
  int32_t phase;
  int32_t reserved;
  const graft_str* types; /* visits nodes of these types, of any opset; none: is called once per graph */
  size_t type_count;
  const graft_str* before; /* names of passes of the same phase */
  size_t before_count;
  const graft_str* after;
  size_t after_count;
  void* user; /* handed to visit */
  graft_status (*visit)(graft_import*, void* user);
} graft_pass;

typedef struct graft_extension {
  uint32_t size;
  uint32_t abi_version;
  graft_str name;
  graft_str version;
  const graft_op* const* ops;
  size_t op_count;
  const graft_kernel* const* kernels;
  size_t kernel_count;
  const graft_rule* const* rules;
  size_t rule_count;
  const graft_pass* const* passes;
  size_t pass_count;
} graft_extension;

/* What the first release knew of the record above. */
#define GRAFT_EXTENSION_MIN_SIZE (offsetof(graft_extension, rule_count) + sizeof(size_t))

/* ---- what the host gives --------------------------------------------------------------------------------------- */

typedef int64_t graft_ref; /* a value in the graph under construction; 0: absent */

typedef struct graft_new_body {
  int64_t body; /* from import_body */
  const graft_port_map* inputs;
  size_t input_count;
  const graft_port_map* outputs;
  size_t output_count;
  const graft_back_edge* back_edges;
  size_t back_edge_count;
} graft_new_body;

typedef struct graft_new_node {
  uint32_t size;
  uint32_t reserved;
  graft_str op;
  graft_str opset; /* empty: the newest known */
  const graft_ref* inputs;
  size_t input_count;
  const graft_named_value* attrs;
  size_t attr_count;
  const graft_new_body* bodies;
  size_t body_count;
} graft_new_node;

/* A node's input that reads a value. */
typedef struct graft_reader {
  const graft_node* node;
  size_t input;
} graft_reader;

/* A framework's sub-graph, imported. Its parameters are the declared ones, then one for each captured outer value. */
typedef struct graft_imported_body {
  uint32_t size;
  uint32_t reserved;
  int64_t body;
  size_t declared_count;
  const graft_ref* captured;
  size_t captured_count;
  const graft_info* results;
  size_t result_count;
} graft_imported_body;

typedef struct graft_host {
  uint32_t size;
  uint32_t abi_version;

  /* Says why. The callback then returns `status`. `hint` may be empty. */
  void (*fail)(graft_status status, graft_str message, graft_str hint);
  void (*log)(int32_t level, graft_str message); /* 0 error, 1 warning, 2 info, 3 debug */

  /* Copies `from` into `to` (same number of elements), converting each element. Float to integer truncates and
   * saturates; narrowing integers wraps; anything to boolean is "not zero". */
  graft_status (*convert)(const graft_tensor* from, graft_tensor* to);

  /* A node, in infer, accept and prepare. */
  graft_str (*node_name)(const graft_node*);
  graft_str (*node_type)(const graft_node*);
  const graft_value* (*attribute)(const graft_node*, graft_str name); /* null: absent */
  size_t (*input_count)(const graft_node*);
  size_t (*output_count)(const graft_node*);
  int32_t (*input)(const graft_node*, size_t index, graft_info* info);  /* 0: absent */
  int32_t (*output)(const graft_node*, size_t index, graft_info* info); /* 0: nobody wants it */
  const graft_tensor* (*constant)(const graft_node*, size_t input);     /* null: not known at this stage */
  /* The values of a small integer input as far as they are known, e.g. a shape with an unknown batch. */
  int32_t (*known_values)(const graft_node*, size_t input, graft_shape* values);
  graft_status (*set_output)(graft_node*, size_t index, const graft_info* info);
  graft_status (*set_known_values)(graft_node*, size_t output, const graft_shape* values);
  size_t (*body_count)(const graft_node*);
  const graft_body* (*body)(const graft_node*, size_t index);
  /* Shapes through a body: `results` has room for the body's results and stays valid until the next call. */
  graft_status (*infer_body)(graft_node*, size_t index, const graft_info* parameters, const graft_info** results);
  /* In prepare: bytes of scratch memory for each call, 64-byte aligned, planned together with the activations. */
  graft_status (*request_scratch)(graft_node*, size_t bytes);

  /* A call of a kernel. */
  graft_status (*allocate)(graft_runner*, size_t output, int32_t rank, const int64_t* dims);
  graft_status (*parallel_for)(graft_runner*, int64_t count, int64_t grain,
                               void (*body)(void* arg, int64_t begin, int64_t end), void* arg);
  /* Runs a body once. Result tensors belong to the host and live until the call ends or `release_tensor`. */
  graft_status (*run_body)(graft_runner*, size_t index, const graft_tensor* const* parameters,
                           const graft_tensor** results);
  void (*release_tensor)(graft_runner*, const graft_tensor*);
  /* Puts a copy of `text` into element `index` of a string output. */
  graft_status (*store_text)(graft_runner*, graft_tensor* tensor, int64_t index, graft_str text);
  int32_t (*cancelled)(graft_runner*);
  /* State that outlives a call: variables by name (ReadValue, Assign). Null while never set. */
  const graft_tensor* (*variable)(graft_runner*, graft_str id);
  graft_status (*set_variable)(graft_runner*, graft_str id, const graft_tensor* value);

  /* A layer under import. */
  graft_str (*layer_name)(const graft_import*);
  graft_str (*layer_type)(const graft_import*);
  int64_t (*layer_version)(const graft_import*); /* operator-set version of its domain */
  const graft_value* (*field)(graft_import*, graft_str path);
  size_t (*layer_input_count)(const graft_import*);
  size_t (*layer_output_count)(const graft_import*);
  int32_t (*layer_output_wanted)(const graft_import*, size_t index);
  graft_ref (*layer_input)(const graft_import*, size_t index); /* 0: absent */
  graft_status (*ref_info)(graft_import*, graft_ref, graft_info* info);
  const graft_tensor* (*ref_constant)(graft_import*, graft_ref); /* null: not a constant */
  int32_t (*ref_known_values)(graft_import*, graft_ref, graft_shape* values);
  graft_ref (*add_constant)(graft_import*, const graft_tensor*); /* copies; 0: failed */
  graft_status (*add_node)(graft_import*, const graft_new_node*, graft_ref* outputs, size_t output_count);
  graft_status (*set_layer_output)(graft_import*, size_t index, graft_ref);
  /* Imports the sub-graph in field `path`. `parameters` are the types and shapes of its declared inputs. `prologue`,
   * where given, sees the parameters, then any number, as a layer's inputs and makes what the sub-graph calls its
   * inputs as outputs; `epilogue` likewise stands between the sub-graph's outputs and the body's results. An output
   * that is a list has a result for every item. */
  graft_status (*import_body)(graft_import*, graft_str path, const graft_info* parameters, size_t parameter_count,
                              graft_status (*prologue)(graft_import*, void* user),
                              graft_status (*epilogue)(graft_import*, void* user), void* user,
                              const graft_imported_body** body);
  /* A list of values, which some frameworks know (a sequence in ONNX): it exists while importing only, layers hand it
   * on, no operation takes it. */
  graft_ref (*add_list)(graft_import*, const graft_ref* items, size_t count); /* 0: failed */
  /* 0: not a list. The items are valid until the next call. */
  int32_t (*ref_list)(graft_import*, graft_ref, const graft_ref** items, size_t* count);
  /* How many of the layer's last inputs are weights that the framework keeps with the layer (blobs of Caffe). */
  size_t (*layer_weight_count)(const graft_import*);

  /* A pass. The handle is the node that is visited: attributes are its fields, a layer output that is set takes the
   * place of the node's output. Nodes are valid until the visit ends; those that the user wants kept as they are have
   * no maker and no readers. */
  graft_str (*node_opset)(const graft_node*);
  size_t (*node_attributes)(const graft_node*, const graft_named_value** list);
  const graft_node* (*visited)(graft_import*);                              /* null: the whole graph */
  const graft_node* (*ref_maker)(graft_import*, graft_ref, size_t* output); /* null: none that may be used */
  /* How many; the list, unless `readers` is null, is valid until the next call. */
  size_t (*ref_readers)(graft_import*, graft_ref, const graft_reader** readers);
  graft_ref (*node_input)(graft_import*, const graft_node*, size_t index);  /* 0: absent */
  graft_ref (*node_output)(graft_import*, const graft_node*, size_t index); /* 0: there is none */
  size_t (*graph_nodes)(graft_import*, const graft_node* const** nodes);    /* all, producers first */
  graft_status (*replace_ref)(graft_import*, graft_ref from, graft_ref to); /* for all readers */
  const graft_value* (*configured)(graft_import*, graft_str path);          /* of the replacement file's entry */

  /* Further functions for a layer under import. */
  /* An optional value that holds nothing: a layer that takes it sees an input that is left out. 0: failed. */
  graft_ref (*add_nothing)(graft_import*);
  /* Imports the sub-graph in field `path` in the place of the layer, with these values as its inputs; a list may be one
   * of them. The outputs are valid until the next call. */
  graft_status (*inline_body)(graft_import*, graft_str path, const graft_ref* inputs, size_t input_count,
                              const graft_ref** outputs, size_t* output_count);
} graft_host;

/* What every host has: the table of the first release. Later fields must be tested against `size` before use. */
#define GRAFT_HOST_MIN_SIZE (offsetof(graft_host, ref_list) + sizeof(void*))

typedef const graft_extension* (*graft_entry)(const graft_host*);

/* The one symbol that an extension exports: graft_entry graft_extension_entry; null when it cannot work with this host.
 */
#define GRAFT_ENTRY_SYMBOL "graft_extension_entry"

#ifdef __cplusplus
}
#endif

#endif
