// The OpenCL sources that kernel files name, and whether they fit their description.
#pragma once

#include "readers/kernel_xml.hpp"

namespace graft {

struct KernelText {
  std::string text, file;
};

// Reads the sources of a stage, relative to the folder of the .xml. In the place of a kernel that was compiled for a
// VPU
// (.bin), the .cl beside it is read. None if there is no such file.
std::optional<std::vector<KernelText>> read_kernel_sources(const std::string& xml, const KernelStage& stage);
// The paths of the sources, as the stage names them.
std::vector<std::string> kernel_source_paths(const std::string& xml, const KernelStage& stage);

// Throws unless the kernel exists, and its arguments are those that are described.
void check_kernel_arguments(const std::string& xml, const KernelStage& stage, KernelDevice device,
                            const std::vector<KernelText>& sources);

}  // namespace graft
