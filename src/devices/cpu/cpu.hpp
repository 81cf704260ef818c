// The CPU device: planned memory, threads, and for each operation the first kernel that accepts it; reference kernels
// come last.
#pragma once

#include "runtime/device.hpp"

namespace graft {

std::unique_ptr<Device> make_cpu_device();

}  // namespace graft
