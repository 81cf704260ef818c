/* Further flags of graft_raw_layer, which the host sets. Beside abi_raw.h, so that what does not look at them need not
 * be compiled again.
 */
#ifndef GRAFT_ABI_RAW_FLAGS_H
#define GRAFT_ABI_RAW_FLAGS_H

enum {
  /* The mapping file (-k) has an entry for the layer, which goes before extractors and import rules of extensions. */
  GRAFT_RAW_MAPPED = 1 << 8
};

#endif
