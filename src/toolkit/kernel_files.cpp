#include <graft/app/kernel_files.hpp>

#include "devices/gpu/gpu.hpp"
#include "devices/vpu/vpu.hpp"
#include "readers/kernel_sources.hpp"
#include "toolkit/errors.hpp"

namespace graft {
namespace {

KernelLayer check_layer(const std::string& file, const KernelDescription& d) {
  KernelLayer out{d.layer, std::string(d.device == KernelDevice::gpu ? gpu_name : vpu_name), d.line, {}, {}};
  for (const KernelStage& s : d.stages) {
    for (std::string& path : kernel_source_paths(file, s)) out.sources.push_back(std::move(path));
    if (auto sources = read_kernel_sources(file, s)) check_kernel_arguments(file, s, d.device, *sources);
    out.kernels.push_back(s.entry);
  }
  return out;
}

}  // namespace

std::vector<KernelLayer> check_kernel_file(const std::string& path) {
  return as_errors([&] {
    std::vector<KernelLayer> out;
    for (const KernelDescription& d : read_kernel_xml(path)) out.push_back(check_layer(path, d));
    return out;
  });
}

}  // namespace graft
