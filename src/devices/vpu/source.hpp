// The source of a VPU kernel as an OpenCL device compiles it: half precision where the device does not have it, the
// VPU's functions for DMA, and manual DMA around the kernel.
#pragma once

#include <graft/source_kernel.hpp>

#include "readers/cl_source.hpp"
#include "readers/kernel_sources.hpp"

namespace graft {

struct VpuSource {
  std::vector<Launch::Source> sources;
  std::string entry;                  // the function to launch
  std::vector<ClArgument> arguments;  // of it
  bool dma = false;                   // __dma_preload_ or __dma_postwrite_ surround the kernel
};

// `files`: those of the stage. Throws if the functions for manual DMA do not have the arguments of the kernel.
VpuSource vpu_source(const std::string& xml, const KernelStage& stage, const std::vector<KernelText>& files);

// Adds what the source needs on the OpenCL device of this machine. Throws Failure of kind unsupported if it uses half,
// and the device has no such type.
std::vector<Launch::Source> vpu_sources_for_machine(const VpuSource& source);

}  // namespace graft
