// Memory between pages that cannot be accessed: a kernel that goes far astray stops where it is, instead of changing
// what belongs to others.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <memory>

#include "base/error.hpp"

namespace graft::testing {

inline std::shared_ptr<void> allocate_between_pages(size_t bytes) {
  auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  size_t inside = (bytes + page - 1) / page * page, all = inside + 2 * page;
  void* memory = ::mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw_user("not enough memory");
  std::shared_ptr<void> owner(memory, [all](void* m) { ::munmap(m, all); });
  char* begin = static_cast<char*>(memory) + page;
  if (inside && ::mprotect(begin, inside, PROT_READ | PROT_WRITE) != 0) throw_user("not enough memory");
  return {owner, begin};
}

}  // namespace graft::testing
