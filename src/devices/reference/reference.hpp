// REFERENCE: every operation's own kernel, one after the other. Slow, obviously right.
#pragma once

#include "runtime/device.hpp"

namespace graft {

std::unique_ptr<Device> make_reference_device();

}  // namespace graft
