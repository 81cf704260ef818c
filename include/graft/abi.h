/* The C ABI between Graft and an extension.
 *
 * An extension is a shared library that exports one symbol, `graft_extension_entry`. Graft calls it once with a table
 * of host functions and gets back a record that lists operations, kernels, rules and passes: plain data and function
 * pointers. Nothing is linked in either direction, so an extension built by another compiler, or against an older or
 * newer copy of this header, works.
 *
 * Most authors never need this file: `op.hpp` and its neighbors are a C++ layer over it that is compiled into the
 * extension. Built-in operations are written with that layer too and are registered through the same function.
 *
 * Rules of the ABI
 *  - Records (`graft_op`, `graft_kernel`, ...) begin with `size`, their size as the writer knew it. They only ever grow
 *    at the end; a field is read only if `size` covers it, and counts as zero otherwise. GRAFT_..._MIN_SIZE is the size
 *    in the first release, which every writer provides. Arrays of records are arrays of pointers.
 *  - All other structs (`graft_str`, `graft_dim`, `graft_value`, `graft_port_map`, ...) are values and never change.
 *  - Ownership is never transferred. What the extension returns from its entry stays valid until the process ends. What
 *    the host passes to a callback is valid until that callback returns.
 *  - Exceptions never cross. A callback that fails calls `host->fail(...)` and returns the same status.
 *  - Strings are UTF-8 with pointer and length, not null-terminated.
 */
#ifndef GRAFT_ABI_H
#define GRAFT_ABI_H

#include "abi_flags.h"
#include "abi_raw.h"
#include "abi_source.h"
#include "abi_values.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct graft_reader graft_reader; /* reads the models of a framework; abi_reader.h */

#define GRAFT_ABI_VERSION 1u

/* ---- provided by an extension ---------------------------------------------------------------------------------- */

typedef struct graft_attr {
  uint32_t size;
  uint32_t flags;
  graft_kind kind;
  graft_str name;
  graft_str doc;
  graft_value fallback;     /* the default; kind NONE when required or optional */
  double min, max;          /* bounds of numbers, of each item of a list */
  const graft_str* allowed; /* the strings that a TEXT may be; null: any */
  size_t allowed_count;
} graft_attr;
#define GRAFT_ATTR_MIN_SIZE (offsetof(graft_attr, allowed_count) + sizeof(size_t))

typedef struct graft_port {
  uint32_t size;
  uint32_t flags;
  graft_str name;
  graft_str doc;
} graft_port;
#define GRAFT_PORT_MIN_SIZE (offsetof(graft_port, doc) + sizeof(graft_str))

/* How the inputs and outputs of a node are connected to the parameters and results of one of its bodies. */
enum { GRAFT_PURPOSE_NONE = 0, GRAFT_CURRENT_ITERATION = 1, GRAFT_EXECUTION_CONDITION = 2 };
typedef struct graft_port_map {
  int64_t external; /* index of the node's input or output; -1: not connected outside */
  int64_t internal; /* index of the body's parameter or result */
  int32_t sliced;   /* nonzero: one slice per iteration along `axis` */
  int32_t purpose;
  int64_t axis, start, end, stride, part_size;
} graft_port_map;

