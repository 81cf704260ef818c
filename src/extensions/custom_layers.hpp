// Custom layers for GPU (type SimpleGPU) and VPU (type MVCL) from an .xml file: source kernels, and for each type of
// layer a weak operation with the shapes that an IR declares, so that the file is enough to run it.
#pragma once

#include "schema/registry.hpp"

namespace graft {

// Reads the file and the sources that it names, relative to its folder. Throws Error with file and line.
std::shared_ptr<const Records> open_custom_layers(const std::string& path);

}  // namespace graft
