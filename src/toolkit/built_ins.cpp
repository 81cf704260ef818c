#include "toolkit/built_ins.hpp"

#include "devices/cpu/cpu.hpp"
#include "readers/framework.hpp"
#include "schema/host.hpp"

namespace graft {

// Made by the CMakeLists.txt of src/ops, src/devices/cpu/kernels, src/devices/cpu/passes, src/devices/gpu/kernels and
// src/rewrites.
const graft_extension* enter_built_ins(const graft_host* h);
const graft_extension* enter_cpu_kernels(const graft_host* h);
const graft_extension* enter_cpu_passes(const graft_host* h);
const graft_extension* enter_gpu_kernels(const graft_host* h);
const graft_extension* enter_rewrites(const graft_host* h);

void add_built_ins(Registry& registry) {
  // Kernels first: of two for the same operation, the one registered first is tried first.
  static const std::shared_ptr<const Records> all[] = {
      read_records(*enter_cpu_kernels(&host_table()), Source::built_ins),
      read_records(*enter_cpu_passes(&host_table()), Source::built_ins),
      read_records(*enter_gpu_kernels(&host_table()), Source::built_ins),
      read_records(*enter_built_ins(&host_table()), Source::built_ins),
      read_records(*enter_rewrites(&host_table()), Source::built_ins)};
  for (const auto& records : all) registry.add(records);
  for (const Framework& f : built_in_frameworks()) registry.add(f.traits);
  registry.constants_device = cpu_device;
}

}  // namespace graft
