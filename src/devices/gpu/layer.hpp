// Custom layers for the GPU from an .xml file (type SimpleGPU), as source kernels.
#pragma once

#include <graft/source_kernel.hpp>

#include "readers/kernel_xml.hpp"

namespace graft {

// One kernel per description. Reads the sources. Throws Error with file and line.
std::vector<SourceKernel> load_gpu_layers(const std::string& xml, std::vector<KernelDescription> descriptions);

}  // namespace graft
