// What is converted between the graph and a VPU kernel: element types, formats, and the items of a batch.
#pragma once

#include <graft/source_kernel.hpp>

namespace graft {

struct VpuConversion {
  DType graph, kernel;        // element types
  std::vector<int64_t> dims;  // as a launch sees them, at most 4
  std::string format;         // of the kernel: "BYXF", ...
  int64_t offset = 0;         // of the item in the tensor of the graph, in elements

  // Whether both sides agree.
  bool plain() const;
  int64_t elements() const;
  // `from` is the side of the graph if `inward`.
  Launch launch(Argument from, Argument to, bool inward) const;
};

// The element type that a word of OpenCL C names, "half8" included; none if it is not one.
std::optional<DType> vpu_element(std::string_view word);

}  // namespace graft
