// The REFERENCE device: runs every operation's own kernel, one after the other. Slow, but obviously correct.
#pragma once

#include "runtime/device.hpp"

namespace graft {

std::unique_ptr<Device> make_reference_device();

}  // namespace graft
