// Thread-local memory for kernels.
#pragma once

#include <hwy/aligned_allocator.h>

#include <cstddef>
#include <new>

namespace graft {

using Floats = hwy::AlignedFreeUniquePtr<float[]>;

inline Floats allocate_floats(size_t count) {
  Floats memory = hwy::AllocateAligned<float>(count > 0 ? count : 1);
  if (!memory) throw std::bad_alloc();
  return memory;
}

// At least `count` floats that belong to this thread until its next call. The memory is kept, so nothing is allocated
// after the first run; callers should request no more than fits in the cache of a core.
inline float* thread_floats(size_t count) {
  thread_local Floats memory;
  thread_local size_t size = 0;
  if (size < count) {
    memory.reset();
    size = 0;
    memory = allocate_floats(count);
    size = count;
  }
  return memory.get();
}

}  // namespace graft
