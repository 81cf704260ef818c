// The program's own malloc and its relatives, which all libraries of the process use: they count and call those of
// glibc. Sanitizers have their own; where one is active, nothing is counted.
#include "allocations.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GRAFT_CLI_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define GRAFT_CLI_SANITIZED
#endif
#endif

#if defined(__GLIBC__) && !defined(GRAFT_CLI_SANITIZED)

namespace {
// In the program itself, so that reading it never allocates.
__attribute__((tls_model("initial-exec"))) thread_local constinit uint64_t allocations = 0;

// Blocks of all threads, once somebody has asked for them: counting those takes time.
constinit std::atomic<bool> counting{false};
constinit std::atomic<int64_t> blocks{0};
void count(int64_t more) {
  if (counting.load(std::memory_order_relaxed)) blocks.fetch_add(more, std::memory_order_relaxed);
}
void* counted(void* p) {
  ++allocations;
  if (p) count(1);
  return p;
}
}  // namespace

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);

__attribute__((visibility("default"))) void* malloc(size_t bytes) { return counted(__libc_malloc(bytes)); }
__attribute__((visibility("default"))) void* calloc(size_t n, size_t bytes) { return counted(__libc_calloc(n, bytes)); }
__attribute__((visibility("default"))) void* realloc(void* old, size_t bytes) {
  ++allocations;
  void* p = __libc_realloc(old, bytes);
  if (!old && p) count(1);
  if (old && !p && bytes == 0) count(-1);
  return p;
}
__attribute__((visibility("default"))) void* aligned_alloc(size_t alignment, size_t bytes) {
  return counted(__libc_memalign(alignment, bytes));
}
__attribute__((visibility("default"))) void* memalign(size_t alignment, size_t bytes) {
  return counted(__libc_memalign(alignment, bytes));
}
__attribute__((visibility("default"))) int posix_memalign(void** out, size_t alignment, size_t bytes) {
  if (alignment % sizeof(void*) || (alignment & (alignment - 1)) || !alignment) return EINVAL;
  void* p = counted(__libc_memalign(alignment, bytes));
  if (!p) return ENOMEM;
  *out = p;
  return 0;
}
__attribute__((visibility("default"))) void free(void* p) {
  if (p) count(-1);
  __libc_free(p);
}
}

namespace graft::cli {
AllocationCounter allocation_counter() {
  return [] { return allocations; };
}
LiveCounter live_counter() {
  return [] {
    counting.store(true, std::memory_order_relaxed);
    return blocks.load(std::memory_order_relaxed);
  };
}
}  // namespace graft::cli

#else

namespace graft::cli {
AllocationCounter allocation_counter() { return nullptr; }
LiveCounter live_counter() { return nullptr; }
}  // namespace graft::cli

#endif
