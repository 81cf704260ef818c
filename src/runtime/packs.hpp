// What is made of constants alone: once per compiled graph, shared by all plans.
#pragma once

#include <map>
#include <mutex>

#include "kernels/kernel.hpp"

namespace graft {

class Packs {
 public:
  // The result of the kernel's `pack` for a node of `graph`. Copies of a compiled graph number their nodes alike and
  // share their constants. Empty if the kernel has no `pack`. Several threads may call it at the same time.
  const Packed& get(const graft_kernel& kernel, const Graph& graph, NodeId id);
  // The tensor, or a copy that is aligned for its type: in some files weights are not.
  Tensor aligned(const Tensor& t);

 private:
  struct Entry {
    std::once_flag once;
    Packed packed;
  };
  struct Copy {
    Tensor source, aligned;
  };
  std::mutex mutex_;
  std::map<std::pair<NodeId, const graft_kernel*>, Entry> made_;
  std::map<std::pair<const void*, size_t>, Copy> aligned_;  // by the bytes of the source
};

}  // namespace graft
