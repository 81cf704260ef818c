/* Readers of extensions: the models of a framework from its files, with the framework's own types and names. The host
 * makes a graph of them by import rules. `reader.hpp` is the C++ layer over this file; abi.h has the rules of the ABI.
 */
#ifndef GRAFT_ABI_READER_H
#define GRAFT_ABI_READER_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { GRAFT_MODEL_FOLDER = 1 /* the path is that of a folder; there is no content */ };

/* A file of a model, or a folder. Valid until the callback returns. */
typedef struct graft_model_file {
  uint32_t size;
  uint32_t flags;
  graft_str path;
  graft_str content; /* the whole file, mapped into memory */

  /* Options of reading that the user has set, by the names of ReadOptions' members ("signature", "tags"): texts, lists
   * of texts and booleans. What concerns shapes, types, constants and cuts is the host's business. The same for all
   * files of a model; none while the file is recognized. */
  const graft_named_value* options;
  size_t option_count;
} graft_model_file;
#define GRAFT_MODEL_FILE_MIN_SIZE (offsetof(graft_model_file, content) + sizeof(graft_str))

enum {
  GRAFT_READER_DOMAINS = 1,      /* layer types belong to domains, as in ONNX */
  GRAFT_READER_OPEN_OUTPUTS = 2, /* layers may have further outputs that the file does not list, as in TensorFlow */
  GRAFT_READER_SHARED_NAMES = 4, /* a value may have the name of a layer that does not produce it, as in Caffe */
  GRAFT_READER_CHANNELS_LAST = 8 /* images are [n, h, w, c], as in TensorFlow */
};

/* A framework and how its models are read. Readers of extensions are asked before built-in ones, those of the extension
 * that was added last before others. */
struct graft_reader {
  uint32_t size;
  uint32_t flags;
  graft_str framework;      /* in rules, reports and options; lower-case letters, digits, '_' and '-' */
  graft_str title;          /* in messages; empty: `framework` */
  const graft_str* aliases; /* other names in options */
  size_t alias_count;
  graft_str files;          /* in the list of supported formats, e.g. "frozen .pb, SavedModel" */
  const graft_str* endings; /* of file names: if no reader recognizes the content, this one reports what is wrong */
  size_t ending_count;
  graft_str position_unit; /* what positions of layers count; empty: "byte" */
  graft_str first_output;  /* what the framework may append to a layer to name its first output, e.g. ":0" */
  void* user;              /* passed to the functions below */
  /* Sets `found` to nonzero if the file is (part of) a model of this framework. */
  graft_status (*recognize)(const graft_model_file*, void* user, int32_t* found);
  /* Builds the model with the functions of graft_raw_host; it is empty at first. The files are those that the user
   * named, the recognized one first; others beside it are the reader's business. Afterwards the model is verified as
   * after a raw pass, and it must have an output. */
  graft_status (*read)(graft_raw_model*, const graft_model_file* const* files, size_t file_count, void* user);
};
#define GRAFT_READER_MIN_SIZE (offsetof(struct graft_reader, read) + sizeof(void*))

#ifdef __cplusplus
}
#endif

#endif
