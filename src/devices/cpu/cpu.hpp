// The CPU device: planned memory, threads, and for each node the first kernel of its operation that accepts it; the
// reference kernel comes last.
#pragma once

#include "runtime/device.hpp"

namespace graft {

std::unique_ptr<Device> make_cpu_device();
// The devices whose kernels run on the CPU, best first: its own and the reference kernels.
const std::vector<std::string>& cpu_kernel_devices();

}  // namespace graft
