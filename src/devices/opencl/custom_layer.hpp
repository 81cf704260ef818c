// Custom layers for GPU (type SimpleGPU) and VPU (type MVCL) from an .xml file, as source kernels.
#pragma once

#include "schema/registry.hpp"

namespace graft {

// Reads the file and the sources that it names, relative to its folder. Throws Error with file and line.
std::shared_ptr<const Records> open_custom_layers(const std::string& path);

}  // namespace graft
