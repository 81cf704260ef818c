/* Flags of the records in abi.h. New ones get the next bit; what an older host does not know has no effect there. */
#ifndef GRAFT_ABI_FLAGS_H
#define GRAFT_ABI_FLAGS_H

/* graft_attr */
enum {
  GRAFT_ATTR_REQUIRED = 1, /* has no default and must be present */
  GRAFT_ATTR_OPTIONAL = 2, /* may be absent, which differs from any value */
  GRAFT_ATTR_F32 = 4       /* a FLOAT or FLOATS stored in 32 bits */
};

/* graft_port */
enum {
  GRAFT_PORT_OPTIONAL = 1, /* may be absent */
  GRAFT_PORT_VARIADIC = 2  /* the last one only: any number, including none */
};

/* graft_op */
enum {
  GRAFT_OP_PURE = 1,            /* equal inputs give equal outputs: may be constant-folded */
  GRAFT_OP_VIEW = 2,            /* output 0 has the bytes of input 0 with another shape */
  GRAFT_OP_IN_PLACE = 4,        /* output 0 may overwrite input 0 if types and sizes agree */
  GRAFT_OP_SINK = 8,            /* has a side effect: kept even if its outputs are unused */
  GRAFT_OP_ELEMENTWISE = 16,    /* output element i depends on the (broadcast) input elements i only */
  GRAFT_OP_ANY_ATTRIBUTES = 32, /* attributes that are not listed are accepted and kept */
  GRAFT_OP_WEAK = 64,           /* another extension's definition of the operation applies instead; kernels stay */

  /* What passes may do with it; traits.hpp says exactly what each one promises. */
  GRAFT_OP_WIDENS = 128,
  GRAFT_OP_MOVES_DATA = 256,
  GRAFT_OP_PER_CHANNEL = 512,
  GRAFT_OP_CHANNELWISE = 1024,
  GRAFT_OP_AXIS_ATTRIBUTE = 2048,
  GRAFT_OP_AXES_INPUT = 4096,
  GRAFT_OP_REDUCTION = 8192,
  GRAFT_OP_ROUNDS = 16384
};

/* graft_rule */
enum { GRAFT_RULE_WEAK = 1 /* tried after the rules of other extensions, before the built-in ones */ };

/* The phase in which a pass runs: right after the import, when layers without a rule are still in the graph; during
 * optimization; or at the end, when graphs get their final form. Passes of GRAFT_WRITE run after all others, and only
 * when an IR is written; those of the same name are merged into one pass. Passes of GRAFT_COMPILE prepare a graph for
 * one device and run when a model is compiled for it, never when it is converted. */
enum { GRAFT_FRONT = 0, GRAFT_MIDDLE = 1, GRAFT_BACK = 2, GRAFT_WRITE = 3, GRAFT_COMPILE = 4 };

enum {
  GRAFT_PASS_ON_REQUEST = 1,     /* runs only if requested by name */
  GRAFT_PASS_CONFIGURED = 2,     /* runs once per entry of kind "general" of a replacement file with its name as id */
  GRAFT_PASS_KEEPS_CONSTANTS = 4 /* nodes it adds are not constant-folded */
};

#endif