typedef struct graft_back_edge {
  int64_t result;    /* of one iteration ... */
  int64_t parameter; /* ... becomes this one of the next */
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

/* Opaque handles, owned by the host. */
typedef struct graft_node graft_node;       /* an operation in a graph: attributes, inputs, outputs, bodies */
typedef struct graft_builder graft_builder; /* a framework's layer under import */
typedef struct graft_runner graft_runner;   /* one call of a kernel */

/* One call of a kernel. The host fills it once per compiled node; a call has no overhead beyond the function itself. */
typedef struct graft_call {
  uint32_t size;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t reserved;
  const graft_tensor* const* inputs; /* null entry: an absent optional input */
  graft_tensor* const* outputs;      /* data == null: allocate it with host->allocate */
  void* state;                       /* created by `prepare`; shared by concurrent calls */
  void* scratch;                     /* requested by `prepare`; exclusive to this call */
  void* user;                        /* of the kernel record */
  graft_runner* runner;
  const uint8_t* used; /* per output; 0: unused, so the kernel may skip it to save time; writing it is harmless */
} graft_call;

/* A combination of layouts that a kernel works with. The last entry of a list also holds for all further ports; an
 * empty list stands for GRAFT_PLAIN. Ports marked GRAFT_ANY_LAYOUT share one layout, whichever costs the least: their
 * tensors are passed as plain ones with the dimensions in the order of the memory, so such a kernel must not depend on
 * that order. A kernel of an element-wise operation is one of these without saying so. */
typedef struct graft_layouts {
  const int32_t* inputs;
  size_t input_count;
  const int32_t* outputs;
  size_t output_count;
} graft_layouts;

/* One way of running an operation on a device. Devices try their kernels for an operation in order and take the first
 * that accepts. The kernel of device "REFERENCE" defines the correct result. */
typedef struct graft_kernel {
  uint32_t size;
  uint32_t flags;
  graft_str op;                                    /* type, e.g. "Elu" */
  graft_str opset;                                 /* e.g. "opset1" */
  graft_str device;                                /* "REFERENCE", "CPU", ... */
  graft_str name;                                  /* shown by explain, e.g. "gemm_f32" */
  void* user;                                      /* passed to the functions below */
  graft_status (*accept)(graft_node*, void* user); /* null: accepts everything. Declines by fail(UNSUPPORTED) */
  graft_status (*prepare)(graft_node*, void* user, void** state); /* null: no state */
  graft_status (*run)(const graft_call*);
  void (*release)(void* state, void* user);
  /* What `prepare` needs of the node's attributes and constant inputs alone, such as packed weights. Called when
   * `prepare` asks for it with host->packed, once per compiled model; all shapes and requests share the result. */
  graft_status (*pack)(graft_node*, void* user, void** packed);
  void (*release_packed)(void* packed, void* user);
  const graft_layouts* layouts; /* the combinations that it works with, best first; none: all tensors are plain */
  size_t layout_count;
  /* With a numbered opset: the kernel also runs later versions of the operation, up to but without this one. 0: only
   * the version of `opset`. */
  int64_t until;
  /* Of an element-wise operation: the same for kernels of other operations, which apply it to their results where they
   * lie (host->element_rows). `state` is from `prepare`, for f32. Null: none. */
  graft_rows_function rows;
} graft_kernel;
#define GRAFT_KERNEL_MIN_SIZE (offsetof(graft_kernel, release) + sizeof(void*))

typedef struct graft_op {
  uint32_t size;
  uint32_t flags;
  graft_str name;
  graft_str opset;
  graft_str ir_name; /* type name in the IR; empty: `name` */
  graft_str doc;
  const graft_attr* const* attrs;
  size_t attr_count;
  const graft_port* const* inputs;
  size_t input_count;
  const graft_port* const* outputs;
  size_t output_count;
  const graft_str* bodies; /* prefixes of the body sections in the IR: "" for <body>, "then_" for <then_body> */
  size_t body_count;
  void* user; /* passed to infer */
  graft_status (*infer)(graft_node*, void* user);
  graft_str decomposition; /* an equivalent graph in the textual form; empty: none */
  const graft_str* cases;  /* test cases in the format of tests/ops */
  size_t case_count;
  /* About how many elements a call touches, for the types and shapes of the node's inputs and outputs. Folding
   * constants is paid from a budget in this unit. Null: the number of elements where the operation is element-wise or a
   * view, the product of input and output elements elsewhere. */
  graft_status (*cost)(graft_node*, void* cost_user, double* elements);
  void* cost_user;
} graft_op;
#define GRAFT_OP_MIN_SIZE offsetof(graft_op, cases)

/* attribute `name` of our operation <- field `path` of the framework's layer, or `fallback` if it is absent */
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

/* Converts a framework's layer to operations. Without `expand` it is pure data: one node of `op` with the same inputs.
 */
typedef struct graft_rule {
  uint32_t size;
  uint32_t flags;
  graft_str framework; /* as `graft ops --frameworks` lists them: "onnx", ...; "*": every one */
  /* Of the layer type, as in ONNX; empty: the default one. In a rule of the framework "*" it does not matter for
   * frameworks without domains. */
  graft_str domain;
  graft_str type; /* the framework's name for the layer */
  int64_t since;  /* for framework operator-set versions since <= v < until */
  int64_t until;
  graft_str op;
  graft_str opset;
  const graft_attr_rule* attrs;
  size_t attr_count;
  const graft_named_value* conditions; /* the fields must have these values */
  size_t condition_count;
  const graft_str* ignored; /* fields without effect here */
  size_t ignored_count;
  void* user; /* passed to expand */
  graft_status (*expand)(graft_builder*, void* user);
  const graft_rank* ranks; /* at most one per input */
  size_t rank_count;
} graft_rule;
#define GRAFT_RULE_MIN_SIZE (offsetof(graft_rule, expand) + sizeof(void*))

/* A rewrite of the graph. */
typedef struct graft_pass {
  uint32_t size;
  uint32_t flags;
  graft_str name;
  graft_str doc;
  int32_t phase;
  int32_t reserved;
  const graft_str* types; /* visits nodes of these types, of any opset; none: called once per graph */
  size_t type_count;
  const graft_str* before; /* names of passes of the same phase */
  size_t before_count;
  const graft_str* after;
  size_t after_count;
  void* user; /* passed to visit */
  graft_status (*visit)(graft_builder*, void* user);
  graft_str device; /* of a pass of GRAFT_COMPILE; empty: every device */
  uint32_t traits;  /* also visits nodes of operations with any of these flags (GRAFT_OP_...) */
  uint32_t reserved2;
} graft_pass;
#define GRAFT_PASS_MIN_SIZE (offsetof(graft_pass, visit) + sizeof(void*))

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
  const graft_raw_pass* const* raw_passes; /* abi_raw.h */
  size_t raw_pass_count;
  const graft_source_kernel* const* source_kernels; /* abi_source.h */
  size_t source_kernel_count;
  const graft_reader* const* readers; /* abi_reader.h */
  size_t reader_count;
} graft_extension;
#define GRAFT_EXTENSION_MIN_SIZE (offsetof(graft_extension, rule_count) + sizeof(size_t))

