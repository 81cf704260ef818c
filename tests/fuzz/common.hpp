// What the fuzz targets share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>

#include "base/error.hpp"
#include "toolkit/built_ins.hpp"

namespace graft {

inline const Registry& fuzz_registry() {
  static const Registry* registry = [] {
    auto* r = new Registry;
    add_built_ins(*r);
    return r;
  }();
  return *registry;
}

// Refusing is fine, for any reason that is not a bug of ours.
template <class F>
int fuzz(F&& body) {
  try {
    body();
  } catch (...) {
    if (current_error().kind() == ErrorKind::internal) __builtin_trap();
  }
  return 0;
}

}  // namespace graft
