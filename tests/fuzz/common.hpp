// What the fuzz targets share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>

#include "schema/host.hpp"
#include "schema/registry.hpp"

namespace graft {

const graft_extension* enter_built_ins(const graft_host* h);

inline const Registry& fuzz_registry() {
  static const Registry* registry = [] {
    auto* r = new Registry;
    r->add(*enter_built_ins(&host_table()), "");
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
