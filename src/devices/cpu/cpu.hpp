// CPU: planned memory, threads, and the first kernel of each operation's list that accepts the node; reference last.
#pragma once

#include "runtime/device.hpp"

namespace graft {

std::unique_ptr<Device> make_cpu_device();

}  // namespace graft