/* ---- provided by the host -------------------------------------------------------------------------------------- */

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
  /* For an operation that no definition may know: types and shapes of its outputs. If there is a definition, it infers
   * them. If not, the node becomes an opaque one: it is written to the IR and cannot run. The default of `opset` is
   * "extension" then, and attributes may be in the textual form of an IR. */
  const graft_info* infos;
  size_t info_count;
  graft_str name; /* empty: chosen by the host */
} graft_new_node;
#define GRAFT_NEW_NODE_MIN_SIZE (offsetof(graft_new_node, body_count) + sizeof(size_t))

/* A consumer of a value: a node and which of its inputs. */
typedef struct graft_consumer {
  const graft_node* node;
  size_t input;
} graft_consumer;

/* An imported sub-graph. Its parameters are the declared ones, then one for each captured value of the outer graph. */
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

  /* Records the reason of a failure. The callback then returns `status`. `hint` may be empty. */
  void (*fail)(graft_status status, graft_str message, graft_str hint);
  void (*log)(int32_t level, graft_str message); /* 0 error, 1 warning, 2 info, 3 debug */

  /* Copies `from` into `to` (same number of elements), converting each element. Float to integer truncates and
   * saturates; narrowing integers wraps; conversion to boolean tests for nonzero. */
  graft_status (*convert)(const graft_tensor* from, graft_tensor* to);

  /* A node, in infer, accept and prepare. */
  graft_str (*node_name)(const graft_node*);
  graft_str (*node_type)(const graft_node*);
  const graft_value* (*attribute)(const graft_node*, graft_str name); /* null: absent */
  size_t (*input_count)(const graft_node*);
  size_t (*output_count)(const graft_node*);
  int32_t (*input)(const graft_node*, size_t index, graft_info* info);  /* 0: absent */
  int32_t (*output)(const graft_node*, size_t index, graft_info* info); /* 0: unused */
  const graft_tensor* (*constant)(const graft_node*, size_t input);     /* null: not known at this stage */
  /* The values of a small integer input as far as they are known, for example a shape with an unknown batch. */
  int32_t (*known_values)(const graft_node*, size_t input, graft_shape* values);
  graft_status (*set_output)(graft_node*, size_t index, const graft_info* info);
  graft_status (*set_known_values)(graft_node*, size_t output, const graft_shape* values);
  size_t (*body_count)(const graft_node*);
  const graft_body* (*body)(const graft_node*, size_t index);
  /* Infers a body. `results` has one entry per result of the body and is valid until the next call. */
  graft_status (*infer_body)(graft_node*, size_t index, const graft_info* parameters, const graft_info** results);
  /* In prepare: requests scratch memory for each call, 64-byte aligned; it is planned together with the activations. */
  graft_status (*request_scratch)(graft_node*, size_t bytes);

  /* A call of a kernel. */
  graft_status (*allocate)(graft_runner*, size_t output, int32_t rank, const int64_t* dims);
  graft_status (*parallel_for)(graft_runner*, int64_t count, int64_t grain,
                               void (*body)(void* arg, int64_t begin, int64_t end), void* arg);
  /* Runs a body once. The results belong to the host and live until the call ends or `release_tensor`. */
  graft_status (*run_body)(graft_runner*, size_t index, const graft_tensor* const* parameters,
                           const graft_tensor** results);
  void (*release_tensor)(graft_runner*, const graft_tensor*);
  /* Stores a copy of `text` in element `index` of a string output. */
  graft_status (*store_text)(graft_runner*, graft_tensor* tensor, int64_t index, graft_str text);
  int32_t (*cancelled)(graft_runner*);
  /* State that survives a call: variables by name (ReadValue, Assign). Null if never set. */
  const graft_tensor* (*variable)(graft_runner*, graft_str id);
  graft_status (*set_variable)(graft_runner*, graft_str id, const graft_tensor* value);

  /* A layer under import. */
  graft_str (*layer_name)(const graft_builder*);
  graft_str (*layer_type)(const graft_builder*);
  int64_t (*layer_version)(const graft_builder*); /* operator-set version of its domain */
  const graft_value* (*field)(graft_builder*, graft_str path);
  size_t (*layer_input_count)(const graft_builder*);
  size_t (*layer_output_count)(const graft_builder*);
  int32_t (*layer_output_used)(const graft_builder*, size_t index);
  graft_ref (*layer_input)(const graft_builder*, size_t index); /* 0: absent */
  graft_status (*ref_info)(graft_builder*, graft_ref, graft_info* info);
  const graft_tensor* (*ref_constant)(graft_builder*, graft_ref); /* null: not a constant */
  int32_t (*ref_known_values)(graft_builder*, graft_ref, graft_shape* values);
  graft_ref (*add_constant)(graft_builder*, const graft_tensor*); /* copies; 0: failed */
  graft_status (*add_node)(graft_builder*, const graft_new_node*, graft_ref* outputs, size_t output_count);
  graft_status (*set_layer_output)(graft_builder*, size_t index, graft_ref);
  /* Imports the sub-graph in field `path`. `parameters` are the types and shapes of its declared inputs. `prologue`,
   * if given, gets the parameters (any number of them) as inputs of a layer and sets the inputs of the sub-graph as its
   * outputs; `epilogue` likewise connects the outputs of the sub-graph to the results of the body. An output that is a
   * list has one result per item. */
  graft_status (*import_body)(graft_builder*, graft_str path, const graft_info* parameters, size_t parameter_count,
                              graft_status (*prologue)(graft_builder*, void* user),
                              graft_status (*epilogue)(graft_builder*, void* user), void* user,
                              const graft_imported_body** body);
  /* A list of values (a sequence in ONNX). It exists only during import and is passed between layers; no operation
   * accepts it. */
  graft_ref (*add_list)(graft_builder*, const graft_ref* items, size_t count); /* 0: failed */
  /* 0: not a list. The items are valid until the next call. */
  int32_t (*ref_list)(graft_builder*, graft_ref, const graft_ref** items, size_t* count);
  /* The number of inputs, at the end, that are weights stored with the layer (blobs of Caffe). */
  size_t (*layer_weight_count)(const graft_builder*);

  /* A pass. The handle is the visited node: its attributes are the fields, and setting a layer output replaces the
   * output of the node. Nodes are valid until the visit ends; those that the user wants to keep unchanged have no
   * producer and no consumers. */
  graft_str (*node_opset)(const graft_node*);
  size_t (*node_attributes)(const graft_node*, const graft_named_value** list);
  const graft_node* (*visited)(graft_builder*);                                 /* null: the whole graph */
  const graft_node* (*ref_producer)(graft_builder*, graft_ref, size_t* output); /* null: none that a pass may use */
  /* The number of consumers; the list is valid until the next call. `readers` may be null. */
  size_t (*ref_consumers)(graft_builder*, graft_ref, const graft_consumer** readers);
  graft_ref (*node_input)(graft_builder*, const graft_node*, size_t index);  /* 0: absent */
  graft_ref (*node_output)(graft_builder*, const graft_node*, size_t index); /* 0: none */
  size_t (*graph_nodes)(graft_builder*, const graft_node* const** nodes);    /* all, producers first */
  graft_status (*replace_ref)(graft_builder*, graft_ref from, graft_ref to); /* for all consumers */
  const graft_value* (*configured)(graft_builder*, graft_str path);          /* from a replacement file */

  /* More functions for importing a layer. */
  /* An empty optional value: a layer that takes it sees an omitted input. 0: failed. */
  graft_ref (*add_nothing)(graft_builder*);
  /* Imports the sub-graph in field `path` in place of the layer, with these values as its inputs; they may be lists.
   * The outputs are valid until the next call. */
  graft_status (*inline_body)(graft_builder*, graft_str path, const graft_ref* inputs, size_t input_count,
                              const graft_ref** outputs, size_t* output_count);

  /* In prepare: the result of the kernel's `pack`. It is valid as long as the state that `prepare` creates. */
  graft_status (*packed)(graft_node*, const void** packed);
  /* In a call of a kernel: the number of the current thread, less than thread_count. Threads that work on the same
   * parallel_for have different numbers. */
  int32_t (*thread_number)(graft_runner*);
  int32_t (*thread_count)(graft_runner*);

  /* All fields of the layer, in the order of the file; they count as used. The list is valid until the callback
   * returns. */
  size_t (*layer_fields)(graft_builder*, const graft_named_value** list);

  /* Functions for passes over a framework's model before its import; abi_raw.h. */
  const graft_raw_host* raw;

  /* In a pass: makes one input of a node consume another value (0: none), and renames a node. */
  graft_status (*set_node_input)(graft_builder*, const graft_node*, size_t index, graft_ref);
  graft_status (*set_node_name)(graft_builder*, const graft_node*, graft_str name);

  /* Why the last host function that returned a status failed, on this thread; valid until the next one. For callbacks
   * that report failures to code of their own, such as an interpreter. */
  graft_status (*last_failure)(graft_str* message, graft_str* hint);
  /* All outputs of the node that produces a value; valid until the next call. */
  size_t (*ref_outputs)(graft_builder*, graft_ref, const graft_ref** outputs);

  /* In prepare: the layout that was chosen for an input or output. */
  int32_t (*input_layout)(const graft_node*, size_t index);
  int32_t (*output_layout)(const graft_node*, size_t index);

  /* In infer: type and shape of an output as the file declares them, for operations whose shapes only the file knows.
   * 0: not declared, or the inputs of the model have been reshaped since. */
  int32_t (*declared_output)(const graft_node*, size_t index, graft_info* info);

  /* In `emit` of a source kernel: adds a launch; they run in the order in which they are added. */
  graft_status (*add_launch)(graft_node*, const graft_launch*);
  /* Memory for the launches of this node; `index` is the one of GRAFT_ARGUMENT_SCRATCH. */
  graft_status (*add_scratch)(graft_node*, size_t bytes, size_t* index);
  /* The value of a formula of work sizes, "X*Y" or "(B*F+7)/8*8", where B, F, Y, X are the dimensions of an input or of
   * an output. */
  graft_status (*work_size)(graft_node*, graft_str formula, int32_t of_input, size_t port, int64_t* value);
  /* In `emit` of a source kernel, instead of launches: the formula of an element-wise operation. */
  graft_status (*set_formula)(graft_node*, const graft_formula*);

  /* Whether `constant` has the value of an input; costs nothing, whatever its size. */
  int32_t (*is_constant)(const graft_node*, size_t input);
  /* In pack: the kernel reads a constant input only here, not in `run`, where its data is null from now on, so that the
   * host can free it. A kernel that has taken an input must not decline the node afterwards. */
  graft_status (*take_constant)(graft_node*, size_t input);

  /* In prepare: the number of threads that parallel_for may use in a call, which is what thread_count gives there.
   * Hosts without this function ignore the argument of thread_count. */
  int32_t (*call_threads)(const graft_node*);

  /* In a pass: the flags of the operation's definition (GRAFT_OP_...); 0: it has no definition. */
  uint32_t (*node_traits)(const graft_node*);
  /* The framework of a layer under import, for rules of "*"; empty in a pass. */
  graft_str (*layer_framework)(const graft_builder*);

  /* In prepare: an element-wise operation as a function of rows, from the first of its kernels for the CPU that has
   * one. `numbers` are its inputs but the first. It is valid as long as the state that `prepare` creates. */
  graft_status (*element_rows)(graft_node*, graft_str op, graft_str opset, const graft_named_value* attrs,
                               size_t attr_count, const float* numbers, size_t number_count, graft_rows* rows);
  /* In a pass: whether element_rows has a function for this node; its inputs but the first are known numbers then. */
  int32_t (*has_rows)(graft_builder*, const graft_node*);
} graft_host;

/* What every host provides: the table of the first release. Test later fields against `size` before use. */
#define GRAFT_HOST_MIN_SIZE (offsetof(graft_host, ref_list) + sizeof(void*))

typedef const graft_extension* (*graft_entry)(const graft_host*);

/* The only symbol that an extension exports: a graft_entry. It returns null to reject a host that it cannot work with.
 */
#define GRAFT_ENTRY_SYMBOL "graft_extension_entry"

#ifdef __cplusplus
}
#endif

#endif
