#include "devices/cpu/cpu.hpp"

#include <fstream>

#include "base/machine.hpp"
#include "base/text.hpp"
#include "runtime/program.hpp"
#include "runtime/query.hpp"

namespace graft {
namespace {

std::string model_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return std::string(trim(std::string_view(line).substr(line.find(':') + 1)));
  return "processor";
}

class CpuDevice final : public Device {
 public:
  std::string name() const override { return std::string(cpu_device); }
  std::string description() const override {
    return text(model_name(), ", ", default_threads().threads, default_threads().threads == 1 ? " thread" : " threads");
  }
  std::unique_ptr<Program> compile(Graph graph, const Registry& registry,
                                   const CompileOptions& options) const override {
    return std::make_unique<HostProgram>(std::move(graph), registry, cpu_kernel_devices(), options);
  }
  // A node that a reference kernel computes is supported: the reference kernels are the last ones of the CPU.
  std::vector<Support> query(const Graph& graph, const Registry& registry,
                             const CompileOptions& options) const override {
    return query_kernels(graph, registry, cpu_kernel_devices(), options.limits);
  }
};

}  // namespace

const std::vector<std::string>& cpu_kernel_devices() {
  static const std::vector<std::string> devices{std::string(cpu_device), std::string(reference_device)};
  return devices;
}

std::unique_ptr<Device> make_cpu_device() { return std::make_unique<CpuDevice>(); }

}  // namespace graft
