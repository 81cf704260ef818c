// What kernels precompute from constants alone: made once per compiled graph, shared by all plans.
#pragma once

#include <map>
#include <mutex>

#include "infer/context.hpp"

namespace graft {

class Packs {
 public:
  // The result of the kernel's `pack` for a node of `graph`. Copies of a compiled graph number their nodes alike and
  // share their constants. Null if the kernel has no `pack`.
  std::shared_ptr<const void> get(const graft_kernel& kernel, const Graph& graph, NodeId id);

 private:
  std::mutex mutex_;
  std::map<std::pair<NodeId, const graft_kernel*>, std::shared_ptr<const void>> made_;
};

}  // namespace graft
