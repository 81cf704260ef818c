// Custom layers for the VPU from an .xml file (type MVCL), as source kernels.
#pragma once

#include <graft/source_kernel.hpp>

#include "readers/kernel_xml.hpp"

namespace graft {

// One kernel per type of layer, from all its descriptions, which are alternatives. Reads the sources. Throws Error with
// file, line and column.
std::vector<SourceKernel> load_vpu_layers(const std::string& xml, std::vector<KernelDescription> descriptions);

}  // namespace graft
