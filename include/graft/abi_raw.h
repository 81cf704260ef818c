/* Passes over a framework's model before its import, when its layers still have their own types and fields. Part of
 * abi.h, which has the rules of the ABI. `raw_pass.hpp` is the C++ layer over this file.
 */
#ifndef GRAFT_ABI_RAW_H
#define GRAFT_ABI_RAW_H

#include "abi_values.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct graft_raw_model graft_raw_model; /* opaque; valid until the pass returns */

/* A layer; stays the same while others are added and removed. 0: none. */
typedef int64_t graft_layer;

enum {
  GRAFT_RAW_OPERATION = 1 /* `type` is "Type" or "Type@opset", one of Graft's operations; the fields are attributes */
};

/* Values are referred to by name: inputs of the model, constants, and outputs of layers. */
typedef struct graft_raw_layer {
  uint32_t size;
  uint32_t flags;
  graft_str name;
  graft_str type;
  graft_str domain;        /* of ONNX; empty: the default one */
  const graft_str* inputs; /* empty: absent */
  size_t input_count;
  const graft_str* outputs; /* empty: unused */
  size_t output_count;
  size_t weight_count; /* how many of the last inputs are weights stored with the layer (blobs of Caffe) */
  int64_t version;     /* operator-set version of the domain; not changed by set_layer */
} graft_raw_layer;
#define GRAFT_RAW_LAYER_MIN_SIZE (offsetof(graft_raw_layer, version) + sizeof(int64_t))

/* An input or output of the model, or a value whose type or shape the file declares. */
typedef struct graft_raw_value {
  graft_str name;
  graft_str kind; /* empty: a tensor; otherwise "sequence", "optional", ... */
  graft_info info;
} graft_raw_value;

/* An entry of the replacement file (--transformations_config). */
typedef struct graft_raw_replacement {
  graft_str id;
  graft_str json;                      /* the whole entry */
  const graft_named_value* attributes; /* custom_attributes; nested ones under dotted paths */
  size_t attribute_count;
  int64_t taken; /* nonzero: handled by a pass */
} graft_raw_replacement;

enum {
  GRAFT_RAW_AFTER_REPLACEMENTS = 1 /* runs after the entries of the replacement file that no pass handles */
};

/* A rewrite of a framework's model. Passes run after the model was cut and before its layers are imported, in the order
 * of registration. Afterwards the model is verified: every input has a producer, value names and the names of new
 * layers are unique, there is no cycle. */
typedef struct graft_raw_pass {
  uint32_t size;
  uint32_t flags;
  graft_str name;
  graft_str doc;
  const graft_str* frameworks; /* "onnx", "caffe", ...; none: all */
  size_t framework_count;
  void* user; /* passed to apply */
  graft_status (*apply)(graft_raw_model*, void* user);
} graft_raw_pass;
#define GRAFT_RAW_PASS_MIN_SIZE (offsetof(graft_raw_pass, apply) + sizeof(void*))

/* What a pointer that a function returns refers to is valid until the layer or list it belongs to is changed. */
typedef struct graft_raw_host {
  uint32_t size;
  uint32_t reserved;

  graft_str (*framework)(const graft_raw_model*);
  graft_str (*path)(const graft_raw_model*);                    /* of the main file */
  size_t (*layers)(graft_raw_model*, const graft_layer** list); /* in the order of the file, then new ones */
  graft_status (*layer)(graft_raw_model*, graft_layer, graft_raw_layer* layer);
  /* Nested fields have dotted paths. Sub-graphs have the kind GRAFT_GRAPH; `count` is their number. */
  size_t (*fields)(graft_raw_model*, graft_layer, const graft_named_value** list);
  const graft_value* (*field)(graft_raw_model*, graft_layer, graft_str path); /* null: absent */
  /* A sub-graph of a layer; it can be read, not changed. Null: there is none. */
  graft_raw_model* (*body)(graft_raw_model*, graft_layer, graft_str path, size_t index);
  size_t (*inputs)(graft_raw_model*, const graft_raw_value** list);
  size_t (*outputs)(graft_raw_model*, const graft_raw_value** list);
  int32_t (*value_info)(graft_raw_model*, graft_str value, graft_info* info); /* 0: the file does not declare it */
  size_t (*constants)(graft_raw_model*, const graft_str** names);
  const graft_tensor* (*constant)(graft_raw_model*, graft_str name); /* null: not a constant of the model */
  graft_layer (*producer)(graft_raw_model*, graft_str value);        /* 0: none */
  size_t (*consumers)(graft_raw_model*, graft_str value, const graft_layer** list); /* sub-graphs included */
  size_t (*replacements)(graft_raw_model*, const graft_raw_replacement** list);
  /* A reference to the memory of a tensor that `constant` or a field returned; it stays valid after the pass, until
   * `release_tensor`. Null: not such a tensor. */
  void* (*keep_tensor)(graft_raw_model*, const graft_tensor*);
  void (*release_tensor)(void* kept);

  /* Adds a layer without fields. `infos` are types and shapes of its outputs, for an operation that no definition may
   * know: see graft_new_node. */
  graft_status (*add_layer)(graft_raw_model*, const graft_raw_layer*, const graft_info* infos, size_t info_count,
                            graft_layer* added);
  graft_status (*remove_layer)(graft_raw_model*, graft_layer);
  graft_status (*set_layer)(graft_raw_model*, graft_layer, const graft_raw_layer*);
  graft_status (*set_field)(graft_raw_model*, graft_layer, graft_str path, const graft_value*); /* null: removes it */
  /* Copies a field of any kind, sub-graphs too, to another layer. */
  graft_status (*copy_field)(graft_raw_model*, graft_layer from, graft_str path, graft_layer to, graft_str to_path);
  graft_status (*add_constant)(graft_raw_model*, graft_str name, const graft_tensor*); /* copies */
  graft_status (*remove_constant)(graft_raw_model*, graft_str name);
  /* Makes all consumers of `from` consume `to`. An output of the model keeps its name. */
  graft_status (*replace_value)(graft_raw_model*, graft_str from, graft_str to);
  graft_status (*set_inputs)(graft_raw_model*, const graft_raw_value*, size_t count); /* tensors only */
  graft_status (*set_outputs)(graft_raw_model*, const graft_str* values, size_t count);
  /* Marks an entry as handled: it is neither applied nor refused by the host. */
  graft_status (*take_replacement)(graft_raw_model*, size_t index);

  /* Where the layer is in its file, in the unit that the reader names; for messages. */
  graft_status (*set_position)(graft_raw_model*, graft_layer, int64_t position);
  /* The operator-set version of a domain. */
  graft_status (*set_version)(graft_raw_model*, graft_str domain, int64_t version);
  /* Type and shape that the file declares for a value. */
  graft_status (*set_value_info)(graft_raw_model*, graft_str value, const graft_info*);
} graft_raw_host;

#ifdef __cplusplus
}
#endif

#endif
