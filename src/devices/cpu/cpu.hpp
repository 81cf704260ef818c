// The CPU device: planned memory, threads, and for each node the first kernel of its operation that accepts it; the
// reference kernel comes last.
#pragma once

#include "runtime/device.hpp"

namespace graft {

std::unique_ptr<Device> make_cpu_device();

}  // namespace graft
