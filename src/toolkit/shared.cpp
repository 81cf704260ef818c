// libgraft.so is made of the static parts; this file only gives it a source.
