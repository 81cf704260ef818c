// OpenCL kernels in files: an .xml that describes custom layers for the GPU (type SimpleGPU) or VPU (type MVCL), as
// documented for the Inference Engine, and the sources that it names.
//
//   for (const graft::KernelLayer& l : graft::check_kernel_file("cosh_kernel.xml"))
//     std::printf("%s runs on %s\n", l.name.c_str(), l.device.c_str());
//
// Thread-safe. Errors name the file and the line.
#pragma once

#include <string>
#include <vector>

#include "../error.hpp"

namespace graft {

struct KernelLayer {
  std::string name;                  // type of the layer in the IR
  std::string device;                // "GPU" or "VPU"
  size_t line = 0;                   // of its element
  std::vector<std::string> kernels;  // functions, in the order in which they run
  std::vector<std::string> sources;  // paths
};

// Reads the file and its sources. Throws Error if the file breaks the schema, a source is missing, or a kernel's
// arguments differ from the described ones. Sources are not compiled.
GRAFT_API std::vector<KernelLayer> check_kernel_file(const std::string& path);

}  // namespace graft
