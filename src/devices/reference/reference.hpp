// The REFERENCE device: runs every operation's reference kernel, one after another. Slow, but simple enough to be
// trusted.
#pragma once

#include "runtime/device.hpp"

namespace graft {

std::unique_ptr<Device> make_reference_device();

}  // namespace graft
