// Memory of one's own for the threads that run a kernel.
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

// At least `count` floats that belong to this thread until it asks again. They stay with the thread, so that after the
// first run nothing is allocated; callers keep what they ask for within a core's own cache.
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
